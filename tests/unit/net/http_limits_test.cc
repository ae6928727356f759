// What clients of an HTTP server may make it hold, and for how long.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "net/http_server.h"
#include "support/loopback.h"

namespace drover::test {
namespace {

constexpr Millis kPatience{20'000};
constexpr std::size_t kBudget = 32 * 1024 * 1024;  // far beyond what a socket takes
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

class Peer {
 public:
  explicit Peer(std::uint16_t port) : socket_(connect_to_loopback(port, Receives::kLittle)) {
    EXPECT_TRUE(socket_.is_open());
  }
  // As much as there is room for.
  std::size_t say(std::string_view text) const {
    const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  // Takes what has come.
  void listen() {
    std::array<char, 65'536> buffer;
    for (;;) {
      const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size == 0 || (size < 0 && errno != EAGAIN)) is_closed_ = true;
      if (size <= 0) return;
      heard_.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }
  [[nodiscard]] const std::string& heard() const { return heard_; }
  [[nodiscard]] bool is_closed() const { return is_closed_; }

 private:
  UniqueFd socket_;
  std::string heard_;
  bool is_closed_ = false;
};

class HttpLimitsTest : public testing::Test {
 protected:
  HttpLimitsTest() { server_.listen_on(listen_on_loopback(port_)); }
  // Until that is so, or nothing helps.
  template <class Done>
  bool turn_until(Done done) {
    const MonoTime end = system_clock().mono() + kPatience;
    while (!done()) {
      if (system_clock().mono() > end) return false;
      loop_.run_once(Millis{5});
      static_cast<void>(server_.tick(system_clock().mono()));
    }
    return true;
  }
  bool hears(Peer& peer, std::string_view what) {
    return turn_until([&] {
      peer.listen();
      return peer.heard().find(what) != std::string::npos;
    });
  }
  bool is_turned_out(Peer& peer) {
    return turn_until([&] {
      peer.listen();
      return peer.is_closed();
    });
  }

  std::uint16_t port_ = 0;
  EventLoop loop_;
  ByteBudget budget_{kBudget};
  HttpConnection::Handle handle_ = [](const HttpRequest& request, const std::shared_ptr<HttpConnection>& client) {
    if (request.target == "/known") client->set_known();
    client->respond({.body = "answer"});
  };
  const HttpLimits limits_{.connections_max = 8, .strangers_per_peer_max = 3};
  HttpServer server_{loop_, limits_, budget_,
                     [this](HttpRequest request, const std::shared_ptr<HttpConnection>& client) {
                       handle_(std::move(request), client);
                     }};
};

TEST_F(HttpLimitsTest, AHeaderHasItsTimeFromWhenTheClientCame) {
  const MonoTime before = system_clock().mono();
  Peer silent(port_);
  ASSERT_TRUE(turn_until([&] { return server_.connections() == 1; }));
  EXPECT_LE(server_.tick(system_clock().mono() + Millis{100}), before + limits_.header_max + Millis{1'000});
  static_cast<void>(server_.tick(system_clock().mono() + limits_.header_max));
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpLimitsTest, AfterAGoodRequestAClientMayRest) {
  Peer peer(port_);
  peer.say(kGet);
  ASSERT_TRUE(hears(peer, "answer"));
  const MonoTime now = system_clock().mono();
  static_cast<void>(server_.tick(now + limits_.header_max * 2));
  EXPECT_EQ(server_.connections(), 1U);
  static_cast<void>(server_.tick(now + limits_.idle_max + Millis{1'000}));
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpLimitsTest, ASilentClientMakesRoomForAnother) {
  Peer first(port_);
  Peer second(port_);
  Peer third(port_);
  ASSERT_TRUE(turn_until([&] { return server_.connections() == 3; }));
  Peer fourth(port_);
  EXPECT_TRUE(is_turned_out(first));
  fourth.say(kGet);
  EXPECT_TRUE(hears(fourth, "answer"));
  second.say(kGet);
  EXPECT_TRUE(hears(second, "answer")) << "the oldest one goes, and no other";
}

TEST_F(HttpLimitsTest, ThoseWhoAreKnownAreNotCountedByTheirAddress) {
  std::vector<Peer> known;
  for (int i = 0; i < 6; ++i) {
    known.emplace_back(port_).say("GET /known HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(hears(known.back(), "answer"));
  }
  Peer silent(port_);
  Peer also_silent(port_);
  ASSERT_TRUE(turn_until([&] { return server_.connections() == 8; }));
  // The table is full: a stranger has to go, and never one who is known.
  Peer late(port_);
  late.say("GET /known HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(hears(late, "answer"));
  EXPECT_TRUE(is_turned_out(silent));
  for (Peer& peer : known) {
    peer.say(kGet);
    EXPECT_TRUE(hears(peer, "answer"));
  }
}

TEST_F(HttpLimitsTest, WhoeverHoldsMostGoesWhenTooMuchIsHeld) {
  handle_ = [](const HttpRequest& request, const std::shared_ptr<HttpConnection>& client) {
    client->respond({.body = std::string(request.target == "/large" ? kBudget : kBudget / 2, 'x')});
  };
  Peer small(port_);
  small.say("GET /small HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(turn_until([&] { return budget_.held() > 0; }));
  Peer large(port_);
  large.say("GET /large HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(turn_until([&] { return server_.connections() == 1; })) << budget_.held();
  EXPECT_LE(budget_.held(), kBudget);
  ASSERT_TRUE(turn_until([&] {
    small.listen();
    return small.heard().size() > kBudget / 2;
  }));
  EXPECT_EQ(budget_.held(), 0U);
}

TEST_F(HttpLimitsTest, ARequestForWhichThereIsNoRoomIsRefusedWithAWord) {
  const ByteBudget::Charge others(budget_, kBudget - 100'000);
  Peer peer(port_);
  peer.say("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  const std::string body(1'000'000, 'x');
  std::size_t said = 0;
  ASSERT_TRUE(turn_until([&] {
    said += peer.say(std::string_view(body).substr(said));
    peer.listen();
    return peer.is_closed() || !peer.heard().empty();
  }));
  EXPECT_TRUE(peer.heard().starts_with("HTTP/1.1 503 ")) << peer.heard();
  EXPECT_NE(peer.heard().find("retry-after: 1"), std::string::npos) << peer.heard();
  EXPECT_EQ(budget_.held(), others.bytes());
}

TEST_F(HttpLimitsTest, AnAnswerInPiecesIsReadAsTheClientTakesIt) {
  constexpr std::size_t kPiece = 100'000;
  constexpr int kPieces = 100;
  int read = 0;
  handle_ = [&](const HttpRequest&, const std::shared_ptr<HttpConnection>& client) {
    client->respond_in_pieces({.body = "first"}, [&read, weak = std::weak_ptr(client)] {
      const auto here = weak.lock();
      if (read == kPieces) return here->end_pieces();
      ++read;
      here->add_piece(std::string(kPiece, 'x'));
    });
  };
  Peer peer(port_);
  peer.say(kGet);
  std::size_t most = 0;
  int idle_turns = 0;
  for (int before = -1; idle_turns < 20; before = read) {
    loop_.run_once(Millis{5});
    most = std::max(most, budget_.held());
    idle_turns = read == before ? idle_turns + 1 : 0;
  }
  EXPECT_LT(read, kPieces) << "nobody takes them";
  ASSERT_TRUE(turn_until([&] {
    peer.listen();
    most = std::max(most, budget_.held());
    return peer.heard().ends_with("\r\n0\r\n\r\n");
  }));
  EXPECT_LT(most, 3 * kPiece);
  EXPECT_EQ(std::ranges::count(peer.heard(), 'x'), kPieces * static_cast<long>(kPiece));
  HttpResponseReader reader;
  ASSERT_TRUE(reader.feed(peer.heard()));
  EXPECT_TRUE(reader.is_whole());
  // And the connection goes on.
  handle_ = [](const HttpRequest&, const std::shared_ptr<HttpConnection>& client) {
    client->respond({.body = "next"});
  };
  peer.say(kGet);
  EXPECT_TRUE(hears(peer, "next"));
}

TEST_F(HttpLimitsTest, AnOldClientGetsPiecesWithoutChunks) {
  bool is_last = false;
  handle_ = [&](const HttpRequest&, const std::shared_ptr<HttpConnection>& client) {
    client->respond_in_pieces({.body = "first,"}, [&is_last, weak = std::weak_ptr(client)] {
      std::exchange(is_last, true) ? weak.lock()->end_pieces() : weak.lock()->add_piece("last");
    });
  };
  Peer peer(port_);
  peer.say("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(is_turned_out(peer));
  EXPECT_TRUE(peer.heard().ends_with("\r\n\r\nfirst,last")) << peer.heard();
}

TEST_F(HttpLimitsTest, AStreamThatNobodyReadsIsNotReadFrom) {
  std::size_t received = 0;
  std::shared_ptr<HttpConnection> stream;
  handle_ = [&](const HttpRequest&, const std::shared_ptr<HttpConnection>& client) {
    stream = client;
    client->start_stream(format_stream_head(200, {}), {.received =
                                                           [&](std::string_view bytes) {
                                                             received += bytes.size();
                                                             stream->send(bytes);  // an echo
                                                             return std::size_t{0};
                                                           },
                                                       .drained = {},
                                                       .closed = {}});
  };
  Peer peer(port_);
  peer.say(kGet);
  const std::string piece(65'536, 'x');
  std::size_t said = 0;
  for (int idle_turns = 0; idle_turns < 20; ++idle_turns) {
    if (const std::size_t more = peer.say(piece)) {
      said += more;
      idle_turns = 0;
    }
    ASSERT_LT(said, std::size_t{64} << 20U) << "it is read without end";
    loop_.run_once(Millis{5});
    ASSERT_LE(budget_.held(), 256U * 1024);
  }
  EXPECT_LT(received, said);
  static_cast<void>(server_.tick(system_clock().mono() + limits_.exchange_max + Millis{1'000}));
  EXPECT_TRUE(stream->is_closed()) << "it has had its time";
}

}  // namespace
}  // namespace drover::test
