// The client over a real server: combining, timeouts, coming back.
#include "store/redis/client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

#include "store/redis/reply_error.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/redis_server.h"
#include "support/together.h"

namespace drover::redis {
namespace {

using std::chrono::steady_clock;
using test::code_of;
using test::must;

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

}  // namespace
}  // namespace drover::redis
