// Explain: for any task, the exact reason why it is not running, and what will release it.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class ExplainTask : public ConformanceTest {
 protected:
  using Reason = Explanation::Reason;

  void register_worker(const std::vector<Serve>& serves) {
    must(queue().register_worker({.id = "host:1:w", .version = "1", .serves = serves, .capacity = 1}));
  }
  void expect_says(const TaskId& id, Reason reason, std::string_view part) {
    const Explanation answer = explain(id);
    EXPECT_EQ(name_of(answer.reason), name_of(reason)) << answer.text;
    EXPECT_NE(answer.text.find(part), std::string::npos) << answer.text;
  }
  // The first gate that refuses, and when it is released.
  void expect_gate(const TaskId& id, const std::string& gate, std::optional<Time> at, std::string_view part) {
    expect_says(id, Reason::kGate, part);
    EXPECT_EQ(explain(id).gate, gate);
    EXPECT_EQ(explain(id).at, at);
  }
};
ON_EVERY_STORE(ExplainTask);

TEST_P(ExplainTask, UnknownTasks) {
  const TaskId id = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  EXPECT_EQ(code_of(queue().explain(id)), ErrorCode::kNotFound);
}

TEST_P(ExplainTask, Running) {
  expect_says(start_work().task, Reason::kRunning, "host:1:a");
}

TEST_P(ExplainTask, Ended) {
  expect_says(place_in(TaskState::kCompleted).id, Reason::kEnded, "completed");
  expect_says(place_in(TaskState::kFailed).id, Reason::kEnded, "drover retry");
  expect_says(place_in(TaskState::kCancelled).id, Reason::kEnded, "cancelled");
}

TEST_P(ExplainTask, BlockedByTheseParents) {
  const TaskId done = enqueue_work();
  const TaskId open = enqueue({.type = "parent"});
  const TaskId child = enqueue({.type = "work", .depends_on = {done, open}});
  complete(start(done));
  expect_says(child, Reason::kBlocked, "1 of 2 parents");
  EXPECT_EQ(explain(child).waits_for, std::vector{open});
}

TEST_P(ExplainTask, AChainOfParentsLeadsToTheOneThatHoldsIt) {
  const TaskId holder = enqueue({.type = "work", .delay = 1h});
  const TaskId second = enqueue_after(holder);
  const TaskId third = enqueue_after(second);
  const TaskId last = enqueue_after(third);
  const Explanation explained = explain(last);
  EXPECT_EQ(explained.reason, Reason::kBlocked);
  std::vector<TaskId> ids;
  for (const Explanation::Link& link : explained.chain) ids.push_back(link.id);
  EXPECT_EQ(ids, (std::vector{third, second, holder}));
  EXPECT_EQ(explained.chain.back().reason, Reason::kScheduled);
  EXPECT_EQ(explained.chain.back().state, TaskState::kScheduled);
  EXPECT_EQ(explained.chain.back().at, now() + 1h);
  EXPECT_TRUE(explain(holder).chain.empty());
}

TEST_P(ExplainTask, ALongChainIsCutOff) {
  TaskId last = enqueue({.type = "work", .delay = 1h});
  set_limits(R"({"depth":1000})");
  for (int i = 0; i < 98; ++i) last = enqueue_after(last);
  EXPECT_LE(explain(last).chain.size(), 100U);
  EXPECT_EQ(explain(last).chain.back().reason, Reason::kScheduled);
}

TEST_P(ExplainTask, ScheduledUntil) {
  const TaskId id = enqueue({.type = "work", .delay = 1h});
  expect_says(id, Reason::kScheduled, format_time(now() + 1h));
  EXPECT_EQ(explain(id).at, now() + 1h);
  const Lease failed = start_work();
  fail(failed);
  expect_says(failed.task, Reason::kScheduled, "agent_error");
}

TEST_P(ExplainTask, ClosedByHand) {
  const TaskId id = enqueue_work();
  close_gate("queue:work");
  expect_gate(id, "queue:work", std::nullopt, "drover gate open queue:work");
  EXPECT_NE(explain(id).text.find(signed_as("me@here")), std::string::npos);
  EXPECT_TRUE(claim(1).empty());
  expect_gate(id, "queue:work", std::nullopt, "a test");
}

TEST_P(ExplainTask, ClosedForATime) {
  const TaskId id = enqueue_work();
  close_gate("all", now() + 1h);
  expect_gate(id, "all", now() + 1h, format_time(now() + 1h));
}

TEST_P(ExplainTask, NamesEveryGateThatRefuses) {
  const TaskId id = enqueue({.type = "work", .owner = "me"});
  close_gate("owner:me", now() + 2h);
  close_gate("queue:work", now() + 1h);
  expect_gate(id, "queue:work", now() + 2h, "1 gate more");
  EXPECT_EQ(explain(id).refusing.size(), 2U);
}

TEST_P(ExplainTask, NoPermit) {
  apply_config(R"({"queues":{"work":{"permits":1}}})");
  start_work();
  const TaskId id = enqueue_work();
  EXPECT_TRUE(claim(1).empty());
  expect_gate(id, "queue:work", std::nullopt, "1 of 1 permit");
}

TEST_P(ExplainTask, ALockThatAnotherHolds) {
  start_new({.type = "work", .locks = {"site"}});
  const TaskId id = enqueue({.type = "work", .locks = {"site"}});
  EXPECT_TRUE(claim(1).empty());
  expect_gate(id, "lock:site", std::nullopt, "1 of 1 permit");
}

TEST_P(ExplainTask, TheLimitOfAllOwners) {
  apply_config(R"({"owners":{"default":{"permits":1}}})");
  start_new({.type = "work", .owner = "me"});
  const TaskId id = enqueue({.type = "work", .owner = "me"});
  EXPECT_TRUE(claim(1).empty());
  expect_gate(id, "owner:me", std::nullopt, "1 of 1 permit");
}

TEST_P(ExplainTask, ARate) {
  apply_config(R"({"queues":{"work":{"rate":"1/min"}}})");
  start_work();
  const TaskId id = enqueue_work();
  expect_gate(id, "queue:work", now() + 1min, "1/1m");
}

TEST_P(ExplainTask, ACostThatNoBurstAllowsAnyMore) {
  apply_config(R"({"queues":{"work":{"rate":"1/s","burst":10}}})");
  const TaskId id = enqueue({.type = "work", .cost = 10});
  apply_config(R"({"queues":{"work":{"rate":"1/s","burst":5}}})");
  expect_gate(id, "queue:work", std::nullopt, "costs 10");
}

TEST_P(ExplainTask, TheBreaker) {
  apply_config(R"({"types":{"work":{"breaker":{"failures":1,"open":"30s"},"max_attempts":1}}})");
  fail(start_work());
  const TaskId id = enqueue_work();
  expect_gate(id, "type:work", now() + 30s, "failures in a row");
}

TEST_P(ExplainTask, AProvider) {
  apply_config(R"({"types":{"work":{"provider":"acme"}}})");
  const Lease lease = start_work();
  must(queue().fail(lease, {.error_class = ErrorClass::kQuotaExhausted, .retry_after = 1h}));
  expect_gate(enqueue_work(), "provider:acme", now() + 1h, "quota_exhausted");
}

TEST_P(ExplainTask, NoWorkerServesIt) {
  const TaskId id = enqueue_work();
  expect_says(id, Reason::kNoWorker, "no live worker serves queue work");
  register_worker({{.queue = "other"}, {.queue = "work", .type = "other"}});
  expect_says(id, Reason::kNoWorker, "drover work --queue work");
}

TEST_P(ExplainTask, InLine) {
  register_worker({{.queue = "work"}});
  enqueue_work();
  enqueue_work();
  const TaskId id = enqueue_work();
  expect_says(id, Reason::kInLine, "2 ahead");
  EXPECT_EQ(explain(id).ahead, 2);
}

TEST_P(ExplainTask, AWorkerThatIsSilentDoesNotCount) {
  register_worker({{.queue = "work", .type = "work"}});
  const TaskId id = enqueue_work();
  EXPECT_EQ(explain(id).reason, Reason::kInLine);
  advance(2min);
  EXPECT_EQ(explain(id).reason, Reason::kNoWorker);
}

TEST_P(ExplainTask, AStalledTaskToo) {
  const TaskId id = place_in(TaskState::kStalled).id;
  close_gate("queue:work");
  expect_gate(id, "queue:work", std::nullopt, "closed");
}

}  // namespace
}  // namespace drover::test
