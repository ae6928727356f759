// What a claim costs does not grow with what waits: counted in steps of SQLite's machine, lanes visited and lanes
// woken.
#include <fmt/format.h>

#include <iostream>

#include "core/lane.h"
#include "core/session_record.h"
#include "unit/store/lanes_fixture.h"

namespace drover::test {
namespace {

class LaneBounds : public Lanes {
 protected:
  // Steps per claim of one task, with a warm start.
  std::int64_t steps_per_claim() {
    claim(1);
    const std::int64_t before = meter_.vm_steps;
    for (int i = 0; i < 32; ++i) EXPECT_EQ(claim(1).size(), 1U);
    return (meter_.vm_steps - before) / 32;
  }

  // Of other owners than the one whose tasks are claimed.
  void add_budgets_and_sessions(int count) {
    for (int i = 0; i < count; ++i) {
      const int number = ++others_;
      set_gate(with_budget(fmt::format("owner:other{}", number)));
      set_gate({.name = fmt::format("session:other{}::s", number), .session = session_record_json({})});
    }
  }
  static GateRecord with_budget(std::string gate) {
    return {.name = std::move(gate),
            .budgets = {{.budget = {.unit = BudgetUnit::kTokens, .limit = kBudgetMax}, .period = {.id = "all"}}}};
  }
  std::int64_t steps_per_budgeted_claim() {
    set_gate(with_budget("owner:ann"));
    const std::int64_t steps = steps_per_claim();
    open("owner:ann");
    return steps;
  }

  int others_ = 0;

  void add_lanes(int count) {
    for (int i = 0; i < count; i += 100) {
      // Groups of a hundred owners, so that the test spends its time on claims.
      StepGroup group;
      for (int j = 0; j < 100; ++j) {
        TaskRecord record;
        record.task.id = id(++last_);
        record.task.queue = "q";
        record.task.type = "t";
        record.task.owner = "o" + std::to_string(last_);
        record.task.gates = {"provider:p"};
        record.task.created_at = sut_.clock().wall();
        group.steps.push_back(first_step(std::move(record), sut_.context()));
      }
      ASSERT_EQ(must(sut_->apply(std::vector{std::move(group)})), std::vector{Applied::kDone});
    }
  }
};

TEST_F(LaneBounds, ABacklogCostsNothing) {
  add({}, 10'000);
  const std::int64_t small = steps_per_claim();
  add({}, 190'000);
  EXPECT_EQ(steps_per_claim(), small);
}

TEST_F(LaneBounds, ManyLanesCostNothing) {
  add_lanes(1'000);
  const std::int64_t small = steps_per_claim();
  add_lanes(99'000);
  EXPECT_NEAR(static_cast<double>(steps_per_claim()), static_cast<double>(small), static_cast<double>(small) * 0.1);
}

TEST_F(LaneBounds, BudgetsAndSessionsOfOthersCostNothing) {
  add({}, 500);
  const std::int64_t without = steps_per_claim();
  add_budgets_and_sessions(100);
  EXPECT_EQ(steps_per_claim(), without);
  set_gate({.name = "type:t", .per_run = {0, 100, 0, 0}});
  const std::int64_t budgeted = steps_per_budgeted_claim();
  add_budgets_and_sessions(9'900);
  EXPECT_EQ(steps_per_budgeted_claim(), budgeted);
  open("type:t");
  EXPECT_EQ(steps_per_claim(), without);
  std::cout << without << " VM steps for a claim, " << budgeted << " for one under a budget\n";
}

TEST_F(LaneBounds, AGateOverManyLanesClosesAndOpensInBoundedSteps) {
  constexpr int kLanes = 2'000;
  add_lanes(kLanes);
  close("provider:p");
  std::int64_t parked = 0;
  for (int calls = 0; parked < kLanes; ++calls) {
    ASSERT_LE(calls, kLanes);
    const std::int64_t before = meter_.lanes_visited;
    EXPECT_TRUE(claim(10).empty());
    EXPECT_LE(meter_.lanes_visited - before, kVisitsMax);
    parked += meter_.lanes_visited - before;
  }
  EXPECT_EQ(gate("provider:p").waiting_lanes, kLanes);

  open("provider:p");
  std::size_t taken = 0;
  for (int calls = 0; taken < kLanes; ++calls) {
    ASSERT_LE(calls, kLanes);
    const sqlite::Meter before = meter_;
    taken += claim(100).size();
    EXPECT_LE(meter_.lanes_woken - before.lanes_woken, kWakesMax);
    EXPECT_LE(meter_.lanes_visited - before.lanes_visited, kVisitsMax);
  }
  EXPECT_EQ(gate("provider:p").waiting_lanes, 0);
  expect_sound();
}

TEST_F(LaneBounds, ARestlessGateIsNotWokenAllAtOnce) {
  add_lanes(100);
  limit("provider:p", 1);
  EXPECT_EQ(claim(100).size(), 1U);
  const std::int64_t before = meter_.lanes_woken;
  EXPECT_TRUE(claim(100).empty());
  EXPECT_LE(meter_.lanes_woken - before, 1);
}

}  // namespace
}  // namespace drover::test
