// Random lives of one task, seeded: whatever happens in whatever order, the promises about counters hold.
#include "base/rng.h"
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

constexpr int kLives = 500;
constexpr int kTriggersPerLife = 200;

Trigger random_trigger(Rng& rng) {
  switch (rng.below(kTriggerCount)) {
    case 0:
      return trigger::ParentDone{};
    case 1:
      return trigger::ParentEnded{task_id(9)};
    case 2:
      return trigger::Due{};
    case 3:
      return trigger::Claim{new_lease_id(rng), "w"};
    case 4:
      return trigger::Complete{};
    case 5:
      return failure(static_cast<ErrorClass>(rng.below(kErrorClassCount)));
    case 6:
      return trigger::Release{};
    case 7:
      if (rng.below(2) == 0) return trigger::Suspend{.unmet_parents = static_cast<int>(rng.below(3))};
      return trigger::ConfirmCancel{};
    case 8:
      return trigger::LeaseLost{};
    case 9:
      return trigger::Cancel{"why"};
    case 10:
      return trigger::Deadline{};
    case 11:
      return trigger::Retry{static_cast<int>(rng.below(3))};
    case 12:
    case 13:
      return trigger::Report{{.agent = AgentState{.preset = "claude"},
                              .usage = Usage{.tokens = {.output = static_cast<std::int64_t>(rng.below(1'000))}}}};
    default:
      return trigger::ParentRetried{static_cast<int>(rng.below(3))};
  }
}

TaskRecord random_new_record(Rng& rng) {
  TaskRecord record = new_record();
  record.unmet_parents = static_cast<int>(rng.below(3));
  Task& task = record.task;
  task.max_attempts = 1 + static_cast<int>(rng.below(4));
  task.max_stalls = static_cast<int>(rng.below(4));
  task.max_defers = static_cast<int>(rng.below(4));
  task.max_suspends = static_cast<int>(rng.below(4));
  task.at_most_once = rng.below(4) == 0;
  task.on_parent_failure = static_cast<OnParentFailure>(rng.below(3));
  if (rng.below(2) == 0) task.run_at = kNow + Millis{static_cast<Millis::rep>(rng.below(1'000))};
  if (rng.below(4) == 0) {
    record.deadline = std::chrono::hours(1);
    task.deadline_at = kNow + *record.deadline;
  }
  if (rng.below(4) == 0) task.fallback_result = "0";
  return record;
}

void check_counters(const TaskRecord& record) {
  const Task& task = record.task;
  EXPECT_GE(task.attempts, 0);
  EXPECT_LE(task.attempts, task.max_attempts);
  EXPECT_LE(task.stalls, task.max_stalls + 1);
  EXPECT_LE(task.defers, task.max_defers + 1);
  EXPECT_LE(task.suspends, task.max_suspends + 1);
  EXPECT_EQ(task.state == TaskState::kRunning, !record.lease.is_none());
  EXPECT_EQ(task.state == TaskState::kRunning, task.worker_id.has_value());
  EXPECT_EQ(is_terminal(task.state), task.finished_at.has_value());
  EXPECT_EQ(task.state == TaskState::kBlocked, !is_terminal(task.state) && record.unmet_parents > 0);
}

void check_step(const TaskRecord& before, const Trigger& trigger, const Step& step) {
  const Task& after = step.next.task;
  const bool claimed = std::holds_alternative<trigger::Claim>(trigger);
  EXPECT_EQ(after.run, before.task.run + (claimed ? 1 : 0));
  EXPECT_GE(after.generation, before.task.generation);
  EXPECT_LE(step.events.size(), 1u);
  EXPECT_GE(after.timeout, before.task.timeout);
  // Terminal is final but for a new generation.
  if (is_terminal(before.task.state)) {
    EXPECT_EQ(after.generation, before.task.generation + 1);
  }
  if (before.task.cancel_requested_at && !is_terminal(before.task.state)) {
    EXPECT_NE(name_of(after.state), name_of(TaskState::kPending));
    EXPECT_NE(name_of(after.state), name_of(TaskState::kScheduled));
    EXPECT_NE(name_of(after.state), name_of(TaskState::kStalled));
  }
}

TEST(RandomLife, KeepsItsPromises) {
  int accepted = 0;
  for (std::uint64_t seed = 1; seed <= kLives && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    SeededRng rng(seed);
    DecisionContext context{.now = kNow};
    TaskRecord record = first_step(random_new_record(rng), context).next;
    for (int i = 0; i < kTriggersPerLife; ++i) {
      context.now += Millis{static_cast<Millis::rep>(rng.below(5'000))};
      context.unit = rng.unit();
      const Trigger trigger = random_trigger(rng);
      SCOPED_TRACE(name_of(trigger));
      const auto step = decide(record, trigger, context);
      if (!step) {
        const bool may_not =
            record.task.state == TaskState::kRunning && std::holds_alternative<trigger::Suspend>(trigger);
        ASSERT_EQ(step.error().code, may_not ? ErrorCode::kInvalidArgument : ErrorCode::kWrongState);
        continue;
      }
      ++accepted;
      check_step(record, trigger, *step);
      record = step->next;
      check_counters(record);
    }
  }
  EXPECT_GT(accepted, kLives * 10);
}

// A poison task that only ever kills, stalls, is deferred or fails still ends, within the sum of its caps.
TEST(RandomLife, EveryTaskEnds) {
  for (std::uint64_t seed = 1; seed <= kLives; ++seed) {
    SeededRng rng(seed);
    TaskRecord record = random_new_record(rng);
    record.unmet_parents = 0;
    record = first_step(record, kContext).next;
    const Task& task = record.task;
    const int runs_max = task.max_attempts + task.max_stalls + task.max_defers + 2;
    while (!is_terminal(record.task.state)) {
      ASSERT_LE(record.task.run, runs_max) << "seed " << seed;
      if (record.task.state == TaskState::kScheduled) record = must(record, trigger::Due{}).next;
      record = must(record, trigger::Claim{new_lease_id(rng), "w"}).next;
      const bool lost = rng.below(3) == 0;
      const auto error_class = static_cast<ErrorClass>(rng.below(kErrorClassCount));
      record = must(record, lost ? Trigger(trigger::LeaseLost{}) : failure(error_class)).next;
    }
    EXPECT_EQ(record.task.state, TaskState::kFailed);
    EXPECT_TRUE(record.task.error.has_value());
  }
}

}  // namespace
}  // namespace drover
