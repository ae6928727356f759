// Clients that want the server to hold much: whatever they do, its memory stays bounded and others are answered.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <deque>
#include <fstream>
#include <sstream>

#include "e2e/serving.h"
#include "net/websocket.h"
#include "support/loopback.h"

namespace drover::e2e {
namespace {

constexpr std::int64_t kMemoryMaxKb = 300'000;
constexpr Millis kSoon{1'000};
// In each test: far more than would be held if there were no bound.
constexpr std::size_t kFlood = std::size_t{400} << 20U;
constexpr int kFewMs = 200;

class RawClient {
 public:
  explicit RawClient(std::uint16_t port)
      : socket_(test::connect_to_loopback(port, test::Receives::kLittle)), is_open_(socket_.is_open()) {}
  [[nodiscard]] bool is_open() const { return is_open_; }
  // How much was taken; 0 if nothing is taken for a while any more.
  std::size_t say(std::string_view text) {
    pollfd ready{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, kFewMs) <= 0) return 0;
    const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) is_open_ = false;
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  // Sends it again and again, until so much was sent or the server takes no more.
  void flood(std::string_view text, std::size_t bytes_max) {
    std::size_t at = 0;
    for (std::size_t sent = 0; sent < bytes_max && is_open_;) {
      const std::size_t more = say(text.substr(at));
      if (more == 0) return;
      sent += more;
      at = (at + more) % text.size();
    }
  }
  // The answer's first bytes, or nothing if none come.
  std::string hear(Millis patience) const {
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    std::array<char, 4'096> buffer;
    if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return {};
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  UniqueFd socket_;
  bool is_open_;
};

class ServeAttackTest : public ServingTest {
 protected:
  ServeAttackTest() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    server_ = start_server();
    token_ = create_token({"admin"});
    const std::string number = port();
    std::from_chars(number.data(), number.data() + number.size(), port_);
  }

  [[nodiscard]] RawClient client() const { return RawClient(port_); }
  [[nodiscard]] std::string get(const std::string& target) const {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", target, token_);
  }
  // The most that it ever had in memory, or its address space now.
  [[nodiscard]] std::int64_t kilobytes(const std::string& what) const {
    std::ifstream file(fmt::format("/proc/{}/status", server_->pid()));
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with(what)) continue;
      std::int64_t value = 0;
      std::istringstream(line.substr(what.size() + 1)) >> value;
      return value;
    }
    return 0;
  }
  void expect_bounded() const { EXPECT_LT(kilobytes("VmHWM"), kMemoryMaxKb); }
  void expect_others_are_answered() const {
    RawClient other(port_);
    ASSERT_TRUE(other.is_open());
    const Millis before = mono_now();
    other.say(get("/v1/queues"));
    EXPECT_TRUE(other.hear(kHangs).starts_with("HTTP/1.1 200 "));
    EXPECT_LT(mono_now() - before, kSoon);
  }

  std::unique_ptr<Process> server_;
  std::string token_;
  std::uint16_t port_ = 0;
};

TEST_F(ServeAttackTest, PingsOfAGuestWhoReadsNothing) {
  RawClient guest = client();
  guest.say(
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  ASSERT_TRUE(guest.hear(kHangs).starts_with("HTTP/1.1 101 "));
  const std::string ping = format_frame(WebSocketKind::kPing, std::string(125, 'p'), WebSocketMask{1, 2, 3, 4});
  std::string pings;
  for (int i = 0; i < 1'000; ++i) pings += ping;
  guest.flood(pings, kFlood);
  expect_others_are_answered();
  expect_bounded();
}

TEST_F(ServeAttackTest, ChunksThatAreAllFraming) {
  const std::string head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string many(std::size_t{1} << 20U, '0');
  for (const std::string begin : {"", "1;", "0\r\n", "0\r\nT: "}) {
    std::deque<RawClient> clients;
    for (int i = 0; i < 4; ++i) {
      RawClient& one = clients.emplace_back(port_);
      one.say(head + begin);
      one.flood(many, kFlood / 8);
    }
    EXPECT_TRUE(clients.front().hear(kSoon).starts_with("HTTP/1.1 400 ")) << begin;
  }
  expect_others_are_answered();
  expect_bounded();
}

TEST_F(ServeAttackTest, BodiesThatNeverEnd) {
  const std::string head =
      "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "16000000\r\n\r\n";
  std::deque<RawClient> clients;
  for (int i = 0; i < 40; ++i) {
    RawClient& one = clients.emplace_back(port_);
    one.say(head);
    one.flood(std::string(std::size_t{1} << 20U, ' '), 15'000'000);
  }
  expect_others_are_answered();
  expect_bounded();
}

TEST_F(ServeAttackTest, AnswersThatNobodyReads) {
  constexpr int kTasks = 18;
  constexpr int kClients = 300;
  const std::string payload = "\"" + std::string(500'000, 'x') + "\"";
  sandbox.write_file("payload.json", payload);
  for (int i = 0; i < kTasks; ++i) sandbox.enqueue({"work", "--payload", "@" + sandbox.file("payload.json")});
  std::deque<RawClient> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back(port_).say(get("/v1/tasks?limit=100"));
  expect_others_are_answered();
  for (const RawClient& one : clients) static_cast<void>(one.hear(Millis{0}));
  expect_others_are_answered();
  expect_bounded();
  clients.clear();
  use_server(token_);
  EXPECT_EQ(sandbox.must_json({"list", "--json", "--limit", "100"}).as_array()->size(), std::size_t{kTasks})
      << "a large answer comes whole";
}

TEST_F(ServeAttackTest, ThousandsWhoSayNothing) {
  constexpr int kClients = 4'000;
  std::deque<RawClient> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back(port_);
  expect_others_are_answered();
  expect_bounded();
}

// Whatever cannot be had, the server goes on.
TEST_F(ServeAttackTest, NoMemoryForThem) {
  expect_others_are_answered();
  const auto space = static_cast<rlim_t>(kilobytes("VmSize") + 40'000) * 1'024;
  const rlimit limit{.rlim_cur = space, .rlim_max = space};
  ASSERT_EQ(::prlimit(server_->pid(), RLIMIT_AS, &limit, nullptr), 0);
  for (int round = 0; round < 3; ++round) {
    std::deque<RawClient> clients;
    for (int i = 0; i < 8; ++i) {
      RawClient& one = clients.emplace_back(port_);
      one.say(
          fmt::format("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
                      "Content-Type: application/json\r\nContent-Length: 16000000\r\n\r\n",
                      token_));
      one.flood(std::string(std::size_t{1} << 20U, ' '), 15'900'000 + 100'000 * (i % 2));
    }
  }
  EXPECT_FALSE(server_->wait(Millis{200})) << server_->errors();
  expect_others_are_answered();
}

}  // namespace
}  // namespace drover::e2e
