// What a dashboard reads: summaries, several of a kind, the other order, the graph, parts of a log, gates, history,
// views.
#include <algorithm>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Summaries : public ConformanceTest {
 protected:
  std::vector<TaskSummary> all(const TaskFilter& filter, int at_once = 1'000) {
    std::vector<TaskSummary> found;
    std::optional<std::string> cursor;
    do {
      auto page = must(queue().summaries(filter, at_once, cursor));
      std::ranges::move(page.tasks, std::back_inserter(found));
      cursor = page.cursor;
    } while (cursor);
    return found;
  }
  std::vector<TaskId> ids(const TaskFilter& filter, int at_once = 1'000) {
    std::vector<TaskId> found;
    for (const TaskSummary& summary : all(filter, at_once)) found.push_back(summary.task.id);
    return found;
  }
};
ON_EVERY_STORE(Summaries);

TEST_P(Summaries, HaveWhatAListShowsAndNoBodies) {
  const std::string long_prompt = "é" + std::string(5'000, 'x');
  enqueue({.type = "work",
           .payload = R"({"a":1})",
           .prompt = long_prompt,
           .system_prompt = "secret",
           .model = "m",
           .agent_id = "a",
           .tags = {"b", "a"}});
  const Lease lease = start_new({.type = "other", .queue = "work", .priority = 0, .payload = R"({"n":[1, 2]})"});
  must(queue().checkpoint(lease, "[7]"));
  complete(lease, "\"" + std::string(2'000, 'r') + "\"");
  const auto found = all({});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].excerpt, R"({"n":[1,2]})");
  EXPECT_EQ(found[0].task.state, TaskState::kCompleted);
  EXPECT_EQ(found[0].task.finished_at, now());
  EXPECT_EQ(found[1].excerpt, "é" + std::string(kExcerptChars - 1, 'x'));
  EXPECT_EQ(found[1].task.model, "m");
  EXPECT_EQ(found[1].task.agent_id, "a");
  EXPECT_EQ(found[1].task.tags, (std::vector<std::string>{"a", "b"})) << "by name";
  for (const TaskSummary& summary : found) {
    EXPECT_FALSE(summary.task.payload || summary.task.prompt || summary.task.system_prompt);
    EXPECT_FALSE(summary.task.result || summary.task.checkpoint);
  }
}

TEST_P(Summaries, OfTasksWithAndWithoutTexts) {
  enqueue({.type = "work"});
  enqueue({.type = "work", .payload = "null"});
  enqueue({.type = "work",
           .payload = "\"" + std::string(100'000, 'p') + "\"",
           .prompt = "say \"\\\x01\" \xf0\x9f\x90\x91"});
  enqueue({.type = "work", .prompt = std::string(100'000, '"'), .model = "m"});
  enqueue({.type = "work", .prompt = "", .fallback_result = "[1]"});
  const auto found = all({});
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[4].excerpt, std::nullopt);
  EXPECT_EQ(found[3].excerpt, "null");
  EXPECT_EQ(found[2].excerpt, "say \"\\\x01\" \xf0\x9f\x90\x91");
  EXPECT_EQ(found[1].excerpt, std::string(kExcerptChars, '"'));
  EXPECT_EQ(found[1].task.model, "m");
  EXPECT_EQ(found[0].excerpt, "");
}

TEST_P(Summaries, AnyOfSeveralNames) {
  const TaskId a = enqueue({.type = "a", .queue = "q", .owner = "me", .tags = {"red", "big"}});
  const TaskId b = enqueue({.type = "b", .queue = "q", .owner = "you", .tags = {"blue"}});
  const TaskId c = enqueue({.type = "c", .queue = "p", .owner = "me", .tags = {"red"}});
  using Names = std::vector<std::string>;
  EXPECT_EQ(ids({.type = Names{"a", "c"}}), (std::vector{c, a}));
  EXPECT_EQ(ids({.queue = Names{"p", "q"}, .owner = "me"}), (std::vector{c, a}));
  EXPECT_EQ(ids({.owner = Names{"you", "nobody"}}), std::vector{b});
  EXPECT_EQ(ids({.tag = Names{"red", "blue"}}), (std::vector{c, b, a}));
  EXPECT_EQ(ids({.tag = Names{"big", "red"}}), (std::vector{c, a})) << "once each";
  EXPECT_EQ(ids({.tag = Names{"red", "blue"}}, 1), (std::vector{c, b, a})) << "page by page";
  EXPECT_EQ(ids({.type = "a", .tag = Names{"red", "blue"}}), std::vector{a});
  EXPECT_EQ(code_of(queue().summaries({.type = Names{"a,b"}}, 10, std::nullopt)), ErrorCode::kInvalidArgument);
}

TEST_P(Summaries, TheOldestFirst) {
  std::vector<TaskId> made;
  for (int i = 0; i < 7; ++i) {
    made.push_back(enqueue({.type = i % 2 == 0 ? "work" : "other", .tags = {i < 4 ? "x" : "y"}}));
  }
  EXPECT_EQ(ids({.order = TaskOrder::kOldestFirst}), made);
  EXPECT_EQ(ids({.order = TaskOrder::kOldestFirst}, 2), made);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ids({.tag = Names{"x", "y"}, .order = TaskOrder::kOldestFirst}, 3), made);
  EXPECT_EQ(ids({.type = "work", .order = TaskOrder::kOldestFirst}, 1),
            (std::vector{made[0], made[2], made[4], made[6]}));
  cancel(made[1]);
  cancel(made[3]);
  EXPECT_EQ(ids({.states = {TaskState::kCancelled}, .order = TaskOrder::kOldestFirst}),
            (std::vector{made[1], made[3]}));
  EXPECT_EQ(ids({.worker_id = "nobody", .order = TaskOrder::kOldestFirst}), std::vector<TaskId>());
}

TEST_P(Summaries, ByModelAgentGateAndEnd) {
  const TaskId a = enqueue({.type = "work", .model = "big", .agent_id = "ann", .locks = {"site"}});
  const TaskId b = enqueue({.type = "else", .model = "small"});
  EXPECT_EQ(ids({.model = "big"}), std::vector{a});
  EXPECT_EQ(ids({.model = "none"}), std::vector<TaskId>());
  EXPECT_EQ(ids({.agent_id = "ann"}), std::vector{a});
  EXPECT_EQ(ids({.gate = "lock:site"}), std::vector{a});
  EXPECT_EQ(ids({.gate = "queue:else"}), std::vector{b});
  EXPECT_EQ(ids({.gate = "all"}), (std::vector{b, a}));
  pass(10s);
  cancel(a);
  EXPECT_EQ(ids({.finished_after = now()}), std::vector{a});
  EXPECT_EQ(ids({.finished_after = now() + 1s}), std::vector<TaskId>());
}

class Graph : public ConformanceTest {
 protected:
  static std::vector<TaskId> nodes(const TaskGraph& graph) {
    std::vector<TaskId> found;
    for (const TaskGraph::Node& node : graph.nodes) found.push_back(node.task.id);
    return found;
  }
};
ON_EVERY_STORE(Graph);

TEST_P(Graph, HasParentsDependentsAndChildren) {
  const TaskId first = enqueue_work();
  const Lease lease = start(first);
  const TaskSpec child{.type = "child"};
  const TaskId spawned = must(queue().spawn(lease, std::span(&child, 1))).at(0).id;
  const TaskId second = enqueue_after(first);
  const TaskId third = enqueue_after(second);
  const TaskGraph graph = must(queue().graph(first, std::nullopt, kGraphTasksMax));
  EXPECT_EQ(graph.root, first);
  EXPECT_EQ(nodes(graph), (std::vector{first, second, spawned, third}));
  EXPECT_EQ(graph.nodes[3].distance, 2);
  using Kind = TaskGraph::EdgeKind;
  const std::vector<TaskGraph::Edge> expected{
      {first, second, Kind::kDependsOn}, {first, spawned, Kind::kSpawned}, {second, third, Kind::kDependsOn}};
  EXPECT_EQ(graph.edges, expected);
  EXPECT_EQ(nodes(must(queue().graph(third, std::nullopt, kGraphTasksMax))),
            (std::vector{third, second, first, spawned}));
}

TEST_P(Graph, IsBoundedAndSaysWhatIsLeftOut) {
  const TaskId root = enqueue_work();
  for (int i = 0; i < 5; ++i) enqueue_after(root);
  const TaskGraph graph = must(queue().graph(root, std::nullopt, 3));
  EXPECT_EQ(graph.nodes.size(), 3U);
  EXPECT_TRUE(graph.nodes[0].more);
  EXPECT_FALSE(graph.nodes[1].more);
  EXPECT_EQ(graph.edges.size(), 2U);
  EXPECT_EQ(code_of(queue().graph(root, std::nullopt, 0)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().graph(root, std::nullopt, kGraphTasksMax + 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().graph(TaskId(), std::nullopt, 1)), ErrorCode::kNotFound);
}

TEST_P(Graph, OfAnOwnerHasThatOwnersTasksAlone) {
  const TaskId mine = enqueue({.type = "work", .owner = "me"});
  const TaskId yours = enqueue({.type = "work", .owner = "you", .depends_on = {mine}});
  enqueue({.type = "work", .owner = "me", .depends_on = {yours}});
  EXPECT_EQ(nodes(must(queue().graph(mine, "me", kGraphTasksMax))), std::vector{mine}) << "not through others";
  EXPECT_EQ(code_of(queue().graph(yours, "me", kGraphTasksMax)), ErrorCode::kNotFound);
}

class LogParts : public ConformanceTest {
 protected:
  void say(const Lease& lease, const std::string& text) {
    const LogChunk chunk{LogStream::kOut, text};
    must(queue().append_log(lease, std::span(&chunk, 1)));
  }
  std::string texts(const TaskId& id, const LogQuery& query) {
    std::string all;
    for (const LogRecord& record : must(queue().log(id, query)).records) all += record.text;
    return all;
  }
};
ON_EVERY_STORE(LogParts);

TEST_P(LogParts, ByRunAndFromTheEnd) {
  const Lease first = start_new({.type = "work", .retry = parse_retry_policy("fixed:0s").value()});
  const TaskId id = first.task;
  for (const char* text : {"a", "b", "c"}) say(first, text);
  fail(first);
  const Lease second = start(id);
  for (const char* text : {"d", "e"}) say(second, text);
  EXPECT_EQ(texts(id, {}), "abcde");
  EXPECT_EQ(texts(id, {.run = 1}), "abc");
  EXPECT_EQ(texts(id, {.run = 2}), "de");
  EXPECT_EQ(texts(id, {.run = 3}), "");
  EXPECT_EQ(texts(id, {.before = kLogEnd, .limit = 2}), "de");
  EXPECT_EQ(texts(id, {.before = kLogEnd, .run = 1, .limit = 2}), "bc");
  const LogPage tail = must(queue().log(id, LogQuery{.before = kLogEnd, .limit = 2}));
  EXPECT_EQ(texts(id, {.before = tail.records.at(0).seq, .limit = 2}), "bc");
  EXPECT_EQ(texts(id, {.after = 1, .before = tail.records.at(0).seq, .limit = 10}), "bc");
  EXPECT_EQ(texts(id, {.run = 2, .limit = 1}), "d");
}

class Waiting : public ConformanceTest {};
ON_EVERY_STORE(Waiting);

TEST_P(Waiting, GatesSayHowManyWaitAndHowManyWouldStart) {
  for (int i = 0; i < 3; ++i) enqueue({.type = "work", .owner = "me"});
  enqueue({.type = "work", .owner = "you"});
  enqueue({.type = "else"});
  close_gate("queue:work");
  close_gate("owner:you");
  const GateStatus work = gate("queue:work").value_or(GateStatus{});
  EXPECT_EQ(work.waiting_tasks, 4);
  EXPECT_EQ(work.would_start, 3);
  const GateStatus you = gate("owner:you").value_or(GateStatus{});
  EXPECT_EQ(you.waiting_tasks, 1);
  EXPECT_EQ(you.would_start, 0);
  const auto mine = must(queue().owner_gates("me"));
  ASSERT_EQ(mine.size(), 1U);
  EXPECT_EQ(mine[0].name, "queue:work");
  EXPECT_EQ(mine[0].waiting_tasks, 3);
  open_gate("queue:work");
  open_gate("owner:you");
}

TEST_P(Waiting, ACancelSaysWho) {
  const TaskId id = enqueue_work();
  must(queue().cancel(id, Verdict{.by = "ada@box", .why = "enough"}));
  EXPECT_EQ(last_event_of(id).data, R"({"reason":"enough","by":")" + signed_as("ada@box") + "\"}");
}

class History : public ConformanceTest {
 protected:
  StatsBucket sum(HistoryStep step, int count) {
    StatsBucket all;
    for (const StatsBucket& bucket : must(queue().stats_history(step, count)).buckets) {
      all.enqueued += bucket.enqueued;
      all.started += bucket.started;
      all.completed += bucket.completed;
      all.failed += bucket.failed;
      all.retried += bucket.retried;
      all.cancelled += bucket.cancelled;
    }
    return all;
  }
  void live_a_minute() {
    const TaskId done = enqueue_work();
    pass(10s);
    const Lease lease = start(done);
    advance(5s);
    complete(lease);
    cancel(enqueue_work());
    fail(start_new({.type = "work", .max_attempts = 1}));
    pass(45s);
  }
};
ON_EVERY_STORE(History);

TEST_P(History, CountsEverythingOnceWhoeverFolds) {
  EXPECT_EQ(sum(HistoryStep::kMinute, 60), StatsBucket{});
  live_a_minute();
  const StatsBucket expected{.enqueued = 3, .started = 2, .completed = 1, .failed = 1, .cancelled = 1};
  EXPECT_EQ(sum(HistoryStep::kMinute, 60), expected) << "what nobody has folded yet is there, too";
  EXPECT_GT(fold_history(), 0);
  EXPECT_EQ(fold_history(), 0);
  EXPECT_EQ(sum(HistoryStep::kMinute, 60), expected);
  EXPECT_EQ(sum(HistoryStep::kHour, 24), expected);
  live_a_minute();
  fold_history();
  EXPECT_EQ(sum(HistoryStep::kHour, 24).enqueued, 6);
}

TEST_P(History, OutlivesRestartsTasksAndTime) {
  live_a_minute();
  fold_history();
  reopen();
  EXPECT_EQ(sum(HistoryStep::kMinute, 60).enqueued, 3);
  pass(48h);
  enqueue_work();
  fold_history();
  EXPECT_EQ(sum(HistoryStep::kMinute, kHistoryMinutes).enqueued, 1);
  EXPECT_EQ(sum(HistoryStep::kHour, kHistoryHours).enqueued, 4);
}

TEST_P(History, KnowsHowLongTasksWaitedAndRan) {
  live_a_minute();
  const StatsHistory history = must(queue().stats_history(HistoryStep::kMinute, 60));
  std::optional<Millis> wait;
  std::optional<Millis> run;
  for (const StatsBucket& bucket : history.buckets) {
    if (bucket.waits.p95) wait = std::max(wait.value_or(Millis(0)), *bucket.waits.p95);
    if (bucket.runs.p95) run = std::max(run.value_or(Millis(0)), *bucket.runs.p95);
  }
  EXPECT_NEAR(static_cast<double>(wait.value_or(Millis(0)).count()), 10'000, 2'000);
  EXPECT_NEAR(static_cast<double>(run.value_or(Millis(0)).count()), 5'000, 1'000);
}

TEST_P(History, RefusesWhatIsNotKept) {
  EXPECT_EQ(code_of(queue().stats_history(HistoryStep::kMinute, 0)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().stats_history(HistoryStep::kMinute, kHistoryMinutes + 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().stats_history(HistoryStep::kHour, kHistoryHours + 1)), ErrorCode::kInvalidArgument);
}

class Views : public ConformanceTest {};
ON_EVERY_STORE(Views);

TEST_P(Views, AreKeptByName) {
  EXPECT_TRUE(must(queue().views(std::nullopt)).empty());
  must(queue().save_view(std::nullopt, {.name = "Stuck & long", .query = "state:pending"}));
  must(queue().save_view(std::nullopt, {.name = "a", .query = "x"}));
  pass(1s);
  must(queue().save_view(std::nullopt, {.name = "a", .query = "y"}));
  reopen();
  const auto views = must(queue().views(std::nullopt));
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].name, "Stuck & long");
  EXPECT_EQ(views[1].query, "y");
  EXPECT_EQ(views[1].updated_at, now());
  must(queue().delete_view(std::nullopt, "a"));
  EXPECT_EQ(code_of(queue().delete_view(std::nullopt, "a")), ErrorCode::kNotFound);
  EXPECT_EQ(must(queue().views(std::nullopt)).size(), 1U);
}

TEST_P(Views, AreBounded) {
  const auto save = [&](const std::string& name, const std::string& query) {
    return code_of(queue().save_view(std::nullopt, {.name = name, .query = query}));
  };
  EXPECT_EQ(save(std::string(kViewNameBytesMax + 1, 'n'), ""), ErrorCode::kInvalidArgument);
  EXPECT_EQ(save("n", std::string(kViewQueryBytesMax + 1, 'q')), ErrorCode::kInvalidArgument);
  for (std::size_t i = 0; i < kViewsMax; ++i)
    must(queue().save_view(std::nullopt, {.name = std::to_string(i), .query = ""}));
  EXPECT_EQ(save("one more", ""), ErrorCode::kLimitExceeded);
  EXPECT_EQ(save("1", "changed"), std::nullopt);
}

class Snooze : public ConformanceTest {
 protected:
  void look() {
    pass(1min);
    watch_health();
  }
  std::optional<Alert> alert(AlertKind kind) {
    for (const Alert& alert : must(queue().alerts())) {
      if (alert.kind == kind) return alert;
    }
    return std::nullopt;
  }
};
ON_EVERY_STORE(Snooze);

TEST_P(Snooze, AnAlertIsLeftAloneForAWhile) {
  fail(start_new({.type = "work", .max_attempts = 1}));
  look();
  const Alert raised = alert(AlertKind::kDeadLetter).value_or(Alert{});
  EXPECT_EQ(raised.snoozed_until, std::nullopt);
  const Alert snoozed = must(queue().snooze_alert({key_of(raised), 1h, {.by = "ada@box", .why = "known"}}));
  EXPECT_EQ(snoozed.snoozed_until, now() + 1h);
  EXPECT_EQ(snoozed.snoozed_by, signed_as("ada@box"));
  look();
  EXPECT_EQ(alert(AlertKind::kDeadLetter).value_or(Alert{}).snoozed_why, "known");
  pass(1h);
  look();
  EXPECT_EQ(alert(AlertKind::kDeadLetter).value_or(raised).snoozed_until, std::nullopt);
  EXPECT_EQ(code_of(queue().snooze_alert({"held:all", 1h, {}})), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().snooze_alert({key_of(raised), kSnoozeMax + 1ms, {}})), ErrorCode::kInvalidArgument);
}

TEST_P(Snooze, WhatWasClearedIsKept) {
  const Lease lease = start_new({.type = "work", .max_attempts = 1});
  fail(lease);
  look();
  const Alert raised = alert(AlertKind::kDeadLetter).value_or(Alert{});
  EXPECT_TRUE(must(queue().past_alerts(10)).empty());
  must(queue().remove(lease.task, {}));
  look();
  const auto past = must(queue().past_alerts(10));
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(key_of(past[0].alert), key_of(raised));
  EXPECT_EQ(past[0].alert.raised_at, raised.raised_at);
  EXPECT_EQ(past[0].cleared_at, now());
}

}  // namespace
}  // namespace drover::test
