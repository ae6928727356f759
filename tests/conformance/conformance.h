// The frame of a conformance case: a fresh queue, and short ways to say what happens to it.
//
// A case is written once and runs on every store. Its theme is a test suite:
//
//   CONFORMANCE_SUITE(Delay);
//   TEST_P(Delay, NeverStartsBeforeItsTime) { … }
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/queue_fixture.h"
#include "support/claim_registered.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::test {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

inline constexpr Millis kLease{30'000};

// Everything that a caller can see: to show that a refused call changed nothing.
struct World {
  std::vector<Task> tasks;
  std::vector<RunSummary> runs;
  std::int64_t last_event_seq = 0;
  std::vector<std::string> log;

  bool operator==(const World&) const = default;
};
void PrintTo(const World& world, std::ostream* out);

inline std::optional<ErrorClass> class_of(const std::optional<TaskError>& error) {
  return error ? std::optional(error->error_class) : std::nullopt;
}
inline std::string message_of(const std::optional<TaskError>& error) {
  return error ? error->message : "no error";
}

class ConformanceTest : public ::testing::TestWithParam<QueueFixtureFactory> {
 protected:
  ConformanceTest() : fixture_(GetParam().open()) {}

  // After every case, on every store: the store agrees with itself and the events tell the tasks' story.
  void TearDown() override;

  [[nodiscard]] TaskQueue& queue() { return fixture_->queue(); }
  [[nodiscard]] Store& store() { return fixture_->store(); }
  [[nodiscard]] Time now() { return fixture_->now(); }
  void advance(Millis by) { fixture_->advance(by); }
  void set_clock(Millis by) { fixture_->set_clock(by); }
  void sweep() { fixture_->sweep(); }
  void watch_health() { fixture_->watch_health(); }
  void reopen() { fixture_->reopen(); }
  std::int64_t fold_history() { return fixture_->fold_history(); }
  [[nodiscard]] std::string signed_as(const std::string& by) { return fixture_->signed_as(by); }
  // Time passes, and the sweepers see what came due.
  void pass(Millis by);

  // Producers. These succeed, or the test ends.
  TaskId enqueue(const TaskSpec& spec);
  std::vector<TaskId> enqueue_all(const std::vector<TaskSpec>& group);
  // A task of type "work" with nothing special about it.
  TaskId enqueue_work() { return enqueue({.type = "work"}); }
  TaskId enqueue_after(const TaskId& parent) { return enqueue({.type = "work", .depends_on = {parent}}); }
  [[nodiscard]] Task get(const TaskId& id) { return must(queue().get(id)); }
  [[nodiscard]] TaskState state(const TaskId& id) { return get(id).state; }
  CancelOutcome cancel(const TaskId& id, const std::string& reason = "enough") {
    return must(queue().cancel(id, reason));
  }
  std::vector<CancelEffect> preview_cancel(const TaskId& id) { return must(queue().preview_cancel(id)); }
  Task retry(const TaskId& id) { return must(queue().retry(id)); }
  // The same document but for these limits.
  void set_limits(const std::string& limits_json);
  void apply_config(const JsonText& document);

  // Operators.
  GateStatus close_gate(const std::string& gate, Time until = kUntilOpened);
  GateStatus open_gate(const std::string& gate);
  GateStatus limit_gate(const std::string& gate, std::optional<int> permits);
  // As `gate list` shows it, if it does.
  [[nodiscard]] std::optional<GateStatus> gate(const std::string& name);
  [[nodiscard]] Explanation explain(const TaskId& id) { return must(queue().explain(id)); }
  // What happened to gates: "gate.closed all gate.opened all".
  [[nodiscard]] std::string gate_story();

  // Workers.
  [[nodiscard]] std::vector<ClaimedTask> claim(const ClaimRequest& request) {
    return must(claim_registered(queue(), request));
  }
  [[nodiscard]] std::vector<ClaimedTask> claim(const std::vector<Serve>& serves, int n, Millis lease = kLease);
  // At most n of the queue "work".
  [[nodiscard]] std::vector<ClaimedTask> claim(int n) { return claim({{.queue = "work"}}, n); }
  // The next one of the queue "work"; there must be one.
  ClaimedTask claim_one();
  // Claims the next one of "work", which must be this.
  Lease start(const TaskId& id);
  // A new task that runs.
  Lease start_new(const TaskSpec& spec);
  Lease start_work() { return start_new({.type = "work"}); }
  TaskState complete(const Lease& lease, std::optional<JsonText> result = std::nullopt);
  TaskState fail(const Lease& lease, ErrorClass error_class = ErrorClass::kAgentError,
                 const std::string& text = "it broke");
  TaskState release(const Lease& lease) { return must(queue().release(lease)); }
  TaskState settle(const Settlement& item) { return must(try_settle(item)); }
  [[nodiscard]] Result<TaskState> try_settle(const Settlement& item);
  [[nodiscard]] LeaseState renew(const Lease& lease, Millis by = kLease);
  // The lease runs out and the task is taken back.
  void lose(const Lease& lease);
  // How many of the queue "work" may start now; they do, and are given back.
  int startable(int at_most);
  // Claims everything in "work", one by one, and completes it. The order in which it came.
  std::vector<TaskId> drain();

  // A new task of the queue "work" in that state, and the lease of its last run if it ever ran.
  struct Placed {
    TaskId id;
    std::optional<Lease> lease;
  };
  Placed place_in(TaskState state);

  // What happened to a task, without the prefix: "enqueued claimed completed".
  [[nodiscard]] std::string story(const TaskId& id);
  [[nodiscard]] std::vector<Event> events_of(const TaskId& id);
  [[nodiscard]] Event last_event_of(const TaskId& id) {
    const auto events = events_of(id);
    return events.at(events.size() - 1);
  }
  [[nodiscard]] RunSummary last_run_of(const TaskId& id) { return must(queue().runs(id)).at(0); }
  [[nodiscard]] std::vector<Event> all_events();
  [[nodiscard]] std::vector<Task> all_tasks(const TaskFilter& filter = {});
  [[nodiscard]] std::string log_text(const TaskId& id);
  [[nodiscard]] World world();

 private:
  std::unique_ptr<QueueFixture> fixture_;
  int placed_ = 0;
};

inline std::string store_name(const ::testing::TestParamInfo<QueueFixtureFactory>& info) {
  return info.param.name;
}

inline constexpr TaskState kAllStates[] = {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                           TaskState::kRunning, TaskState::kStalled,   TaskState::kCompleted,
                                           TaskState::kFailed,  TaskState::kCancelled};

}  // namespace drover::test

// Runs a suite whose class has helpers of its own on every store.
#define ON_EVERY_STORE(Theme) \
  INSTANTIATE_TEST_SUITE_P(Stores, Theme, ::testing::ValuesIn(queue_fixture_factories()), store_name)

// A suite that needs nothing but the frame.
#define CONFORMANCE_SUITE(Theme)           \
  class Theme : public ConformanceTest {}; \
  ON_EVERY_STORE(Theme)
