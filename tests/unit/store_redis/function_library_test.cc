// The function library: loaded when it is missing or older, never over a newer one, and again when it was flushed.
#include "store/redis/function_library.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/redis/client.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"

namespace drover::redis {
namespace {

using test::code_of;
using test::must;

constexpr Millis kLong{10'000};

// A library of one version, whose drover_who answers `who`.
std::string library(LibraryVersion version, std::string_view who) {
  return fmt::format(
      "#!lua name=drover\n"
      "redis.register_function{{function_name='drover_version', callback=function() return '{}' end, "
      "flags={{'no-writes'}}}}\n"
      "redis.register_function('drover_who', function() return '{}' end)\n",
      to_string(version), who);
}

class RedisFunctionLibraryTest : public ::testing::Test {
 protected:
  RedisFunctionLibraryTest() : connection_(must(Connection::open(server_.address(), Patience::of(kLong)))) {}

  Status ensure(LibraryVersion version, std::string_view who) {
    return ensure_library(*connection_, "{ade}:", library(version, who), version, Patience::of(kLong));
  }
  Reply who() { return server_.run(Command("FCALL", "drover_who", 0)); }

  test::RedisServer server_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(RedisFunctionLibraryTest, IsLoadedWhenMissing) {
  must(ensure({1, 0}, "first"));
  EXPECT_EQ(who(), Reply::bulk("first"));
}

TEST_F(RedisFunctionLibraryTest, StaysWhenEqualOrALaterMinorVersion) {
  must(ensure({1, 5}, "first"));
  must(ensure({1, 5}, "second"));
  EXPECT_EQ(who(), Reply::bulk("first"));
  must(ensure({1, 4}, "third"));
  EXPECT_EQ(who(), Reply::bulk("first"));
}

TEST_F(RedisFunctionLibraryTest, IsReplacedWhenOlder) {
  must(ensure({1, 9}, "first"));
  must(ensure({1, 10}, "second"));
  EXPECT_EQ(who(), Reply::bulk("second"));
  must(ensure({2, 0}, "third"));
  EXPECT_EQ(who(), Reply::bulk("third"));
}

TEST_F(RedisFunctionLibraryTest, IsReplacedWhenItCannotTellItsVersion) {
  must(connection_->must_call(
      Command("FUNCTION", "LOAD",
              "#!lua name=drover\nredis.register_function('drover_who', function() return 'old' end)\n"),
      Patience::of(kLong)));
  must(ensure({1, 0}, "new"));
  EXPECT_EQ(who(), Reply::bulk("new"));
}

TEST_F(RedisFunctionLibraryTest, ANewerMajorVersionIsRefusedAndStays) {
  must(ensure({2, 0}, "newer"));
  const Status refused = ensure({1, 99}, "ours");
  ASSERT_EQ(code_of(refused), ErrorCode::kSchemaTooNew);
  EXPECT_TRUE(refused.error().message.contains("2.0")) << refused.error().message;
  EXPECT_EQ(who(), Reply::bulk("newer"));
}

TEST_F(RedisFunctionLibraryTest, OneThatIsOlderThanTheStoreRequiresIsNotLoaded) {
  server_.run(Command("HSET", "{ade}:seq", "library", "1.10"));
  const Status refused = ensure({1, 9}, "older");
  ASSERT_EQ(code_of(refused), ErrorCode::kSchemaTooNew);
  EXPECT_TRUE(refused.error().message.contains("1.10")) << refused.error().message;
  EXPECT_TRUE(who().is_error()) << "nothing is loaded";
  must(ensure({1, 10}, "equal"));
  EXPECT_EQ(who(), Reply::bulk("equal"));
  must(ensure({1, 9}, "older"));
  EXPECT_EQ(who(), Reply::bulk("equal")) << "an older program works with what is loaded";
  server_.run(Command("FUNCTION", "FLUSH"));
  EXPECT_EQ(code_of(ensure({1, 9}, "older")), ErrorCode::kSchemaTooNew);
  EXPECT_TRUE(who().is_error());
}

TEST_F(RedisFunctionLibraryTest, AVersionThatIsNoneIsDamage) {
  must(connection_->must_call(
      Command("FUNCTION", "LOAD",
              "#!lua name=drover\nredis.register_function{function_name='drover_version', callback=function() return "
              "'x' end, flags={'no-writes'}}\n"),
      Patience::of(kLong)));
  EXPECT_EQ(code_of(ensure({1, 0}, "ours")), ErrorCode::kStoreDamaged);
}

TEST_F(RedisFunctionLibraryTest, ATextThatRedisRefusesIsAnError) {
  const Status refused =
      ensure_library(*connection_, "{ade}:", "#!lua name=drover\nnot lua", {1, 0}, Patience::of(kLong));
  ASSERT_EQ(code_of(refused), ErrorCode::kInternal);
  EXPECT_TRUE(refused.error().message.contains("Error compiling function")) << refused.error().message;
}

TEST_F(RedisFunctionLibraryTest, AFlushedLibraryIsLoadedAgainAndTheCallMadeAgain) {
  const std::string text = library({1, 0}, "me");
  Client client({.address = server_.address(), .on_connect = [&](Connection& connection, const Patience& patience) {
                   return ensure_library(connection, "{ade}:", text, {1, 0}, patience);
                 }});
  const Command call("FCALL", "drover_who", 0);
  EXPECT_EQ(must(client.call(call)), Reply::bulk("me"));
  server_.run(Command("FUNCTION", "FLUSH"));
  const std::vector<Command> commands{Command("INCR", "n"), call, Command("INCR", "n"), call};
  EXPECT_EQ(must(client.call(commands)),
            (std::vector{Reply::integer(1), Reply::bulk("me"), Reply::integer(2), Reply::bulk("me")}));
  // A function that no version has is the caller's mistake, not a reason to try for ever.
  EXPECT_EQ(must(client.call(Command("FCALL", "drover_none", 0))), Reply::error("ERR Function not found"));
}

}  // namespace
}  // namespace drover::redis
