// An engine over a store in memory that meets faults when a test says so.
#pragma once

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/sweepers.h"
#include "store/sqlite/sqlite_store.h"
#include "support/fault_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::test {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

class EngineTest : public ::testing::Test {
 protected:
  void TearDown() override {
    faults_.heal();
    for (const Finding& finding : must(engine_.fsck(FsckMode::kCheck)))
      ADD_FAILURE() << finding.code << ": " << finding.detail;
  }

  TaskId enqueue(const TaskSpec& spec) { return must(engine_.enqueue_one(spec)).id; }
  std::vector<TaskId> enqueue_all(const std::vector<TaskSpec>& group) {
    std::vector<TaskId> ids;
    for (const Enqueued& enqueued : must(engine_.enqueue(group))) ids.push_back(enqueued.id);
    return ids;
  }
  std::vector<ClaimedTask> claim(int n) {
    return must(engine_.claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = n}));
  }
  Lease start_work() {
    enqueue({.type = "work"});
    return claim(1).at(0).lease;
  }
  Task get(const TaskId& id) { return must(engine_.get(id)); }
  TaskState state(const TaskId& id) { return get(id).state; }
  std::size_t count(const TaskFilter& filter) {
    std::size_t total = 0;
    std::optional<std::string> cursor;
    do {
      const TaskPage page = must(engine_.list(filter, 1'000, cursor));
      total += page.tasks.size();
      cursor = page.cursor;
    } while (cursor);
    return total;
  }
  // Others change what the verb is about, that many times in a row.
  void conflict(int times) { faults_.script(StoreCall::kApply, {.kind = StoreFault::Kind::kConflict}, times); }
  // The next such call takes effect, but the caller does not learn of it.
  void lose_answer(StoreCall call) { faults_.script(call, {.kind = StoreFault::Kind::kLoseAnswer}); }

  ManualClock clock_;
  LockedRng rng_{1};
  std::unique_ptr<Store> store_ = open_store(clock_);
  FaultStore faults_{*store_};
  Engine engine_{faults_, rng_};

 private:
  static std::unique_ptr<Store> open_store(Clock& clock) {
    SqliteOptions options;
    options.clock = &clock;
    return must(open_sqlite(std::move(options)));
  }
};

}  // namespace drover::test
