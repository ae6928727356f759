// Runs that take too long, are silent for too long, or come too late.
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class TimeLimitTest : public E2eTest {
 protected:
  std::string error_class_of(const std::string& id) { return at(*sandbox.show(id).find("error"), "class"); }
};

TEST_F(TimeLimitTest, WallTimeoutEndsARun) {
  const std::string id = sandbox.enqueue({"work", "--timeout", "400ms", "--max-attempts", "1"});
  work_until_empty("work", agentsim({"hang=true", "grandchild=" + sandbox.file("grandchild")}));
  EXPECT_EQ(sandbox.state_of(id), "failed");
  EXPECT_EQ(error_class_of(id), "timeout");
}

TEST_F(TimeLimitTest, SilenceEndsARun) {
  const std::string id = sandbox.enqueue({"work", "--idle-timeout", "400ms", "--max-attempts", "1"});
  work_until_empty("work", agentsim({"hang=true"}));
  EXPECT_EQ(sandbox.state_of(id), "failed");
  EXPECT_EQ(error_class_of(id), "timeout");
  EXPECT_TRUE(contains(at(*sandbox.show(id).find("error"), "message"), "400ms"));
}

TEST_F(TimeLimitTest, OutputIsASignOfLife) {
  const std::string id = sandbox.enqueue({"work", "--idle-timeout", "600ms", "--max-attempts", "1"});
  // Longer than the limit in all, never silent for that long.
  work_until_empty("work", {"/bin/sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.25; done"});
  EXPECT_EQ(sandbox.state_of(id), "completed");
}

TEST_F(TimeLimitTest, TimeoutsAreTriedAgain) {
  const std::string id =
      sandbox.enqueue({"work", "--timeout", "300ms", "--max-attempts", "2", "--retry", "fixed:50ms"});
  work_until_empty("work", agentsim({"hang=true"}));
  EXPECT_EQ(sandbox.state_of(id), "failed");
  EXPECT_EQ(at(sandbox.show(id), "attempts"), "2");
}

TEST_F(TimeLimitTest, DeadlineEndsARunningTaskAtOnce) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work", "--deadline", "800ms", "--fallback", R"({"late":true})"});
  const auto worker = sandbox.start(work("work", agentsim({"hang=true", "pid_file=" + sandbox.file("pid")})));
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  DeathWatch tree(Sandbox::processes_of(id));
  ASSERT_TRUE(events.next("task.deadline_passed", id, Millis{3'000}));
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "completed");
  EXPECT_EQ(at(task, "fallback"), "true");
  EXPECT_EQ(at(task, "result"), R"({"late":true})");
  EXPECT_TRUE(tree.all_dead(Millis{3'000}));
}

TEST_F(TimeLimitTest, DeadlineWithoutFallbackFails) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work", "--deadline", "300ms"});
  const auto other = sandbox.start(work("other", agentsim()));  // any worker keeps the deadlines
  ASSERT_TRUE(events.next("task.deadline_passed", id, Millis{3'000}));
  EXPECT_EQ(error_class_of(id), "deadline");
}

TEST_F(TimeLimitTest, NothingStartsBeforeItsTime) {
  EventStream events = sandbox.events();
  const auto worker = sandbox.start(work("work", agentsim()));
  const Millis before = mono_now();
  const std::string id = sandbox.enqueue({"work", "--delay", "700ms"});
  EXPECT_EQ(sandbox.state_of(id), "scheduled");
  ASSERT_TRUE(events.next("task.claimed", id));
  EXPECT_GE(mono_now() - before, Millis{700});
  EXPECT_LE(mono_now() - before, Millis{3'000});
}

}  // namespace
}  // namespace drover::e2e
