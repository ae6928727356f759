// The client over a real server: combining, timeouts, coming back.
#include "store/redis/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "store/redis/reply_error.h"
#include "support/fault_proxy.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"
#include "support/together.h"

namespace drover::redis {
namespace {

using std::chrono::steady_clock;
using test::code_of;
using test::FaultProxy;
using test::must;
using test::RedisServer;

constexpr int kThreads = 8;
constexpr int kCallsPerThread = 12'500;

std::string text_of(const Result<Reply>& reply) {
  return std::string(must(must(reply).as_text()));
}

TEST(RedisClientTest, CallsAndAnswers) {
  Client client({.address = test::shared_redis().address()});
  const std::string key = test::fresh_prefix();
  const std::string binary("\0\r\n\xff$5", 6);
  EXPECT_EQ(text_of(client.call(Command("SET", key, binary))), "OK");
  EXPECT_EQ(text_of(client.call(Command("GET", key))), binary);
  EXPECT_TRUE(must(client.call(Command("GET", key + "-none"))).is_nil());
  EXPECT_EQ(must(must(client.call(Command("STRLEN", key))).as_integer()), 6);
}

TEST(RedisClientTest, SeveralCommandsAnswerEachByItself) {
  Client client({.address = test::shared_redis().address()});
  const std::string key = test::fresh_prefix();
  const std::vector<Command> commands{Command("SET", key, "text"), Command("INCR", key), Command("GET", key)};
  const std::vector<Reply> replies = must(client.call(commands));
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[0], Reply::status("OK"));
  EXPECT_TRUE(replies[1].error_text().starts_with("ERR value is not an integer"));
  EXPECT_EQ(replies[2], Reply::bulk("text"));
  EXPECT_TRUE(must(client.call(std::span<const Command>())).empty());
}

TEST(RedisClientTest, EightThreadsShareOneConnectionAndGetTheirOwnReplies) {
  Client client({.address = test::shared_redis().address()});
  const std::string prefix = test::fresh_prefix();
  test::together(kThreads, [&](int thread) {
    const std::string key = prefix + ":" + std::to_string(thread);
    for (int i = 1; i <= kCallsPerThread; ++i) {
      // The number counts this thread's calls only if no reply went astray and none was made twice.
      ASSERT_EQ(must(must(client.call(Command("INCR", key))).as_integer()), i);
    }
  });
}

TEST(RedisClientTest, BatchesOverTheByteLimitAreAnsweredToo) {
  Client client({.address = test::shared_redis().address()});
  const std::string prefix = test::fresh_prefix();
  const std::string big(3 << 20, 'x');
  test::together(4, [&](int thread) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(text_of(client.call(Command("ECHO", big + std::to_string(thread)))), big + std::to_string(thread));
    }
  });
}

// Calls made while others keep the connection busy are sent together: far fewer writes than calls.
TEST(RedisClientTest, WaitingCallsAreSentTogether) {
  RedisServer server;
  FaultProxy proxy(server.port());
  Client client({.address = proxy.address()});
  must(client.call(Command("PING")));
  constexpr int kCallers = 16;
  constexpr Millis kRoundTrip{50};
  proxy.delay(kRoundTrip);
  const auto start = steady_clock::now();
  test::together(kCallers, [&](int i) { ASSERT_EQ(text_of(client.call(Command("ECHO", i))), std::to_string(i)); });
  EXPECT_LT(steady_clock::now() - start, kRoundTrip * kCallers / 2);
}

TEST(RedisClientTest, AFrozenServerIsAnsweredForInTimeAndComesBack) {
  RedisServer server;
  test::ManualClock clock;
  Client client({.address = server.address(), .call_timeout = Millis(100), .clock = &clock});
  must(client.call(Command("PING")));
  server.freeze();
  const Result<Reply> unanswered = client.call(Command("INCR", "n"));
  ASSERT_EQ(code_of(unanswered), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(unanswered.error().message.contains("may have taken effect")) << unanswered.error().message;
  const Result<Reply> refused = client.call(Command("INCR", "n"));
  ASSERT_EQ(code_of(refused), ErrorCode::kStoreUnavailable);
  EXPECT_FALSE(refused.error().message.contains("may have taken effect")) << refused.error().message;
  EXPECT_TRUE(refused.error().message.contains("did not answer in time")) << refused.error().message;
  server.thaw();
  clock.advance(Millis(2'000));
  EXPECT_EQ(text_of(client.call(Command("PING"))), "PONG");
}

TEST(RedisClientTest, WhoeverWaitsBehindAFrozenServerIsAnsweredToo) {
  RedisServer server;
  Client client({.address = server.address(), .connect_timeout = Millis(100), .call_timeout = Millis(100)});
  must(client.call(Command("PING")));
  server.freeze();
  const auto start = steady_clock::now();
  test::together(kThreads,
                 [&](int) { EXPECT_EQ(code_of(client.call(Command("PING"))), ErrorCode::kStoreUnavailable); });
  EXPECT_LT(steady_clock::now() - start, Millis(5'000));
  server.thaw();
}

TEST(RedisClientTest, ComesBackAfterTheServerWasKilled) {
  RedisServer server;
  test::ManualClock clock;
  Client client({.address = server.tcp_address(), .clock = &clock});
  must(client.call(Command("PING")));
  server.kill_hard();
  const Result<Reply> gone = client.call(Command("PING"));
  ASSERT_EQ(code_of(gone), ErrorCode::kStoreUnavailable);
  server.start();
  EXPECT_EQ(code_of(client.call(Command("PING"))), ErrorCode::kStoreUnavailable) << "within the pause";
  clock.advance(Millis(50));
  EXPECT_EQ(text_of(client.call(Command("PING"))), "PONG");
}

// A connection that ended between two calls costs nobody a failure.
TEST(RedisClientTest, ARestartBetweenTwoCallsIsNotNoticed) {
  RedisServer server;
  Client client({.address = server.tcp_address()});
  must(client.call(Command("PING")));
  server.stop();
  server.start();
  EXPECT_EQ(text_of(client.call(Command("PING"))), "PONG");
}

TEST(RedisClientTest, PausesGrowAndEndWithSuccess) {
  RedisServer server;
  FaultProxy proxy(server.port());
  test::ManualClock clock;
  SeededRng rng(1);
  Client client({.address = proxy.address(), .clock = &clock, .rng = &rng});
  const auto attempts_within = [&](Millis time) {
    const int before = proxy.accepted();
    for (Millis passed(0); passed < time; passed += Millis(5)) {
      EXPECT_EQ(code_of(client.call(Command("PING"))), ErrorCode::kStoreUnavailable);
      clock.advance(Millis(5));
    }
    return proxy.accepted() - before;
  };
  proxy.reset();
  // Pauses of 25-50, 50-100, 100-200, 200-400, 400-800, 800-1600 ms, then 1-2 s.
  const int first_second = attempts_within(Millis(1'000));
  EXPECT_GE(first_second, 5);
  EXPECT_LE(first_second, 7);
  EXPECT_LE(attempts_within(Millis(2'000)), 4);
  const int later = attempts_within(Millis(20'000));
  EXPECT_GE(later, 10);
  EXPECT_LE(later, 20);
  proxy.pass();
  clock.advance(Millis(2'000));
  EXPECT_EQ(text_of(client.call(Command("PING"))), "PONG");
  proxy.reset();
  EXPECT_EQ(code_of(client.call(Command("PING"))), ErrorCode::kStoreUnavailable);
  proxy.pass();
  clock.advance(Millis(50));
  EXPECT_EQ(text_of(client.call(Command("PING"))), "PONG") << "the first pause is short again";
}

TEST(RedisClientTest, SwallowedAndCutAnswersAreUnknown) {
  RedisServer server;
  FaultProxy proxy(server.port());
  test::ManualClock clock;
  Client client({.address = proxy.address(), .call_timeout = Millis(100), .clock = &clock});
  must(client.call(Command("PING")));
  proxy.blackhole();
  EXPECT_TRUE(client.call(Command("INCR", "n")).error().message.contains("may have taken effect"));
  proxy.pass();
  clock.advance(Millis(2'000));
  must(client.call(Command("PING")));
  proxy.cut_after(2);
  EXPECT_TRUE(client.call(Command("INCR", "n")).error().message.contains("may have taken effect"));
  EXPECT_EQ(server.run(Command("GET", "n")), Reply::bulk("1")) << "the second one did";
}

struct Injected {
  const char* reply;
  ErrorCode code;
};

TEST(RedisClientTest, ErrorRepliesMeanWhatTheTableSays) {
  RedisServer server;
  FaultProxy proxy(server.port());
  Client client({.address = proxy.address()});
  must(client.call(Command("PING")));
  const int connections = proxy.accepted();
  for (const Injected& injected : std::initializer_list<Injected>{
           {"LOADING Redis is loading the dataset in memory", ErrorCode::kStoreUnavailable},
           {"BUSY Redis is busy running a script", ErrorCode::kStoreUnavailable},
           {"MASTERDOWN Link with MASTER is down", ErrorCode::kStoreUnavailable},
           {"CLUSTERDOWN The cluster is down", ErrorCode::kStoreUnavailable},
           {"TRYAGAIN Multiple keys request during rehashing of slot", ErrorCode::kStoreUnavailable},
           {"NOREPLICAS Not enough good replicas to write.", ErrorCode::kStoreUnavailable},
           {"MISCONF Errors writing to the AOF file", ErrorCode::kStoreUnavailable},
           {"UNBLOCKED force unblock from blocking operation", ErrorCode::kStoreUnavailable},
           {"OOM command not allowed when used memory > 'maxmemory'.", ErrorCode::kStoreUnavailable},
           {"NOAUTH Authentication required.", ErrorCode::kUnauthorised},
           {"WRONGPASS invalid username-password pair", ErrorCode::kUnauthorised},
           {"NOPERM this user has no permissions", ErrorCode::kUnauthorised}}) {
    proxy.answer_next(injected.reply);
    const Result<Reply> reply = client.call(Command("INCR", "n"));
    ASSERT_EQ(code_of(reply), injected.code) << injected.reply;
    EXPECT_TRUE(reply.error().message.ends_with(injected.reply)) << reply.error().message;
  }
  EXPECT_EQ(proxy.accepted(), connections) << "none of them is a reason to connect again";
  for (const char* theirs : {"ERR unknown", "NOGROUP No such key", "WRONGTYPE Operation", "STALE_LEASE ours"}) {
    proxy.answer_next(theirs);
    EXPECT_EQ(must(client.call(Command("INCR", "n"))), Reply::error(theirs));
  }
}

TEST(RedisClientTest, AReadOnlyServerIsLeft) {
  RedisServer server;
  FaultProxy proxy(server.port());
  Client client({.address = proxy.address()});
  must(client.call(Command("PING")));
  proxy.answer_next("READONLY You can't write against a read only replica.");
  EXPECT_EQ(code_of(client.call(Command("INCR", "n"))), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(text_of(client.call(Command("PING"))), "PONG");
  EXPECT_EQ(proxy.accepted(), 2);
}

TEST(RedisClientTest, PreparesEveryConnectionBeforeAnybodyUsesIt) {
  RedisServer server;
  FaultProxy proxy(server.port());
  test::ManualClock clock;
  int prepared = 0;
  std::optional<Error> refusal;
  Client client({.address = proxy.address(),
                 .on_connect = [&](Connection& connection, const Patience& patience) -> Status {
                   ++prepared;
                   if (refusal) return std::unexpected(*refusal);
                   const Result<Reply> done = connection.must_call(Command("SET", "ready", prepared), patience);
                   return done ? Status() : std::unexpected(done.error());
                 },
                 .clock = &clock});
  EXPECT_EQ(text_of(client.call(Command("GET", "ready"))), "1");
  EXPECT_EQ(text_of(client.call(Command("GET", "ready"))), "1");
  refusal = Error{ErrorCode::kSchemaTooNew, "too new", ""};
  proxy.reset();
  proxy.pass();
  EXPECT_EQ(code_of(client.call(Command("PING"))), ErrorCode::kSchemaTooNew);
  const Result<Reply> paused = client.call(Command("PING"));
  ASSERT_EQ(code_of(paused), ErrorCode::kSchemaTooNew) << "the reason stays during the pause";
  EXPECT_TRUE(paused.error().message.contains("too new"));
  EXPECT_EQ(prepared, 2);
  refusal.reset();
  clock.advance(Millis(2'000));
  EXPECT_EQ(text_of(client.call(Command("GET", "ready"))), "3");
}

TEST(RedisClientTest, ABlockingCallWaitsWithoutHoldingUpOthers) {
  RedisServer server;
  Client client({.address = server.address()});
  const Interrupt interrupt;
  std::thread waker([&] {
    server.wait_for_blocked_clients(1);
    must(client.call(Command("RPUSH", "tokens", "1")));
  });
  const Reply popped = must(client.blocking_call(Command("BLPOP", "tokens", 10), Millis(10'000), interrupt));
  waker.join();
  EXPECT_EQ(popped, Reply::array({Reply::bulk("tokens"), Reply::bulk("1")}));
  EXPECT_TRUE(must(client.blocking_call(Command("BLPOP", "tokens", "0.01"), Millis(10), interrupt)).is_nil());
}

TEST(RedisClientTest, WhoWaitsDoesNotKeepOthersFromWaiting) {
  RedisServer server;
  Client client({.address = server.address()});
  const Interrupt interrupt;
  std::thread patient([&] {
    EXPECT_FALSE(must(client.blocking_call(Command("BLPOP", "late", 0), Millis(60'000), interrupt)).is_nil());
  });
  server.wait_for_blocked_clients(1);
  must(client.call(Command("RPUSH", "soon", "1")));
  EXPECT_FALSE(must(client.blocking_call(Command("BLPOP", "soon", 0), Millis(60'000), interrupt)).is_nil());
  must(client.call(Command("RPUSH", "late", "1")));
  patient.join();
}

TEST(RedisClientTest, ABlockingCallIsInterruptedAndLeavesNobodyWaiting) {
  RedisServer server;
  Client client({.address = server.address()});
  const Interrupt interrupt;
  std::thread stopper([&] {
    server.wait_for_blocked_clients(1);
    interrupt.raise();
  });
  EXPECT_TRUE(must(client.blocking_call(Command("BLPOP", "tokens", 0), Millis(60'000), interrupt)).is_nil());
  stopper.join();
  EXPECT_TRUE(must(client.blocking_call(Command("BLPOP", "tokens", 0), Millis(60'000), interrupt)).is_nil());
  server.wait_for_blocked_clients(0);
  interrupt.clear();
  must(client.call(Command("RPUSH", "tokens", "1")));
  EXPECT_FALSE(must(client.blocking_call(Command("BLPOP", "tokens", 1), Millis(1'000), interrupt)).is_nil());
}

TEST(RedisClientTest, ABlockingCallToNobodyFailsWithoutSpinning) {
  RedisServer server;
  Client client({.address = server.address()});
  server.stop();
  const Interrupt interrupt;
  const auto start = steady_clock::now();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code_of(client.blocking_call(Command("BLPOP", "t", 1), Millis(1'000), interrupt)),
              ErrorCode::kStoreUnavailable);
  }
  EXPECT_GE(steady_clock::now() - start, Millis(25 + 50));
}

}  // namespace
}  // namespace drover::redis
