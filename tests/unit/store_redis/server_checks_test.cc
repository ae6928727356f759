// What makes a Redis unfit, and how durable it says it is.
#include "store/redis/server_checks.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"

namespace drover::redis {
namespace {

using Level = Durability::Level;
using test::code_of;
using test::must;
using test::RedisServer;

constexpr Millis kLongEnough{10'000};

Result<ServerReport> check(const Address& address) {
  const auto connection = must(Connection::open(address, Patience::of(kLongEnough)));
  return check_server(*connection, Patience::of(kLongEnough));
}

Durability durability(const RedisServer& server) {
  return must(check(server.address())).durability;
}

TEST(RedisServerChecksTest, NameTheServer) {
  RedisServer server;
  const ServerReport report = must(check(server.address()));
  EXPECT_EQ(report.product, "Redis");
  EXPECT_TRUE(report.version.contains('.')) << report.version;
}

TEST(RedisServerChecksTest, AServerThatEvictsIsRefusedWithTheReasonAndTheFix) {
  RedisServer server({.maxmemory_policy = "allkeys-lru"});
  const Result<ServerReport> report = check(server.address());
  ASSERT_EQ(code_of(report), ErrorCode::kInvalidConfig);
  EXPECT_TRUE(report.error().message.contains("allkeys-lru")) << report.error().message;
  EXPECT_TRUE(report.error().message.contains("CONFIG SET maxmemory-policy noeviction")) << report.error().message;
  server.run(Command("CONFIG", "SET", "maxmemory-policy", "noeviction"));
  EXPECT_TRUE(check(server.address()).has_value());
}

TEST(RedisServerChecksTest, AReplicaIsRefused) {
  RedisServer primary;
  RedisServer replica({.more = {"--replicaof", "127.0.0.1", std::to_string(primary.port())}});
  const Result<ServerReport> report = check(replica.address());
  ASSERT_EQ(code_of(report), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(report.error().message.contains("primary"));
}

TEST(RedisServerChecksTest, TellTheDurabilityThatIsInForce) {
  RedisServer server({.appendonly = true, .appendfsync = "always"});
  const auto set = [&](std::string_view name, std::string_view value) {
    ASSERT_EQ(server.run(Command("CONFIG", "SET", name, value)), Reply::status("OK"));
  };
  EXPECT_EQ(durability(server).level, Level::kAlways);
  EXPECT_TRUE(durability(server).warnings.empty());
  set("min-replicas-to-write", "1");
  EXPECT_EQ(durability(server).level, Level::kReplicated);
  set("min-replicas-to-write", "0");
  set("no-appendfsync-on-rewrite", "yes");
  EXPECT_EQ(durability(server).level, Level::kSnapshot);
  EXPECT_EQ(durability(server).warnings.size(), 1U);
  set("no-appendfsync-on-rewrite", "no");
  set("appendfsync", "everysec");
  EXPECT_EQ(durability(server).level, Level::kEverysec);
  set("appendfsync", "no");
  EXPECT_EQ(durability(server).level, Level::kSnapshot);
  set("appendonly", "no");
  EXPECT_EQ(durability(server).level, Level::kNone);
  set("save", "3600 1");
  EXPECT_EQ(durability(server).level, Level::kSnapshot);
  EXPECT_TRUE(durability(server).warnings.front().contains("appendonly yes"));
}

TEST(RedisServerChecksTest, AUserWhoMayNotAskIsWarned) {
  RedisServer server({.more = {"--user", "plain", "on", ">pw", "~*", "+@all", "-config", "--user", "blind", "on", ">pw",
                               "~*", "+@all", "-info"}});
  Address address = server.address();
  address.user = "plain";
  address.password = "pw";
  const Durability unknown = must(check(address)).durability;
  EXPECT_EQ(unknown.level, Level::kUnknown);
  ASSERT_EQ(unknown.warnings.size(), 1U);
  EXPECT_TRUE(unknown.warnings.front().contains("+config|get"));
  address.user = "blind";
  EXPECT_EQ(code_of(check(address)), ErrorCode::kUnauthorised);
}

TEST(RedisServerChecksTest, LevelsHaveNames) {
  EXPECT_EQ(name_of(Level::kNone), "none");
  EXPECT_EQ(name_of(Level::kReplicated), "replicated");
}

}  // namespace
}  // namespace drover::redis
