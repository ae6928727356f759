#include "server_process.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace drover::bench {
namespace {

constexpr int kConnections = 64;
constexpr int kPatienceMs = 10'000;

[[noreturn]] void fail_with(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

std::uint16_t free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) fail_with("bind");
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail_with("getsockname");
  return ntohs(address.sin_port);
}

std::string url_of(const std::string& address) {
  return address.find("://") == std::string::npos ? "sqlite:" + address : address;
}

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(connect_to(port)) {
    if (!socket_.is_open()) fail_with("connect");
  }

  [[nodiscard]] int fd() const { return socket_.get(); }
  void ask(const std::string& request) {
    if (::send(fd(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      fail_with("send");
    }
  }
  // Reads what there is; whether that was the end of an answer.
  bool read() {
    std::array<char, 4096> piece;
    const ssize_t size = ::recv(fd(), piece.data(), piece.size(), 0);
    if (size <= 0) throw std::runtime_error("the server has hung up");
    answer_.append(piece.data(), static_cast<std::size_t>(size));
    const std::size_t head = answer_.find("\r\n\r\n");
    if (head == std::string::npos || answer_.size() < head + 4 + body_bytes()) return false;
    if (!answer_.starts_with("HTTP/1.1 20")) throw std::runtime_error(answer_);
    answer_.clear();
    return true;
  }

 private:
  [[nodiscard]] std::size_t body_bytes() const {
    constexpr std::string_view kName = "Content-Length: ";
    const std::size_t at = answer_.find(kName);
    if (at == std::string::npos) return 0;
    std::size_t bytes = 0;
    std::from_chars(answer_.data() + at + kName.size(), answer_.data() + answer_.size(), bytes);
    return bytes;
  }

  UniqueFd socket_;
  std::string answer_;
};

}  // namespace

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) socket.reset();
  return socket;
}

ServerProcess::ServerProcess(Ground& ground, Backend backend)
    : port_(free_port()),
      state_(ground.folder() / "state"),
      store_(url_of(fresh_address(ground, backend))),
      token_((std::filesystem::remove_all(state_), output_of(quiet({"token", "create", "--role", "admin"})))),
      process_(quiet({"serve", "--listen", address()})) {
  token_.pop_back();
  ::setenv("DROVER_TOKEN", token_.c_str(), 1);
  for (int waited_ms = 0; !connect_to(port_).is_open(); ++waited_ms) {
    if (waited_ms > kPatienceMs || process_.has_ended()) throw std::runtime_error("the server does not start");
    ::poll(nullptr, 0, 1);
  }
}

std::string ServerProcess::address() const {
  return fmt::format("127.0.0.1:{}", port_);
}

std::vector<std::string> ServerProcess::quiet(const std::vector<std::string>& arguments) const {
  const auto binary = std::filesystem::canonical("/proc/self/exe").parent_path() / "drover";
  std::vector<std::string> command{"env",
                                   fmt::format("XDG_STATE_HOME={}", state_.string()),
                                   "sh",
                                   "-c",
                                   R"(exec "$0" "$@" 2>/dev/null)",
                                   binary.string(),
                                   "--store",
                                   store_};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

double ServerProcess::cpu_seconds() const {
  std::ifstream file(fmt::format("/proc/{}/stat", pid()));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  constexpr int kBeforeUserTime = 11;
  std::string skipped;
  for (int i = 0; i < kBeforeUserTime; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double ServerProcess::resident_mb() const {
  std::ifstream file(fmt::format("/proc/{}/statm", pid()));
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

std::string bare_request(const ServerProcess& server) {
  return fmt::format("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
}

std::string enqueue_request(const ServerProcess& server, const std::string& owner) {
  const TaskSpec task = sample_task(0);
  const std::string body = fmt::format(R"({{"type":"{}","owner":"{}","payload":{}}})", task.type, owner, *task.payload);
  return fmt::format(
      "POST /v1/tasks HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      server.address(), server.token(), body.size(), body);
}

double rate_of(const ServerProcess& server, int count, const std::function<const std::string&(int i)>& request) {
  std::vector<Client> clients;
  std::vector<pollfd> polled;
  for (int i = 0; i < kConnections; ++i) {
    clients.emplace_back(server.port());
    polled.push_back({clients.back().fd(), POLLIN, 0});
  }
  return count / seconds_of([&] {
           int asked = 0;
           for (Client& client : clients) client.ask(request(asked++));
           for (int answered = 0; answered < count;) {
             if (::poll(polled.data(), polled.size(), kPatienceMs) <= 0) fail_with("poll");
             for (std::size_t i = 0; i < clients.size(); ++i) {
               if (polled[i].revents == 0 || !clients[i].read()) continue;
               ++answered;
               if (asked < count) clients[i].ask(request(asked++));
             }
           }
         });
}

}  // namespace drover::bench
