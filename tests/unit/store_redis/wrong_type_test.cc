// Every key that docs/reference/redis-keys.md names, overwritten by something of another type: fsck says so, a repair
// gives a store that works, and until then calls are answered clearly. What cannot be made again is set aside, not
// thrown away.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "engine/sweepers.h"
#include "support/printers.h"
#include "unit/store_redis/engine_on_redis.h"

namespace drover {
namespace {

using test::code_of;
using test::must;

// "t:", "lane:", "seq", …: what the first column of its tables names, up to what varies.
std::set<std::string> documented_keys() {
  std::ifstream file(DROVER_DOCS "/reference/redis-keys.md");
  const std::regex row(R"(^\| (`[^|]+`) \| [a-z ,]*\|.*)");
  const std::regex name(R"(`([a-z_]+:?)[^`]*`)");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    // Bars inside names are escaped, or would end the cell.
    line = std::regex_replace(line, std::regex(R"(\\\|)"), "/");
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string cell = cells[1];
    for (std::sregex_iterator it(cell.begin(), cell.end(), name), end; it != end; ++it) names.insert((*it)[1]);
  }
  return names;
}

class RedisWrongTypeTest : public test::EngineOnRedis {
 protected:
  RedisWrongTypeTest() {
    must(engine_->apply_config(R"({"queues":{"work":{"permits":1}}})", 0));
    must(store_->put_document(DocumentKind::kAccessTokens, "{}", 0, {}));
    must(store_->put_document(DocumentKind::kHealth, "{}", 0, {}));
    must(store_->register_worker({.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}, .capacity = 1}));
    enqueue(3);
    work();
  }

  static redis::Command command_of(const std::vector<std::string>& words) {
    redis::Command command(words[0]);
    for (std::size_t i = 1; i < words.size(); ++i) command.add(words[i]);
    return command;
  }
  // The stored key of that kind, or one that would be.
  std::string key_of(const std::string& kind) {
    const auto keys = server_.run(redis::Command("KEYS", "{ade}:" + kind + (kind.ends_with(':') ? "*" : "")));
    const auto found = must(keys.as_array());
    return found.empty() ? "{ade}:" + kind + (kind.ends_with(':') ? "x" : "")
                         : std::string(must(found.front().as_text()));
  }
  void overwrite(const std::string& kind) {
    static const std::set<std::string> kStrings{"t:", "b:", "r:", "c:", "p:", "h:", "request:", "q:"};
    const std::string key = key_of(kind);
    server_.run(redis::Command("DEL", key));
    server_.run(kStrings.contains(kind) ? redis::Command("RPUSH", key, "x") : redis::Command("SET", key, "x"));
  }
  // What a fleet calls, with the codes of what failed.
  std::set<ErrorCode> work() {
    std::set<ErrorCode> codes;
    const auto note = [&](const auto& result) {
      if (!result) codes.insert(result.error().code);
    };
    note(sweepers_.run_once());
    note(engine_->enqueue_one({.type = "work", .tags = {"blue"}, .request_id = std::to_string(++requests_)}));
    const auto claimed = engine_->claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1});
    note(claimed);
    for (const ClaimedTask& task : claimed ? *claimed : std::vector<ClaimedTask>()) {
      note(engine_->append_log(task.lease, std::vector<LogChunk>{{LogStream::kOut, "text"}}));
      const Settlement done{task.lease, Completion{}};
      for (const auto& settled : engine_->settle(std::span(&done, 1))) note(settled);
    }
    note(engine_->list({}, 10, {}));
    note(engine_->events(0, 10));
    note(engine_->gates());
    note(engine_->workers());
    note(engine_->stats());
    note(store_->config());
    note(store_->queues());
    note(store_->document(DocumentKind::kAccessTokens));
    note(store_->document(DocumentKind::kHealth));
    note(store_->state());
    return codes;
  }
  std::set<std::string> fsck(FsckMode mode) {
    std::set<std::string> codes;
    for (const Finding& finding : must(engine_->fsck(mode))) codes.insert(finding.code);
    return codes;
  }
  // As it was before: what is gone for good is said, by a code of its own.
  void expect_repaired(const std::string& kind) {
    std::set<std::string> left = fsck(FsckMode::kCheck);
    if (kind == "config") {
      EXPECT_EQ(left.erase("policy_missing"), 1U);
    }
    if (kind == "access_tokens") {
      EXPECT_EQ(left.erase("access_tokens_missing"), 1U);
    }
    if (kind == "gate_records") {
      EXPECT_EQ(left.erase("limits_wrong"), 1U) << "limits stay, though nobody knows whose";
    }
    if (kind == "b:") {
      EXPECT_EQ(left.erase("body_missing"), 1U);
    }
    if (kind == "epochs") must(store_->accept_regression());
    EXPECT_EQ(left, std::set<std::string>{}) << kind;
    EXPECT_EQ(work(), std::set<ErrorCode>{}) << kind;
  }

  Sweepers sweepers_{*engine_};
  int requests_ = 0;
};

class RedisKeyOfWrongType : public RedisWrongTypeTest, public testing::WithParamInterface<std::string> {};

TEST_P(RedisKeyOfWrongType, IsFoundAndRepaired) {
  overwrite(GetParam());
  EXPECT_EQ(fsck(FsckMode::kCheck).count("wrong_type"), 1U);
  EXPECT_EQ(fsck(FsckMode::kRepair).count("wrong_type"), 1U);
  expect_repaired(GetParam());
}

// By calls, without anybody's doing: each is answered, and after a few all go through.
TEST_P(RedisKeyOfWrongType, StopsNoFleet) {
  overwrite(GetParam());
  for (int i = 0; i < 3; ++i) {
    for (const ErrorCode code : work()) {
      const bool lost = code == ErrorCode::kStoreRegressed && GetParam() == "epochs";
      EXPECT_TRUE(lost || code == ErrorCode::kStoreUnavailable || code == ErrorCode::kStoreDamaged)
          << error_info(code).name;
    }
  }
  (void)fsck(FsckMode::kRepair);  // what no call has met
  expect_repaired(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Keys, RedisKeyOfWrongType, testing::ValuesIn(documented_keys()));

TEST(RedisKeys, OfTheLibraryAreThoseDocumented) {
  std::ifstream file(DROVER_SOURCES "/src/store/redis/lua/0_keys.lua");
  const std::regex entry(R"re([a-z_]+ = '([a-z_]+:?)')re");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    for (std::sregex_iterator it(line.begin(), line.end(), entry), end; it != end; ++it) names.insert((*it)[1]);
  }
  EXPECT_EQ(names, documented_keys());
}

TEST(RedisKeys, AreAllDocumented) {
  const auto keys = documented_keys();
  EXPECT_GT(keys.size(), 50U);
  for (const char* known : {"t:", "seq", "health", "access_tokens", "config", "lane:", "tokens:", "sweep_tokens"}) {
    EXPECT_TRUE(keys.contains(known)) << known;
  }
}

TEST_F(RedisWrongTypeTest, WhatCannotBeMadeAgainIsSetAside) {
  for (const char* kind : {"access_tokens", "health", "config", "gate_records", "events"}) {
    overwrite(kind);
    (void)fsck(FsckMode::kRepair);
    EXPECT_EQ(server_.run(redis::Command("GET", std::string("{ade}:set_aside:") + kind)), redis::Reply::bulk("x"))
        << kind;
  }
}

// ---- what is gone without a trace but its number

TEST_F(RedisWrongTypeTest, APolicyThatIsGoneIsSaidUntilOneIsApplied) {
  server_.run(redis::Command("DEL", "{ade}:config"));
  EXPECT_EQ(fsck(FsckMode::kCheck), std::set<std::string>{"policy_missing"});
  ASSERT_EQ(must(store_->state()).missing.size(), 1U);
  EXPECT_EQ(must(store_->state()).missing[0].code, "policy_missing");
  const Config gone = must(engine_->config());
  EXPECT_EQ(gone.version, 1);
  EXPECT_EQ(must(engine_->apply_config("{}", gone.version)).version, 2);
  EXPECT_EQ(fsck(FsckMode::kCheck), std::set<std::string>{});
  EXPECT_EQ(must(store_->state()).missing.size(), 0U);
}

TEST_F(RedisWrongTypeTest, EventsThatAreGoneAreSaid) {
  const std::int64_t last = must(store_->last_event_seq());
  server_.run(redis::Command("DEL", "{ade}:events"));
  ASSERT_EQ(must(store_->state()).missing.size(), 1U);
  EXPECT_EQ(must(store_->state()).missing[0].detail, "events 1 to " + std::to_string(last) + " are gone");
  enqueue(1);  // those that follow hide nothing
  EXPECT_EQ(fsck(FsckMode::kCheck), std::set<std::string>{"events_missing"});
  EXPECT_EQ(fsck(FsckMode::kRepair), std::set<std::string>{"events_missing"});
  EXPECT_EQ(fsck(FsckMode::kCheck), std::set<std::string>{}) << "said and done";
}

TEST_F(RedisWrongTypeTest, EventsThatRetentionTookAreNotMissing) {
  must(store_->expire({.events_max = 2}, 1'000));
  EXPECT_EQ(fsck(FsckMode::kCheck), std::set<std::string>{});
  must(store_->expire({.events_max = 0}, 1'000));
  EXPECT_EQ(fsck(FsckMode::kCheck), std::set<std::string>{});
}

// ---- a library that is older than what has written here

TEST_F(RedisWrongTypeTest, AnOlderLibraryTouchesNothing) {
  server_.run(redis::Command("HSET", "{ade}:seq", "library", "99.0"));
  EXPECT_EQ(code_of(engine_->enqueue_one({.type = "work"})), ErrorCode::kSchemaTooNew);
}

}  // namespace
}  // namespace drover
