// fsck over Redis where it is read in steps, while others work: output and events. What both stores find is in
// tests/differential/fsck_test.cc; damaged keys are in faults_test.cc.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>

#include "support/printers.h"
#include "support/together.h"
#include "unit/store_redis/engine_on_redis.h"

namespace drover {
namespace {

using test::must;
using Codes = std::vector<std::string>;

class RedisFsckTest : public test::EngineOnRedis {
 protected:
  std::vector<ClaimedTask> claim(int n) {
    return must(engine_->claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = n}));
  }
  void say(const Lease& lease, const std::string& text) {
    must(engine_->append_log(lease, std::vector<LogChunk>{{LogStream::kOut, text}}));
  }
  std::string text_of(const TaskId& id) {
    std::string text;
    for (const LogRecord& piece : must(engine_->log(id, 0, 1'000)).records) text += piece.text;
    return text;
  }
  void run(const redis::Command& command) const { ASSERT_FALSE(server_.run(command).is_error()); }
  Codes fsck(FsckMode mode = FsckMode::kCheck) {
    Codes codes;
    for (const Finding& finding : must(engine_->fsck(mode))) codes.push_back(finding.code);
    return codes;
  }
  void expect_mended(const Codes& codes) {
    EXPECT_EQ(fsck(), codes);
    for (const Finding& finding : must(engine_->fsck(FsckMode::kRepair))) {
      EXPECT_TRUE(finding.repaired) << finding.code << " " << finding.detail;
    }
    EXPECT_EQ(fsck(), Codes{});
  }
  // Of events, behind all others.
  void add_entry(const std::string& name, const std::string& value) {
    const auto next = std::to_string(must(store_->last_event_seq()) + 1);
    run(redis::Command("XADD", "{ade}:events", next + "-0", "at", "5", name, value));
    run(redis::Command("HSET", "{ade}:seq", "event", next));
  }
};

// ---- output

TEST_F(RedisFsckTest, TotalsThatAreGoneAreMadeFromThePieces) {
  enqueue(1);
  const ClaimedTask task = claim(1).at(0);
  say(task.lease, "one ");
  say(task.lease, "two ");
  run(redis::Command("DEL", "{ade}:log_totals:" + task.task.id.to_string()));
  expect_mended({"log_total_wrong", "number_wrong", "held_bytes_wrong"});
  say(task.lease, "three");
  EXPECT_EQ(text_of(task.task.id), "one two three");
  EXPECT_EQ(fsck(), Codes{});
}

TEST_F(RedisFsckTest, TotalsOfAnotherTypeAreMadeFromThePieces) {
  enqueue(1);
  const ClaimedTask task = claim(1).at(0);
  say(task.lease, "one ");
  run(redis::Command("SET", "{ade}:log_totals:" + task.task.id.to_string(), "x"));
  expect_mended({"wrong_type"});
  say(task.lease, "two");
  EXPECT_EQ(text_of(task.task.id), "one two");
  EXPECT_EQ(fsck(), Codes{});
}

TEST_F(RedisFsckTest, HeadAndTailAreSummedApart) {
  enqueue(1);
  const ClaimedTask task = claim(1).at(0);
  for (int i = 0; i < 20; ++i) say(task.lease, std::string(8'000, 'x'));
  EXPECT_EQ(fsck(), Codes{});
  const std::string totals = "{ade}:log_totals:" + task.task.id.to_string();
  const redis::Reply tail = server_.run(redis::Command("HGET", totals, "tail_bytes:1"));
  ASSERT_GT(must(tail.as_integer()), 0) << "there is a tail";
  run(redis::Command("HSET", totals, "tail_bytes:1", "9"));
  expect_mended({"log_total_wrong", "held_bytes_wrong"});
  EXPECT_EQ(server_.run(redis::Command("HGET", totals, "tail_bytes:1")), tail);
}

// More output than one step looks at, and more findings than are told one by one.
TEST_F(RedisFsckTest, OutputOfManyTasksIsLookedAtInSteps) {
  constexpr int kTasks = 130;
  enqueue(kTasks);
  const std::vector<ClaimedTask> tasks = claim(kTasks);
  for (const ClaimedTask& task : tasks) {
    say(task.lease, std::string(60'000, 'x'));
    run(redis::Command("HSET", "{ade}:log_totals:" + task.task.id.to_string(), "head_bytes:1", "1"));
  }
  std::map<std::string, int> told;
  for (const Finding& finding : must(engine_->fsck(FsckMode::kRepair))) {
    EXPECT_TRUE(finding.repaired) << finding.code << " " << finding.detail;
    ++told[finding.code + (finding.detail == "and 30 more" ? " and more" : "")];
  }
  EXPECT_EQ(told, (std::map<std::string, int>{{"log_total_wrong", 100}, {"log_total_wrong and more", 1}}));
  EXPECT_EQ(fsck(), Codes{});
}

// ---- events

TEST_F(RedisFsckTest, MoreEventsThanAPageHas) {
  enqueue(2'500);
  EXPECT_EQ(fsck(), Codes{});
  run(redis::Command("XDEL", "{ade}:events", "1000-0"));
  run(redis::Command("XDEL", "{ade}:events", "1100-0"));
  run(redis::Command("XDEL", "{ade}:events", "2000-0"));
  const auto findings = must(engine_->fsck(FsckMode::kRepair));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].detail, "no event between 900 and 1101");
  EXPECT_EQ(findings[1].detail, "no event between 1900 and 2001");
  EXPECT_FALSE(findings[0].repaired);
}

TEST_F(RedisFsckTest, WhatRetentionTookIsNotMissing) {
  enqueue(250);
  must(store_->expire({.events_max = 120}, 1'000));
  EXPECT_EQ(fsck(), Codes{});
  must(store_->expire({.events_max = 0}, 1'000));
  EXPECT_EQ(fsck(), Codes{});
}

// Damage to one entry costs nobody else: those before it are read, and retention takes it at its time.
TEST_F(RedisFsckTest, AnUnreadableEntryIsTold) {
  enqueue(3);
  add_entry("m", "no ids");
  EXPECT_EQ(fsck(), Codes{"event_unreadable"});
  EXPECT_EQ(fsck(FsckMode::kRepair), Codes{"event_unreadable"});
  EXPECT_EQ(must(store_->events(0, 3)).size(), 3U);
  EXPECT_EQ(test::code_of(store_->events(0, 10)), ErrorCode::kStoreDamaged);
  must(store_->expire({.events_max = 0}, 1'000));
  EXPECT_EQ(fsck(), Codes{});
}

TEST_F(RedisFsckTest, NothingIsFoundWhileTasksMove) {
  constexpr int kRounds = 12;
  constexpr int kTasks = 200;
  std::atomic<bool> is_done = false;
  test::together(2, [&](int thread) {
    if (thread == 1) {
      while (!is_done) EXPECT_EQ(fsck(), Codes{});
      return;
    }
    for (int i = 0; i < kRounds; ++i) {
      enqueue(kTasks);
      std::vector<Settlement> ends;
      for (const ClaimedTask& task : claim(kTasks)) {
        if (ends.empty()) say(task.lease, "text");
        ends.push_back({task.lease, Completion{}});
      }
      for (const auto& state : engine_->settle(ends)) EXPECT_EQ(must(state), TaskState::kCompleted);
      must(store_->expire({.tasks_max = 500, .events_max = 2'500}, 1'000));
    }
    is_done = true;
  });
  EXPECT_EQ(fsck(), Codes{});
}

}  // namespace
}  // namespace drover
