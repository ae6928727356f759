// Enqueue: what is stored, what is filled in, what is answered.
#include "conformance/conformance.h"
#include "core/task_fields.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Enqueue);

TEST_P(Enqueue, ATaskWithNothingToWaitForIsPending) {
  const Enqueued enqueued = must(queue().enqueue_one({.type = "work"}));
  EXPECT_EQ(enqueued.state, TaskState::kPending);
  EXPECT_FALSE(enqueued.deduplicated);
  EXPECT_EQ(state(enqueued.id), TaskState::kPending);
  EXPECT_EQ(story(enqueued.id), "enqueued");
}

TEST_P(Enqueue, FillsInTheDefaults) {
  const Task task = get(enqueue_work());
  EXPECT_EQ(task.queue, "work");
  EXPECT_FALSE(task.owner.empty());
  EXPECT_EQ(task.priority, 5);
  EXPECT_EQ(task.max_attempts, 3);
  EXPECT_EQ(task.max_stalls, 3);
  EXPECT_EQ(task.max_defers, 100);
  EXPECT_EQ(to_string(task.retry), to_string(RetryPolicy{}));
  EXPECT_EQ(task.timeout, Millis(1h));
  EXPECT_EQ(task.idle_timeout, Millis(10min));
  EXPECT_EQ(task.on_parent_failure, OnParentFailure::kCancel);
  EXPECT_FALSE(task.at_most_once);
  EXPECT_EQ(task.created_at, now());
}

TEST_P(Enqueue, GroupsTogetherAreAnsweredAsIfEachWereAlone) {
  const std::vector<TaskSpec> good{{.type = "work"}, {.type = "work"}};
  const std::vector<TaskSpec> bad{{.type = "work"}, {.type = "not a name"}};
  const std::vector<TaskSpec> first{{.type = "work", .request_id = "r"}};
  const std::vector<TaskSpec> replay = first;
  const std::vector<TaskSpec> other{{.type = "work", .payload = "1", .request_id = "r"}};
  const std::vector<std::span<const TaskSpec>> groups{good, bad, first, replay, other};
  const auto answers = queue().enqueue_groups(groups);
  ASSERT_EQ(answers.size(), groups.size());
  EXPECT_EQ(must(answers[0]).size(), 2U);
  ASSERT_FALSE(answers[1].has_value());
  EXPECT_EQ(answers[1].error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(must(answers[2]).front().deduplicated);
  EXPECT_TRUE(must(answers[3]).front().deduplicated);
  EXPECT_EQ(must(answers[3]).front().id, must(answers[2]).front().id);
  ASSERT_FALSE(answers[4].has_value());
  EXPECT_EQ(answers[4].error().code, ErrorCode::kRequestConflict);
  EXPECT_EQ(must(queue().list({}, 100, {})).tasks.size(), 3U);
}

TEST_P(Enqueue, OfGroupsTogetherWithOneIdTheFirstHasIt) {
  const TaskId id = *TaskId::parse("01920f5e-7a3c-7def-8123-456789abcdef");
  const std::vector<TaskSpec> first{{.id = id, .type = "work"}};
  const std::vector<TaskSpec> second{{.id = id, .type = "other"}};
  const std::vector<TaskSpec> last{{.type = "work"}};
  const std::vector<std::span<const TaskSpec>> groups{first, second, last};
  const auto answers = queue().enqueue_groups(groups);
  EXPECT_TRUE(answers[0].has_value());
  EXPECT_EQ(code_of(answers[1]), ErrorCode::kRequestConflict);
  EXPECT_TRUE(answers[2].has_value());
  EXPECT_EQ(get(id).type, "work");
}

TEST_P(Enqueue, AFreshTaskHasNoHistory) {
  const Task task = get(enqueue_work());
  EXPECT_EQ(task.run, 0);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.stalls, 0);
  EXPECT_EQ(task.defers, 0);
  EXPECT_EQ(task.generation, 1);
  EXPECT_EQ(task.payload, std::nullopt);
  EXPECT_EQ(task.result, std::nullopt);
  EXPECT_EQ(task.error, std::nullopt);
  EXPECT_EQ(task.progress, std::nullopt);
  EXPECT_EQ(task.checkpoint, std::nullopt);
  EXPECT_EQ(task.worker_id, std::nullopt);
  EXPECT_EQ(task.started_at, std::nullopt);
  EXPECT_EQ(task.finished_at, std::nullopt);
  EXPECT_EQ(task.deadline_at, std::nullopt);
  EXPECT_EQ(task.cancel_requested_at, std::nullopt);
  EXPECT_FALSE(task.fallback);
  EXPECT_TRUE(must(queue().runs(task.id)).empty());
}

TEST_P(Enqueue, KeepsEveryFieldThatIsGiven) {
  const TaskId parent = enqueue({.type = "parent"});
  const RetryPolicy list{.kind = RetryPolicy::Kind::kList, .delays = {1s, 5s}};
  const Task task = get(enqueue({.ref = "first",
                                 .type = "work",
                                 .queue = "bench",
                                 .owner = "team-a",
                                 .priority = 2,
                                 .payload = R"({"a":1})",
                                 .prompt = "do it",
                                 .system_prompt = "be brief",
                                 .model = "large",
                                 .repo = "site",
                                 .base = "release/2",
                                 .agent_id = "agent-7",
                                 .source = "cli",
                                 .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                 .tags = {"x", "y"},
                                 .depends_on = {parent},
                                 .request_id = "r-1",
                                 .session = "reviewer",
                                 .bootstrap = R"({"key":"api","text":"know it"})",
                                 .run_at = now() + 2h,
                                 .deadline_at = now() + 3h,
                                 .max_attempts = 7,
                                 .max_stalls = 8,
                                 .max_defers = 9,
                                 .max_suspends = 10,
                                 .retry = list,
                                 .timeout = 5min,
                                 .idle_timeout = 1min,
                                 .on_parent_failure = OnParentFailure::kRun,
                                 .at_most_once = true,
                                 .templates = true,
                                 .fallback_result = R"(["none"])"}));
  EXPECT_EQ(task.type, "work");
  EXPECT_EQ(task.queue, "bench");
  EXPECT_EQ(task.owner, "team-a");
  EXPECT_EQ(task.priority, 2);
  EXPECT_EQ(task.payload, R"({"a":1})");
  EXPECT_EQ(task.prompt, "do it");
  EXPECT_EQ(task.system_prompt, "be brief");
  EXPECT_EQ(task.model, "large");
  EXPECT_EQ(task.repo, "site");
  EXPECT_EQ(task.base, "release/2");
  EXPECT_EQ(task.agent_id, "agent-7");
  EXPECT_EQ(task.source, "cli");
  EXPECT_EQ(task.traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(task.tags, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(task.depends_on, std::vector{parent});
  EXPECT_EQ(task.request_id, "r-1");
  EXPECT_EQ(task.run_at, now() + 2h);
  EXPECT_EQ(task.deadline_at, now() + 3h);
  EXPECT_EQ(task.max_attempts, 7);
  EXPECT_EQ(task.max_stalls, 8);
  EXPECT_EQ(task.max_defers, 9);
  EXPECT_EQ(task.max_suspends, 10);
  EXPECT_EQ(task.retry, list);
  EXPECT_EQ(task.timeout, Millis(5min));
  EXPECT_EQ(task.idle_timeout, Millis(1min));
  EXPECT_EQ(task.on_parent_failure, OnParentFailure::kRun);
  EXPECT_TRUE(task.at_most_once);
  EXPECT_TRUE(task.templates);
  EXPECT_EQ(task.ref, "first");
  EXPECT_EQ(task.fallback_result, R"(["none"])");
  EXPECT_EQ(task.gates, std::vector<std::string>{"session:team-a::reviewer"});
  EXPECT_EQ(task.bootstrap, R"({"key":"api","text":"know it"})");
}

template <class Field>
constexpr bool is_text(Field field) {
  return field.kIs.kind == FieldKind::kText || field.kIs.kind == FieldKind::kLabel;
}

TEST_P(Enqueue, KeepsEveryTextThatIsGiven) {
  TaskSpec spec{.type = "work"};
  visit_task_fields([&](auto field) {
    if constexpr (is_text(field)) field.asked(spec) = std::string(field.name());
  });
  const Task task = get(enqueue(spec));
  visit_task_fields([&](auto field) {
    if constexpr (is_text(field)) {
      EXPECT_EQ(field.of(task), std::string(field.name()));
    }
  });
}

TEST_P(Enqueue, EveryRetryKindIsKept) {
  const RetryPolicy policies[] = {
      {.kind = RetryPolicy::Kind::kExponential, .base = 10ms, .multiplier = 1.5, .cap = 1s, .jitter = 0.25},
      {.kind = RetryPolicy::Kind::kLinear, .base = 60ms},
      {.kind = RetryPolicy::Kind::kFixed, .base = 1s},
      {.kind = RetryPolicy::Kind::kList, .delays = {0ms, 1s, 1h}},
  };
  for (const RetryPolicy& policy : policies) {
    EXPECT_EQ(to_string(get(enqueue({.type = "work", .retry = policy})).retry), to_string(policy));
  }
}

TEST_P(Enqueue, UsesTheIdThatTheCallerChose) {
  const TaskId id = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  EXPECT_EQ(enqueue({.id = id, .type = "work"}), id);
  EXPECT_EQ(get(id).id, id);
}

TEST_P(Enqueue, ChosenIdsAreUsedOnce) {
  const TaskId id = enqueue_work();
  const World before = world();
  EXPECT_EQ(code_of(queue().enqueue_one({.id = id, .type = "work"})), ErrorCode::kRequestConflict);
  EXPECT_EQ(world(), before);
}

TEST_P(Enqueue, MadeIdsSortByTime) {
  const TaskId first = enqueue_work();
  advance(1ms);
  const TaskId second = enqueue_work();
  EXPECT_LT(first, second);
}

TEST_P(Enqueue, AnswersInTheOrderOfTheGroup) {
  const auto ids = enqueue_all({{.type = "a"}, {.type = "b"}, {.type = "c"}});
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(get(ids[0]).type, "a");
  EXPECT_EQ(get(ids[1]).type, "b");
  EXPECT_EQ(get(ids[2]).type, "c");
}

TEST_P(Enqueue, ThousandsInOneCall) {
  const std::vector<TaskSpec> group(3'000, TaskSpec{.type = "work"});
  EXPECT_EQ(enqueue_all(group).size(), 3'000U);
  EXPECT_EQ(must(queue().backlog(std::vector<Serve>{{.queue = "work"}})).waiting, 3'000);
}

TEST_P(Enqueue, TheEventCarriesTheTask) {
  const TaskId id = enqueue({.type = "work", .queue = "bench", .owner = "team-a"});
  const Event event = last_event_of(id);
  EXPECT_EQ(event.name, "task.enqueued");
  EXPECT_EQ(event.at, now());
  EXPECT_EQ(event.type, "work");
  EXPECT_EQ(event.queue, "bench");
  EXPECT_EQ(event.owner, "team-a");
  EXPECT_EQ(event.state, TaskState::kPending);
  EXPECT_EQ(event.run, 0);
  EXPECT_EQ(event.generation, 1);
}

TEST_P(Enqueue, SurvivesARestart) {
  const TaskId parent = enqueue({.type = "work", .payload = R"({"n":1})", .tags = {"x"}});
  enqueue_after(parent);
  const World before = world();
  reopen();
  EXPECT_EQ(world(), before);
}

TEST_P(Enqueue, AnUnknownTaskIsNotFound) {
  const TaskId nobody = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  EXPECT_EQ(code_of(queue().get(nobody)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().runs(nobody)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().log(nobody, 0, 10)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().cancel(nobody, "")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().retry(nobody)), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace drover::test
