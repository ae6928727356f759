// Ends of runs in their short form (store/redis/ended_runs.h): decided from what the claim answered.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "core/transition.h"
#include "store/redis/ended_runs.h"
#include "support/printers.h"
#include "support/together.h"
#include "unit/store_redis/engine_on_redis.h"

namespace drover {
namespace {

using test::must;

class EndedRunsTest : public test::EngineOnRedis {
 protected:
  // Not by the engine, which would remember them.
  std::vector<TaskRecord> claim(int n) {
    std::vector<LeaseId> leases;
    for (int i = 0; i < n; ++i) leases.push_back(new_lease_id(rng_));
    const ClaimRequest request{.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = n};
    return must(store_->claim(request, leases, std::nullopt)).records;
  }
  StepGroup end_of(const TaskRecord& record) {
    const trigger::Complete done{Completion{.result = "[1]", .exit_code = {}}};
    return {.steps = {must(decide(record, done, {.now = clock_.wall(), .unit = 0.5}))}, .capacity = {}};
  }
  void end_all(std::span<const TaskRecord> records) {
    std::vector<StepGroup> ends;
    for (const TaskRecord& record : records) ends.push_back(end_of(record));
    EXPECT_EQ(apply(ends), std::vector(records.size(), Applied::kDone));
  }
  std::vector<Applied> apply(const std::vector<StepGroup>& groups) { return must(store_->apply(groups)); }
  TaskRecord read(const TaskId& id) { return *must(store_->read(std::span(&id, 1), Parts::kAll)).at(0); }
  std::int64_t entries() const { return must(server_.run(redis::Command("XLEN", kLane)).as_integer()); }
  std::vector<Finding> fsck() { return must(engine_->fsck(FsckMode::kCheck)); }

  static constexpr std::string_view kLane = "{ade}:lane:work|5|default|work|1|";
};

TEST_F(EndedRunsTest, TheEndOfAClaimedTaskIsOne) {
  enqueue(1);
  const TaskRecord claimed = claim(1).at(0);
  const StepGroup end = end_of(claimed);
  ASSERT_TRUE(redis::as_ended_run(end));
  EXPECT_EQ(apply({end}), std::vector{Applied::kDone});
  const TaskRecord ended = read(claimed.task.id);
  EXPECT_EQ(ended.task.state, TaskState::kCompleted);
  EXPECT_EQ(ended.task.result, "[1]");
  EXPECT_EQ(ended.revision, claimed.revision + 1);
  const RunSummary run = must(store_->runs(claimed.task.id, 10)).at(0);
  EXPECT_EQ(run.outcome, "completed");
  EXPECT_EQ(run.worker_id, "host:1:a");
  EXPECT_EQ(run.started_at, claimed.task.started_at);
  EXPECT_TRUE(fsck().empty());
  EXPECT_EQ(apply({end}), std::vector{Applied::kConflict});
}

TEST_F(EndedRunsTest, ARenewalDoesNotDisturbIt) {
  enqueue(1);
  const TaskRecord claimed = claim(1).at(0);
  const Lease lease{claimed.task.id, claimed.lease};
  must(store_->renew("host:1:a", std::span(&lease, 1), Millis{30'000}));
  EXPECT_EQ(apply({end_of(claimed)}), std::vector{Applied::kDone});
  EXPECT_TRUE(fsck().empty());
}

// A note leaves the revision alone, whoever brought it.
TEST_F(EndedRunsTest, WhatTheRunSaidOfItselfIsKept) {
  enqueue(2);
  const std::vector<TaskRecord> claimed = claim(2);
  const Note note{.lease = {claimed[0].task.id, claimed[0].lease},
                  .progress = Progress{50, "half"},
                  .checkpoint = R"({"page":7})",
                  .log = {{LogStream::kOut, "text"}}};
  EXPECT_EQ(must(store_->note(std::span(&note, 1))), std::vector{true});
  EXPECT_EQ(apply({end_of(claimed[0]), end_of(claimed[1])}), (std::vector{Applied::kDone, Applied::kDone}));
  EXPECT_EQ(read(claimed[0].task.id).task.checkpoint, R"({"page":7})");
  EXPECT_EQ(must(store_->log(claimed[0].task.id, 0, 10)).records.size(), 1U);
  EXPECT_TRUE(fsck().empty());
}

TEST_F(EndedRunsTest, ACancelMeanwhileIsAConflict) {
  enqueue(1);
  const TaskRecord claimed = claim(1).at(0);
  must(engine_->cancel(claimed.task.id, "enough"));
  EXPECT_EQ(apply({end_of(claimed)}), std::vector{Applied::kConflict});
  EXPECT_TRUE(fsck().empty());
}

// Those beside it end all the same, and are counted.
TEST_F(EndedRunsTest, OnlyWhatHasMovedIsAConflict) {
  enqueue(3);
  const std::vector<TaskRecord> claimed = claim(3);
  must(engine_->cancel(claimed[1].task.id, "enough"));
  EXPECT_EQ(apply({end_of(claimed[0]), end_of(claimed[1]), end_of(claimed[2])}),
            (std::vector{Applied::kDone, Applied::kConflict, Applied::kDone}));
  EXPECT_EQ(read(claimed[1].task.id).task.state, TaskState::kRunning);
  EXPECT_TRUE(fsck().empty());
}

TEST_F(EndedRunsTest, ARunEndsOnce) {
  enqueue(1);
  const StepGroup end = end_of(claim(1).at(0));
  EXPECT_EQ(apply({end, end}), (std::vector{Applied::kDone, Applied::kConflict}));
  EXPECT_TRUE(fsck().empty());
}

// Of a lane's stream goes what ended, and nothing else, in whatever order it ends: at once what stands before all
// others.
TEST_F(EndedRunsTest, EntriesGoAfterTheirTasks) {
  enqueue(8);
  const std::vector<TaskRecord> claimed = claim(6);
  EXPECT_EQ(entries(), 8);
  std::vector<StepGroup> ends;
  for (const std::size_t i : {4U, 0U, 2U, 1U}) ends.push_back(end_of(claimed[i]));
  EXPECT_EQ(apply(ends), std::vector(4, Applied::kDone));
  EXPECT_EQ(entries(), 5) << "the fifth stays behind the fourth";
  EXPECT_TRUE(fsck().empty());

  // The fourth comes back to its place, before those that never ran.
  const auto released = must(decide(claimed[3], trigger::Release{}, {.now = clock_.wall(), .unit = 0.5}));
  EXPECT_EQ(apply({{.steps = {released}, .capacity = {}}}), std::vector{Applied::kDone});
  const std::vector<TaskRecord> again = claim(3);
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(again[0].task.id, claimed[3].task.id);

  EXPECT_EQ(apply({end_of(claimed[5]), end_of(again[0]), end_of(again[1]), end_of(again[2])}),
            std::vector(4, Applied::kDone));
  EXPECT_TRUE(fsck().empty());
  EXPECT_EQ(must(server_.run(redis::Command("EXISTS", kLane)).as_integer()), 0);
}

// Others wait behind them that nobody has claimed yet.
TEST_F(EndedRunsTest, EntriesThatWaitStay) {
  enqueue(8);
  std::vector<StepGroup> ends;
  for (const TaskRecord& record : claim(5)) ends.push_back(end_of(record));
  EXPECT_EQ(apply(ends), std::vector(5, Applied::kDone));
  EXPECT_EQ(entries(), 3);
  EXPECT_EQ(claim(8).size(), 3U);
  EXPECT_TRUE(fsck().empty());
}

// One runs on and on while others behind it end, whose entries do not pile up.
TEST_F(EndedRunsTest, EntriesThatOutliveTheirTasksAreFew) {
  constexpr int kLeftMax = 1'000;
  enqueue(1'300);
  const TaskRecord first = claim(1).at(0);
  for (int i = 0; i < 13; ++i) end_all(claim(100));
  EXPECT_LE(entries(), kLeftMax);
  EXPECT_TRUE(fsck().empty());
  EXPECT_EQ(apply({end_of(first)}), std::vector{Applied::kDone});
  EXPECT_EQ(must(server_.run(redis::Command("EXISTS", kLane)).as_integer()), 0);
}

TEST_F(EndedRunsTest, EntriesThatOutliveTheirTasksAreFewWhileOthersWait) {
  constexpr int kLeftMax = 1'000;
  enqueue(3'000);
  for (int i = 0; i < 25; ++i) end_all(claim(100));
  EXPECT_LE(entries(), 500 + kLeftMax);
  EXPECT_TRUE(fsck().empty());
  // What came back and is cancelled was what others stood behind.
  const std::vector<TaskRecord> claimed = claim(3);
  end_all(std::span(claimed).subspan(1));
  const auto released = must(decide(claimed[0], trigger::Release{}, {.now = clock_.wall(), .unit = 0.5}));
  EXPECT_EQ(apply({{.steps = {released}, .capacity = {}}}), std::vector{Applied::kDone});
  must(engine_->cancel(claimed[0].task.id, ""));
  EXPECT_EQ(entries(), 497);
  EXPECT_TRUE(fsck().empty());
}

// Of several workers in one process, with slots reserved or not: each has what it was given.
TEST_F(EndedRunsTest, ClaimsOfDifferentWorkersDoNotMeet) {
  constexpr int kWorkers = 12;
  enqueue(2 * kWorkers);
  std::vector<std::vector<TaskRecord>> taken(kWorkers);
  test::together(kWorkers, [&](int worker) {
    const std::vector<LeaseId> leases{new_lease_id(rng_), new_lease_id(rng_)};
    const ClaimRequest request{
        .worker_id = fmt::format("host:1:{}", worker % 8), .serves = {{.queue = "work"}}, .n = 2};
    const auto reserved = worker % 3 == 0 ? std::optional(ReservedSlots{.rank = 2, .n_others = 1}) : std::nullopt;
    taken[static_cast<std::size_t>(worker)] = must(store_->claim(request, leases, reserved)).records;
  });
  std::set<TaskId> ids;
  for (int worker = 0; worker < kWorkers; ++worker) {
    const auto& records = taken[static_cast<std::size_t>(worker)];
    EXPECT_EQ(records.size(), worker % 3 == 0 ? 1U : 2U);
    for (const TaskRecord& record : records) {
      EXPECT_EQ(record.task.worker_id, fmt::format("host:1:{}", worker % 8));
      EXPECT_TRUE(ids.insert(record.task.id).second);
    }
  }
  EXPECT_TRUE(fsck().empty());
}

}  // namespace
}  // namespace drover
