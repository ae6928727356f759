#include "cli/await_task.h"

#include <gtest/gtest.h>

#include "captured_output.h"
#include "engine/open.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using test::code_of;
using test::must;

class AwaitTaskTest : public testing::Test {
 protected:
  TaskId enqueue() {
    TaskSpec spec;
    spec.type = "t";
    return must(queue().enqueue_one(spec)).id;
  }
  void set_gate(const std::string& gate, std::variant<GateOrder::Open, GateOrder::Close, GateOrder::Limit> what) {
    must(queue().set_gate({.gate = gate, .what = what, .why = "deploy", .by = "ada"}));
  }
  TaskQueue& queue() { return opened_->queue(); }

  std::unique_ptr<OpenedQueue> opened_ = must(open_queue("memory:"));
  CapturedOutput captured_;
  Context context_{.common = {}, .environment = {}, .folder = {}, .out = captured_.output(), .err = captured_.output()};
  test::ManualClock clock_;
  Interrupts interrupts_;  // forgets those of other tests
};

TEST_F(AwaitTaskTest, SeesWhatIsThereAlready) {
  const TaskId id = enqueue();
  must(queue().cancel(id, "no more"));
  Task task;
  EXPECT_EQ(must(await_task(queue(), id, {}, context_, task)), WatchEnd::kDone);
  EXPECT_EQ(task.state, TaskState::kCancelled);
  EXPECT_EQ(captured_.take(), "");
}

TEST_F(AwaitTaskTest, EndsInTimeAndSaysWhatItWaitedFor) {
  const TaskId id = enqueue();
  Task task;
  EXPECT_EQ(must(await_task(queue(), id, {.timeout = Millis{0}}, context_, task)), WatchEnd::kTimedOut);
  EXPECT_EQ(task.state, TaskState::kPending);
  const std::string said = captured_.take();
  EXPECT_TRUE(said.contains("no live worker serves queue t")) << said;
  EXPECT_EQ(must(await_task(queue(), id, {.timeout = Millis{5}, .quiet = true}, context_, task)), WatchEnd::kTimedOut);
  EXPECT_EQ(captured_.take(), "");
}

TEST_F(AwaitTaskTest, EndsWithAnError) {
  Task task;
  const TaskId id = TaskId::parse("01920f5e-7a3c-7def-8123-456789abcdef").value();
  EXPECT_EQ(code_of(await_task(queue(), id, {}, context_, task)), ErrorCode::kNotFound);
}

TEST_F(AwaitTaskTest, SaysWhatItWaitsForWhenThatChanges) {
  const TaskId id = enqueue();
  WaitingReport report(queue(), id, context_, clock_);
  const auto said_after = [&](Millis time) {
    clock_.advance(time);
    report.tick();
    return captured_.take();
  };
  const std::string begin = "drover: waiting for task " + id.to_string() + ": ";
  EXPECT_EQ(said_after(Millis{999}), "");
  EXPECT_TRUE(said_after(Millis{1}).starts_with(begin + "no live worker serves queue t"));
  EXPECT_EQ(said_after(Millis{5'000}), "");
  set_gate("queue:t", GateOrder::Close{kUntilOpened});
  EXPECT_TRUE(said_after(Millis{1'000}).starts_with(begin + "queue:t is closed by ada (deploy)"));
  set_gate("all", GateOrder::Close{kUntilOpened});
  EXPECT_TRUE(said_after(Millis{1'000}).starts_with(begin + "all is closed"));
  EXPECT_EQ(said_after(Millis{1'000}), "");
  set_gate("all", GateOrder::Open{});
  set_gate("queue:t", GateOrder::Open{});
  EXPECT_TRUE(said_after(Millis{1'000}).starts_with(begin + "no live worker"));
  must(queue().cancel(id, "enough"));
  EXPECT_EQ(said_after(Millis{1'000}), "");
}

}  // namespace
}  // namespace drover::cli
