// HTTP over TLS, as the event loop carries it.
#include "net/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "net/http_client.h"
#include "support/loopback.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace drover::test {
namespace {

constexpr Millis kLong{30'000};
constexpr Millis kTurn{20};

class HttpServerTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    write_test_certificate("127.0.0.1", folder_.file("crt"), folder_.file("key"));
    server_.use_certificate(must(TlsContext::load(folder_.file("crt"), folder_.file("key"))));
    std::uint16_t port = 0;
    server_.listen_on(listen_on_loopback(port), HttpServer::Transport::kTls);
    endpoint_ = {.transport = Endpoint::Transport::kTls,
                 .host = "127.0.0.1",
                 .port = port,
                 .ca_file = folder_.file("crt"),
                 .peer = "the server"};
  }

  // Runs the loop here while `client` runs on a thread of its own.
  template <class Client>
  void serve_while(Client client) {
    std::atomic<bool> done = false;
    std::jthread thread([&] {
      client();
      done = true;
    });
    while (!done) turn();
  }
  void turn() {
    loop_.run_once(kTurn);
    static_cast<void>(server_.tick(system_clock().mono()));
  }
  [[nodiscard]] Endpoint plain() const {
    Endpoint endpoint = endpoint_;
    endpoint.transport = Endpoint::Transport::kTcp;
    return endpoint;
  }

  TempDir folder_;
  Endpoint endpoint_;
  EventLoop loop_;
  HttpConnection::Handle handle_ = [](HttpRequest request, const std::shared_ptr<HttpConnection>& client) {
    client->respond({.body = std::move(request.body)});
  };
  ByteBudget budget_{std::size_t{128} << 20U};
  HttpServer server_{loop_, HttpLimits{}, budget_,
                     [this](HttpRequest request, const std::shared_ptr<HttpConnection>& client) {
                       handle_(std::move(request), client);
                     }};
};

TEST_F(HttpServerTlsTest, ManyRequestsOverOneConnection) {
  HttpClient client(endpoint_);
  serve_while([&client] {
    for (const std::size_t size : {0, 10, 100'000, 5'000'000}) {
      const HttpRequest request{.method = "POST", .target = "/", .body = std::string(size, 'x')};
      const HttpResponse response = must(client.exchange(request, kLong));
      EXPECT_EQ(response.body.size(), size);
    }
  });
  EXPECT_EQ(server_.connections(), 1U);
}

TEST_F(HttpServerTlsTest, AStreamFlowsBothWaysAndCountsWhatWaits) {
  constexpr std::size_t kMuch = 32 * 1024 * 1024;
  std::shared_ptr<HttpConnection> stream;
  std::latch sent(1);  // nobody reads before that
  std::string heard;
  bool drained = false;
  std::size_t waiting = 0;
  handle_ = [&](const HttpRequest&, const std::shared_ptr<HttpConnection>& client) {
    stream = client;
    client->start_stream(format_stream_head(200, {}), {.received =
                                                           [&](std::string_view bytes) {
                                                             heard += bytes;
                                                             return std::size_t{0};
                                                           },
                                                       .drained = [&] { drained = true; },
                                                       .closed = {}});
    client->send(std::string(kMuch, 'y'));
    waiting = client->unsent();
    sent.count_down();
  };
  std::size_t received = 0;
  serve_while([&] {
    const Patience patience = Patience::of(kLong);
    const auto socket = must(connect_socket(endpoint_, patience));
    must(socket->write_all(format_request({.method = "GET", .target = "/"}), patience));
    sent.wait();
    std::array<char, 64 * 1024> buffer{};
    while (received < kMuch) {
      const std::size_t size = must(socket->read_some(buffer, patience));
      received += static_cast<std::size_t>(std::count(buffer.begin(), buffer.begin() + static_cast<long>(size), 'y'));
    }
    must(socket->write_all("thanks", patience));
  });
  for (const MonoTime end = system_clock().mono() + kLong; heard.empty() && system_clock().mono() < end;) turn();
  EXPECT_EQ(received, kMuch);
  EXPECT_GT(waiting, kMuch / 4) << "more than a socket takes was sent at once";
  EXPECT_TRUE(drained);
  EXPECT_EQ(heard, "thanks");
  EXPECT_EQ(stream->unsent(), 0U);
}

TEST_F(HttpServerTlsTest, WhoSpeaksNoTlsIsTurnedOut) {
  serve_while([this] {
    HttpClient client(plain());
    const HttpResponse response = must(client.exchange({.method = "GET", .target = "/"}, kLong));
    EXPECT_EQ(response.status, 400);
    EXPECT_NE(response.body.find("https://"), std::string::npos);
    const Patience patience = Patience::of(kLong);
    const auto socket = must(connect_socket(plain(), patience));
    must(socket->write_all("\x01\x02\x03\x04\x05 nonsense that is neither", patience));
    std::array<char, 64> buffer{};
    while (socket->read_some(buffer, patience)) {  // an alert, perhaps
    }
  });
  for (const MonoTime end = system_clock().mono() + kLong; server_.connections() > 0 && system_clock().mono() < end;)
    turn();
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpServerTlsTest, AHandshakeHasNoMoreTimeThanAHeader) {
  const auto silent = must(connect_socket(plain(), Patience::of(kLong)));
  while (server_.connections() == 0) turn();
  const MonoTime now = system_clock().mono();
  EXPECT_LE(server_.tick(now), now + HttpLimits{}.header_max);
  static_cast<void>(server_.tick(now + HttpLimits{}.header_max));
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpServerTlsTest, ANewCertificateIsForNewConnections) {
  HttpClient old_client(endpoint_);
  const HttpRequest request{.method = "GET", .target = "/"};
  serve_while([&] { must(old_client.exchange(request, kLong)); });
  write_test_certificate("127.0.0.1", folder_.file("crt2"), folder_.file("key2"));
  server_.use_certificate(must(TlsContext::load(folder_.file("crt2"), folder_.file("key2"))));
  serve_while([&] {
    must(old_client.exchange(request, kLong));
    HttpClient distrustful(endpoint_);
    EXPECT_FALSE(distrustful.exchange(request, kLong));
    Endpoint renewed = endpoint_;
    renewed.ca_file = folder_.file("crt2");
    HttpClient client(renewed);
    must(client.exchange(request, kLong));
  });
}

}  // namespace
}  // namespace drover::test
