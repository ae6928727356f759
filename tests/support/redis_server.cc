#include "support/redis_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "base/rng.h"
#include "store/redis/connection.h"
#include "support/loopback.h"
#include "support/must.h"
#include "support/test_certificate.h"

namespace drover::test {
namespace {

using std::chrono::steady_clock;

constexpr Millis kStartMax{20'000};
constexpr Millis kStopMax{20'000};
constexpr Millis kCallMax{5'000};
constexpr int kPortAttempts = 20;
constexpr int kExitNotStarted = 127;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::uint16_t first_ephemeral_port() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  std::uint16_t first = 0;
  return file >> first ? first : 32'768;
}

bool is_free(std::uint16_t port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in place = loopback(port);
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
}

// Not one of those that the kernel gives to clients: while the server is down, a client would take it, or connect to
// itself.
std::uint16_t free_port() {
  constexpr std::uint16_t kFirst = 10'000;
  const std::uint16_t end = std::max<std::uint16_t>(first_ephemeral_port(), kFirst + 1'000);
  for (int i = 0; i < kPortAttempts; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + system_rng().below(end - kFirst));
    if (is_free(port)) return port;
  }
  throw std::runtime_error("no free port");
}

pid_t spawn(const std::vector<std::string>& arguments, const ShiftedClock* clock) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto variables = clock == nullptr ? std::vector<std::pair<std::string, std::string>>() : clock->environment();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("fork");
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitNotStarted);
  ::setpgid(0, 0);  // Ctrl-C is for the test, which ends its server itself
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(argv[0], argv.data());
  ::_exit(kExitNotStarted);
}

int poll_time(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<Millis>(deadline - steady_clock::now());
  return static_cast<int>(std::max(left, Millis(0)).count());
}

bool wait_for_input(int fd, Millis bound) {
  const auto deadline = steady_clock::now() + bound;
  pollfd one{fd, POLLIN, 0};
  while (::poll(&one, 1, poll_time(deadline)) <= 0) {
    if (steady_clock::now() >= deadline) return false;
  }
  return true;
}

}  // namespace

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  if (!options_.tls_host.empty())
    write_test_certificate(options_.tls_host, certificate_file(), dir_.file("server.key"));
  start_on_free_ports();
}

RedisServer::~RedisServer() {
  end(SIGKILL);
}

void RedisServer::start_on_free_ports() {
  for (int i = 0; i < kPortAttempts; ++i) {
    port_ = free_port();
    if (!options_.tls_host.empty()) tls_port_ = free_port();
    if (spawn_and_wait()) return;
    if (!log_text().contains("bind: Address already in use")) break;
  }
  throw std::runtime_error("redis-server did not start: " + log_text());
}

void RedisServer::start() {
  end(SIGKILL);
  if (!spawn_and_wait()) throw std::runtime_error("redis-server did not start again: " + log_text());
}

std::vector<std::string> RedisServer::arguments() const {
  std::vector<std::string> all{"redis-server",
                               "--bind",
                               "127.0.0.1",
                               "--port",
                               std::to_string(port_),
                               "--unixsocket",
                               dir_.file("redis.sock"),
                               "--dir",
                               dir_.path().string(),
                               "--logfile",
                               dir_.file("redis.log"),
                               "--save",
                               "",
                               "--appendonly",
                               options_.appendonly ? "yes" : "no",
                               "--appendfsync",
                               options_.appendfsync,
                               "--maxmemory-policy",
                               options_.maxmemory_policy};
  const auto add = [&](std::string name, std::string value) {
    all.push_back(std::move(name));
    all.push_back(std::move(value));
  };
  if (!options_.maxmemory.empty()) add("--maxmemory", options_.maxmemory);
  if (!options_.requirepass.empty()) add("--requirepass", options_.requirepass);
  if (tls_port_ != 0) {
    add("--tls-port", std::to_string(tls_port_));
    add("--tls-cert-file", certificate_file());
    add("--tls-key-file", dir_.file("server.key"));
    add("--tls-ca-cert-file", certificate_file());
    add("--tls-auth-clients", "no");
  }
  all.insert(all.end(), options_.more.begin(), options_.more.end());
  return all;
}

// False: it ended, and its log says why.
bool RedisServer::spawn_and_wait() {
  const std::string log = dir_.file("redis.log");
  log_begin_ = std::ofstream(log, std::ios::app).tellp();
  const UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch.is_open() || ::inotify_add_watch(watch.get(), log.c_str(), IN_MODIFY) < 0) throw_errno("inotify");
  pid_ = spawn(arguments(), options_.clock);
  pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_.is_open()) throw_errno("pidfd_open");
  if (!wait_until_ready(watch.get())) {
    end(SIGKILL);
    return false;
  }
  return true;
}

bool RedisServer::wait_until_ready(int log_watch) const {
  const auto deadline = steady_clock::now() + kStartMax;
  while (!log_text().contains("eady to accept connections")) {
    std::array<pollfd, 2> watched{{{log_watch, POLLIN, 0}, {pidfd_.get(), POLLIN, 0}}};
    const int ready = ::poll(watched.data(), watched.size(), poll_time(deadline));
    if (ready < 0 && errno != EINTR) throw_errno("poll");
    if (ready == 0 || (ready > 0 && watched[1].revents != 0)) return false;
    std::array<char, 4096> events;
    while (::read(log_watch, events.data(), events.size()) > 0) {
    }
  }
  return true;
}

void RedisServer::end(int signal) {
  if (pid_ < 0) return;
  ::kill(pid_, signal);
  const bool ended = wait_for_input(pidfd_.get(), kStopMax);
  if (!ended) ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  pidfd_.reset();
  if (!ended) throw std::runtime_error("redis-server did not end: " + log_text());
}

void RedisServer::stop() {
  end(SIGTERM);
}

void RedisServer::kill_hard() {
  end(SIGKILL);
}

void RedisServer::freeze() {
  ::kill(pid_, SIGSTOP);
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT) != 0) throw_errno("waitid");
}

void RedisServer::thaw() {
  ::kill(pid_, SIGCONT);
}

std::string RedisServer::log_text() const {
  std::ifstream file(dir_.file("redis.log"), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(log_begin_));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string RedisServer::credentials() const {
  return options_.requirepass.empty() ? "" : fmt::format(":{}@", options_.requirepass);
}

std::string RedisServer::url(std::string_view prefix) const {
  return fmt::format("redis+unix://{}{}?prefix={}", credentials(), dir_.file("redis.sock"), prefix);
}

std::string RedisServer::tcp_url(std::string_view prefix) const {
  return fmt::format("redis://{}127.0.0.1:{}/0?prefix={}", credentials(), port_, prefix);
}

std::string RedisServer::tls_url(std::string_view host, std::string_view prefix) const {
  return fmt::format("rediss://{}{}:{}/0?prefix={}&ca={}", credentials(), host, tls_port_, prefix, certificate_file());
}

redis::Address RedisServer::address(std::string_view prefix) const {
  return must(redis::parse_address(url(prefix)));
}

redis::Address RedisServer::tcp_address(std::string_view prefix) const {
  return must(redis::parse_address(tcp_url(prefix)));
}

redis::Reply RedisServer::run(const redis::Command& command) const {
  const auto connection = must(redis::Connection::open(address(), Patience::of(kCallMax)));
  return must(connection->call(command, Patience::of(kCallMax)));
}

void RedisServer::wait_for_blocked_clients(int count) const {
  const auto deadline = steady_clock::now() + kCallMax;
  const std::string expected = fmt::format("blocked_clients:{}\r\n", count);
  for (;;) {
    const redis::Reply info = run(redis::Command("INFO", "clients"));
    if (must(info.as_text()).contains(expected)) return;
    if (steady_clock::now() >= deadline) throw std::runtime_error("not " + expected);
  }
}

RedisServer& shared_redis() {
  static RedisServer server;
  return server;
}

std::string fresh_prefix() {
  static std::atomic<int> count = 0;
  return fmt::format("t{}", ++count);
}

}  // namespace drover::test
