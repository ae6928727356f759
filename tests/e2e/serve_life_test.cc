// How a server starts and stops: soon, telling systemd, and with an answer for everybody who asked.
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "e2e/serving.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "support/must.h"

namespace drover::e2e {
namespace {

// Where systemd would listen.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    std::memcpy(place.sun_path, path.data(), path.size());
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
      throw std::runtime_error("cannot bind " + path);
    }
    const timeval bound{.tv_sec = kHangs.count() / 1000, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  }

  std::string next() const {
    std::array<char, 256> buffer{};
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "nothing";
  }

 private:
  UniqueFd socket_;
};

class ServeLifeTest : public ServingTest {
 protected:
  HttpResponse get(const std::string& target, const std::string& token = {}) const {
    HttpClient client(test::must(parse_server_url(url())).endpoint);
    HttpHeaders headers{{"host", "localhost"}};
    if (!token.empty()) headers.emplace_back("authorization", "Bearer " + token);
    return test::must(
        client.exchange({.method = "GET", .target = target, .body = {}, .headers = std::move(headers)}, kHangs));
  }
};

TEST_F(ServeLifeTest, TellsSystemdThatItIsReadyAliveAndStopping) {
  const NotifySocket systemd(sandbox.file("notify"));
  sandbox.set("NOTIFY_SOCKET", sandbox.file("notify"));
  sandbox.set("WATCHDOG_USEC", "100000");
  const auto server = start_server();
  EXPECT_EQ(systemd.next(), "READY=1");
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  EXPECT_EQ(systemd.next(), "WATCHDOG=1") << "again and again";
  server->signal(SIGTERM);
  std::string told = systemd.next();
  for (int i = 0; i < 100 && told == "WATCHDOG=1"; ++i) told = systemd.next();
  EXPECT_EQ(told, "STOPPING=1");
  EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
}

// The best of a few: other things may be going on here.
TEST_F(ServeLifeTest, AnswersSoonAfterItWasStarted) {
  constexpr Millis kStartMax{300};
  constexpr int kTries = 10;
  sandbox.must({"list"});  // there is a store
  Millis best = Millis::max();
  for (int i = 0; i < kTries && best > kStartMax; ++i) {
    const Millis began = mono_now();
    const auto server = start_server();
    EXPECT_EQ(get("/readyz").status, 200);
    best = std::min(best, mono_now() - began);
    server->signal(SIGTERM);
    EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
  }
  RecordProperty("milliseconds", static_cast<int>(best.count()));
  EXPECT_LE(best, kStartMax);
}

TEST_F(ServeLifeTest, ALongPollIsAnsweredWhenTheServerStops) {
  const auto server = start_server();
  const std::string token = create_token({"admin"});
  const std::string id = sandbox.enqueue({"never"});
  HttpResponse waited;
  std::jthread waiter([&] { waited = get("/v1/tasks/" + id + "/wait?timeout=30s", token); });
  const Millis end = mono_now() + kHangs;
  while (mono_now() < end && !contains(get("/metrics", token).body, "\ndrover_http_waiting_calls 1\n")) {
  }
  const Millis stopped_at = mono_now();
  server->signal(SIGTERM);
  waiter.join();
  EXPECT_EQ(waited.status, 200);
  EXPECT_TRUE(contains(waited.body, R"("state":"pending")"));
  EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
  EXPECT_LT(mono_now() - stopped_at, Millis{5'000});
}

// More than the sockets hold: the rest is sent while the server is stopping.
TEST_F(ServeLifeTest, AnAnswerOnItsWayIsSentToItsEnd) {
  const auto server = start_server();
  const std::string token = create_token({"admin"});
  std::string batch;
  for (int i = 0; i < 16; ++i) {
    batch += R"({"type":"large","payload":")" + std::string(1'000'000, 'x') + "\"}\n";
  }
  sandbox.must({"enqueue", "--batch", "-"}, batch);
  const Patience patience = Patience::of(kHangs);
  const auto socket = test::must(connect_socket(test::must(parse_server_url(url())).endpoint, patience));
  test::must(
      socket->write_all(format_request({.method = "GET",
                                        .target = "/v1/tasks?limit=50",
                                        .body = {},
                                        .headers = {{"host", "localhost"}, {"authorization", "Bearer " + token}}}),
                        patience));
  std::array<char, 64 * 1024> buffer{};
  HttpResponseReader reader;
  const auto read = [&] {
    const auto size = socket->read_some(buffer, patience);
    return size && reader.feed({buffer.data(), *size});
  };
  ASSERT_TRUE(read()) << "the answer has begun";
  server->signal(SIGTERM);
  const Millis end = mono_now() + kHangs;
  while (mono_now() < end && !contains(server->errors(), "stopping")) {
  }
  while (!reader.is_whole() && read()) {
  }
  EXPECT_TRUE(reader.is_whole());
  EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
}

}  // namespace
}  // namespace drover::e2e
