// One connection: ways in, sign-in, TLS, and every wait bounded.
#include "store/redis/connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/fault_proxy.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"

namespace drover::redis {
namespace {

using std::chrono::steady_clock;
using test::code_of;
using test::must;
using test::RedisServer;

constexpr Millis kLong{10'000};

Patience patient() {
  return Patience::of(kLong);
}

Result<std::unique_ptr<Connection>> open(const std::string& url) {
  return Connection::open(must(parse_address(url)), patient());
}

std::string text(Connection& connection, const Command& command) {
  const Reply reply = must(connection.must_call(command, patient()));
  return std::string(must(reply.as_text()));
}

TEST(RedisConnectionTest, ComesInByUnixSocketAndTcp) {
  const RedisServer& server = test::shared_redis();
  for (const std::string& url : {server.url(), server.tcp_url()}) {
    const auto connection = must(open(url));
    EXPECT_EQ(text(*connection, Command("PING")), "PONG");
    EXPECT_EQ(text(*connection, Command("CLIENT", "GETNAME")), "drover");
    EXPECT_FALSE(connection->is_stale());
  }
}

TEST(RedisConnectionTest, ResolvesNames) {
  const std::uint16_t port = test::shared_redis().port();
  const auto connection = must(open("redis://localhost:" + std::to_string(port)));
  EXPECT_EQ(text(*connection, Command("PING")), "PONG");
  // A label of a name has at most 63 characters: the resolver knows without asking anybody.
  const std::string impossible(64, 'a');
  const auto unknown = open("redis://" + impossible + ":" + std::to_string(port));
  ASSERT_EQ(code_of(unknown), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(unknown.error().message.contains(impossible)) << unknown.error().message;
}

TEST(RedisConnectionTest, SelectsItsDatabase) {
  RedisServer server;
  const auto connection = must(open(server.url() + "&db=3"));
  EXPECT_EQ(text(*connection, Command("SET", "k", "v")), "OK");
  EXPECT_EQ(server.run(Command("EXISTS", "k")), Reply::integer(0));
  const auto refused = open(server.url() + "&db=999");
  ASSERT_EQ(code_of(refused), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(refused.error().message.contains("999"));
}

TEST(RedisConnectionTest, SignsInWithAPassword) {
  RedisServer server({.requirepass = "p@ss"});
  const auto connection = must(open(server.tcp_url()));
  EXPECT_EQ(text(*connection, Command("PING")), "PONG");
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(code_of(open("redis://" + place)), ErrorCode::kUnauthorised);
  EXPECT_EQ(code_of(open("redis://:wrong@" + place)), ErrorCode::kUnauthorised);
}

TEST(RedisConnectionTest, APasswordForAServerThatWantsNoneIsRefused) {
  const std::string place = "127.0.0.1:" + std::to_string(test::shared_redis().port());
  EXPECT_EQ(code_of(open("redis://:secret@" + place)), ErrorCode::kUnauthorised);
}

TEST(RedisConnectionTest, SignsInAsAnAclUser) {
  RedisServer server({.more = {"--user", "worker", "on", ">pw", "~ade:*", "+get", "+set"}});
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  const auto connection = must(open("redis://worker:pw@" + place));
  EXPECT_EQ(text(*connection, Command("SET", "ade:k", "v")), "OK");
  EXPECT_EQ(code_of(connection->must_call(Command("SET", "other", "v"), patient())), ErrorCode::kUnauthorised);
  EXPECT_EQ(code_of(connection->must_call(Command("FLUSHALL"), patient())), ErrorCode::kUnauthorised);
  EXPECT_EQ(code_of(open("redis://worker:no@" + place)), ErrorCode::kUnauthorised);
  EXPECT_EQ(code_of(open("redis://nobody:pw@" + place)), ErrorCode::kUnauthorised);
}

TEST(RedisConnectionTest, SpeaksTls) {
  RedisServer server({.tls_host = "127.0.0.1"});
  const auto connection = must(open(server.tls_url("127.0.0.1")));
  EXPECT_EQ(text(*connection, Command("PING")), "PONG");
  EXPECT_FALSE(connection->is_stale()) << "session tickets are no reply";
  const std::string big(5 << 20, 'x');
  EXPECT_EQ(text(*connection, Command("ECHO", big)), big);
  server.kill_hard();
  EXPECT_TRUE(connection->is_stale());
}

TEST(RedisConnectionTest, ChecksTheNameInTheCertificate) {
  RedisServer server({.tls_host = "localhost"});
  EXPECT_EQ(text(*must(open(server.tls_url("localhost"))), Command("PING")), "PONG");
  const auto other = open(server.tls_url("127.0.0.1"));
  ASSERT_EQ(code_of(other), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(other.error().message.contains("certificate")) << other.error().message;
}

TEST(RedisConnectionTest, TrustsOnlyKnownAuthorities) {
  RedisServer server({.tls_host = "127.0.0.1"});
  const std::string place = "rediss://127.0.0.1:" + std::to_string(server.tls_port());
  const auto unknown = open(place);
  ASSERT_EQ(code_of(unknown), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(unknown.error().message.contains("?ca=FILE")) << unknown.error().message;
  EXPECT_EQ(code_of(open(place + "?ca=" + server.dir().file("none.pem"))), ErrorCode::kInvalidArgument);
  // A plain port takes the handshake for the beginning of a command and waits for more.
  Address plain = must(parse_address(server.tls_url("127.0.0.1")));
  plain.port = server.port();
  EXPECT_EQ(code_of(Connection::open(plain, Patience::of(Millis(100)))), ErrorCode::kStoreUnavailable);
}

TEST(RedisConnectionTest, NobodyThereIsSaidAtOnce) {
  RedisServer server;
  const std::string url = server.tcp_url();
  const std::string unix_url = server.url();
  server.stop();
  for (const std::string& gone : {url, unix_url}) {
    const auto connection = open(gone);
    ASSERT_EQ(code_of(connection), ErrorCode::kStoreUnavailable);
    EXPECT_TRUE(connection.error().message.contains("cannot connect")) << connection.error().message;
  }
}

TEST(RedisConnectionTest, AFrozenServerTimesOutAndClosesTheConnection) {
  RedisServer server;
  const auto connection = must(open(server.tcp_url()));
  server.freeze();
  const auto start = steady_clock::now();
  EXPECT_EQ(code_of(connection->call(Command("PING"), Patience::of(Millis(80)))), ErrorCode::kStoreUnavailable);
  EXPECT_GE(steady_clock::now() - start, Millis(80));
  EXPECT_FALSE(connection->is_open());
  EXPECT_EQ(code_of(connection->call(Command("PING"), patient())), ErrorCode::kStoreUnavailable);
  // The kernel completes the connection; the sign-in is what times out.
  EXPECT_EQ(code_of(Connection::open(server.tcp_address(), Patience::of(Millis(80)))), ErrorCode::kStoreUnavailable);
  server.thaw();
}

TEST(RedisConnectionTest, AnotherThreadInterruptsAWait) {
  RedisServer server;
  const auto connection = must(open(server.url()));
  const Interrupt interrupt;
  std::thread stopper([&] {
    server.wait_for_blocked_clients(1);
    interrupt.raise();
  });
  EXPECT_EQ(code_of(connection->call(Command("BLPOP", "none", 0), Patience::of(kLong, &interrupt))),
            ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(interrupt.is_raised());
  stopper.join();
  interrupt.clear();
  EXPECT_FALSE(interrupt.is_raised());
}

TEST(RedisConnectionTest, AnAnswerThatBreaksOffIsAFailure) {
  RedisServer server;
  test::FaultProxy proxy(server.port());
  const auto connection = must(Connection::open(proxy.address(), patient()));
  proxy.cut_after(5);
  EXPECT_EQ(code_of(connection->call(Command("ECHO", "hello"), patient())), ErrorCode::kStoreUnavailable);
  EXPECT_FALSE(connection->is_open());
}

TEST(RedisConnectionTest, LongWritesGoThroughWhole) {
  const auto connection = must(open(test::shared_redis().tcp_url()));
  const std::string big(20 << 20, 'y');
  EXPECT_EQ(text(*connection, Command("ECHO", big)), big);
}

}  // namespace
}  // namespace drover::redis
