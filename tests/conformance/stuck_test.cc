// Stuck: what everything that waits waits for, by cause, with exact numbers.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Stuck : public ConformanceTest {
 protected:
  using Reason = Explanation::Reason;

  void serve(const std::string& name) {
    must(queue().register_worker({.id = "host:1:w", .version = "1", .serves = {{.queue = name}}, .capacity = 1}));
  }
  [[nodiscard]] StuckReport stuck(const std::optional<std::string>& owner = std::nullopt) {
    return must(queue().stuck(owner));
  }
  void enqueue_many(const TaskSpec& spec, int count) {
    enqueue_all(std::vector<TaskSpec>(static_cast<std::size_t>(count), spec));
  }
  // The one group that there is.
  [[nodiscard]] StuckGroup only_group() {
    const StuckReport report = stuck();
    EXPECT_EQ(report.groups.size(), 1U);
    return report.groups.empty() ? StuckGroup{} : report.groups.front();
  }
  // What it says of its example is what explain says of it.
  void expect_as_explained(const StuckGroup& group) {
    const Explanation answer = explain(group.example);
    EXPECT_EQ(name_of(group.reason), name_of(answer.reason));
    EXPECT_EQ(group.gate, answer.gate);
  }
};
ON_EVERY_STORE(Stuck);

TEST_P(Stuck, NothingWaits) {
  start_work();
  EXPECT_EQ(stuck(), StuckReport{});
}

TEST_P(Stuck, NobodyServesTheQueue) {
  const TaskId first = enqueue({.type = "work"});
  const Time since = now();
  advance(5s);
  enqueue_many({.type = "work", .owner = "ben"}, 2);
  const StuckGroup group = only_group();
  EXPECT_EQ(group.reason, Reason::kNoWorker);
  EXPECT_EQ(group.queue, "work");
  EXPECT_EQ(group.tasks, 3);
  EXPECT_EQ(group.since, since);
  EXPECT_EQ(group.example, first);
  EXPECT_NE(group.text.find("drover work --queue work"), std::string::npos) << group.text;
  expect_as_explained(group);
}

TEST_P(Stuck, BehindGatesAndInLine) {
  serve("open");
  enqueue_many({.type = "open"}, 2);
  enqueue_many({.type = "shut"}, 3);
  enqueue_many({.type = "shut", .owner = "ben"}, 1);
  close_gate("type:shut", now() + 1h);
  const StuckReport report = stuck();
  ASSERT_EQ(report.groups.size(), 2U);
  const StuckGroup& shut = report.groups.front();
  EXPECT_EQ(shut.reason, Reason::kGate);
  EXPECT_EQ(shut.gate, "type:shut");
  EXPECT_EQ(shut.tasks, 4);
  EXPECT_EQ(shut.at, now() + 1h);
  EXPECT_EQ(report.groups.back().reason, Reason::kInLine);
  EXPECT_EQ(report.groups.back().tasks, 2);
  for (const StuckGroup& group : report.groups) expect_as_explained(group);
}

TEST_P(Stuck, CountsAreExactWhateverHappens) {
  serve("work");
  enqueue_many({.type = "work"}, 10);
  const Lease running = claim(1).front().lease;
  EXPECT_EQ(only_group().tasks, 9);
  cancel(only_group().example);
  EXPECT_EQ(only_group().tasks, 8);
  release(running);
  EXPECT_EQ(only_group().tasks, 9);
  EXPECT_EQ(only_group().example, running.task);
  must(queue().edit(running.task, {.priority = 1}));
  EXPECT_EQ(only_group().tasks, 9);
  ASSERT_EQ(claim(3).size(), 3U);
  EXPECT_EQ(only_group().tasks, 6);
  pass(kLease + 1s);  // stalled: they wait again
  EXPECT_EQ(stuck().groups.front().tasks, 9);
}

TEST_P(Stuck, CountsWhatWaitsForATimeOrAParent) {
  const TaskId parent = enqueue_work();
  enqueue_after(parent);
  enqueue({.type = "work", .delay = 1h});
  const StuckReport report = stuck();
  EXPECT_EQ(report.blocked, 1);
  EXPECT_EQ(report.scheduled, 1);
  EXPECT_EQ(report.unexamined, 0);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups.front().tasks, 1);
}

TEST_P(Stuck, OfOneOwner) {
  enqueue_many({.type = "work", .owner = "anna"}, 2);
  enqueue_many({.type = "work", .owner = "ben"}, 3);
  enqueue({.type = "work", .owner = "ben", .delay = 1h});
  const StuckReport annas = stuck("anna");
  ASSERT_EQ(annas.groups.size(), 1U);
  EXPECT_EQ(annas.groups.front().tasks, 2);
  EXPECT_EQ(annas.scheduled, 0);
  EXPECT_EQ(stuck("nobody"), StuckReport{});
  EXPECT_EQ(code_of(queue().stuck("no good name")), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drover::test
