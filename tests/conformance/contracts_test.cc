// Typed contracts: what a type asks of its payloads and results, and what follows an end.
#include <fmt/format.h>

#include "base/json.h"
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Contracts : public ConformanceTest {
 protected:
  // The policy of the type "work"; other types are free.
  void agree(std::string_view contract) { apply_config(fmt::format(R"({{"types":{{"work":{}}}}})", contract)); }

  Error refusal(const TaskSpec& spec) {
    const World before = world();
    const auto answer = queue().enqueue_one(spec);
    EXPECT_FALSE(answer.has_value());
    EXPECT_EQ(world(), before);
    return answer ? Error{} : answer.error();
  }

  Error refused_result(const Lease& lease, std::optional<JsonText> result) {
    const auto answer = queue().complete(lease, {.result = std::move(result)});
    EXPECT_FALSE(answer.has_value());
    EXPECT_EQ(state(lease.task), TaskState::kRunning);
    return answer ? Error{} : answer.error();
  }

  [[nodiscard]] std::vector<Task> followers(std::string_view type) { return all_tasks({.type = std::string(type)}); }
  // What a follow-up was told of the task that it follows.
  static json::Value told(const Task& follower) {
    const auto payload = json::parse(follower.payload.value_or("null"));
    const json::Value* task = payload ? payload->find("task") : nullptr;
    return task != nullptr ? *task : json::Value();
  }
  static std::string text_at(const json::Value& object, std::string_view key) {
    const json::Value* value = object.find(key);
    return value != nullptr ? json::dump(*value) : "(absent)";
  }
};
ON_EVERY_STORE(Contracts);

constexpr std::string_view kFiles =
    R"({"payload_schema":{"type":"object","required":["files"],"properties":{"files":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}}}})";

TEST_P(Contracts, AnInvalidPayloadIsRefusedWithItsPath) {
  agree(kFiles);
  enqueue({.type = "work", .payload = R"({"files":[{"name":"a"}]})"});
  const Error error = refusal({.type = "work", .payload = R"({"files":[{},{},{},{"name":3}]})"});
  EXPECT_EQ(error.code, ErrorCode::kInvalidPayload);
  EXPECT_EQ(error.message, "payload: /files/3/name: expected string, found number");
  EXPECT_EQ(refusal({.type = "work"}).message, "payload: expected object, found null");
  enqueue({.type = "other", .payload = "3"});
}

TEST_P(Contracts, ABatchNamesTheItemAndStoresNothing) {
  agree(kFiles);
  const World before = world();
  const std::vector<TaskSpec> batch{{.type = "work", .payload = R"({"files":[]})"}, {.type = "work", .payload = "{}"}};
  const auto answer = queue().enqueue(batch);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidPayload);
  EXPECT_EQ(answer.error().message, R"(task 2: payload: "files" is missing)");
  EXPECT_EQ(world(), before);
}

TEST_P(Contracts, ChildrenObeyToo) {
  agree(kFiles);
  const Lease lease = start_new({.type = "other", .queue = "work"});
  const TaskSpec child{.type = "work", .payload = "[]"};
  EXPECT_EQ(code_of(queue().spawn(lease, std::span(&child, 1))), ErrorCode::kInvalidPayload);
  EXPECT_EQ(get(lease.task).state, TaskState::kRunning);
}

TEST_P(Contracts, NumbersAreComparedAsTheyAreWritten) {
  agree(R"({"payload_schema":{"type":"integer","maximum":9007199254740993}})");
  EXPECT_EQ(get(enqueue({.type = "work", .payload = "9007199254740993"})).payload, "9007199254740993");
  EXPECT_EQ(refusal({.type = "work", .payload = "9007199254740994"}).code, ErrorCode::kInvalidPayload);
  EXPECT_EQ(refusal({.type = "work", .payload = "1e400"}).code, ErrorCode::kInvalidPayload);
}

TEST_P(Contracts, WhatWasStoredBeforeFailsAtItsClaimAndStopsNobody) {
  std::vector<TaskId> bad;
  for (int i = 0; i < 5; ++i) bad.push_back(enqueue({.type = "work", .payload = "{}"}));
  const TaskId good = enqueue({.type = "work", .payload = R"({"files":[]})"});
  agree(kFiles);
  EXPECT_EQ(claim_one().task.id, good);
  for (const TaskId& id : bad) {
    const Task task = get(id);
    EXPECT_EQ(task.state, TaskState::kFailed);
    EXPECT_EQ(task.error, (TaskError{ErrorClass::kInvalidPayload, R"(payload: "files" is missing)"}));
    EXPECT_EQ(story(id), "enqueued claimed failed");
  }
  // Fixed, and tried again by hand.
  agree("{}");
  retry(bad[0]);
  EXPECT_EQ(claim_one().task.id, bad[0]);
}

TEST_P(Contracts, InvalidOnesInAClaimOfManyLeaveTheOthers) {
  const TaskId first = enqueue({.type = "work", .payload = "{}"});
  const TaskId second = enqueue({.type = "work", .payload = R"({"files":[]})"});
  agree(kFiles);
  const auto claimed = claim(10);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].task.id, second);
  EXPECT_EQ(state(first), TaskState::kFailed);
}

TEST_P(Contracts, ClosedTypesRefuseOthers) {
  const TaskId before = enqueue({.type = "other", .queue = "work"});
  apply_config(R"({"types":{"work":{}},"types_closed":true})");
  EXPECT_EQ(refusal({.type = "other"}).code, ErrorCode::kUnknownType);
  const TaskId known = enqueue_work();
  EXPECT_EQ(claim_one().task.id, known);
  EXPECT_EQ(class_of(get(before).error), ErrorClass::kUnknownType);
}

TEST_P(Contracts, AReplayIsAnsweredWhateverTheSchemaSaysNow) {
  const TaskSpec spec{.type = "work", .payload = "{}", .request_id = "r"};
  const TaskId id = enqueue(spec);
  agree(kFiles);
  EXPECT_EQ(must(queue().enqueue_one(spec)).id, id);
}

TEST_P(Contracts, DefaultsGoUnderWhatTheCallerGave) {
  agree(R"({"payload_defaults":{"model":"small","depth":1.50,"tags":["a"]}})");
  EXPECT_EQ(get(enqueue({.type = "work", .payload = R"({"z":1e2,"model":null})"})).payload,
            R"({"z":1e2,"model":null,"depth":1.50,"tags":["a"]})");
  EXPECT_EQ(get(enqueue({.type = "work", .payload = "{}"})).payload, R"({"depth":1.50,"model":"small","tags":["a"]})");
  EXPECT_EQ(get(enqueue_work()).payload, R"({"depth":1.50,"model":"small","tags":["a"]})");
  EXPECT_EQ(get(enqueue({.type = "work", .payload = "[1]"})).payload, "[1]");
}

TEST_P(Contracts, AMergeIsCheckedAsAWholeAndKeepsWhatWasThere) {
  agree(
      R"({"payload_defaults":{"model":"small"},"payload_schema":{"required":["path"],"properties":{"n":{"type":"number"}}}})");
  const auto keyed = [](JsonText payload) {
    return TaskSpec{.type = "work", .payload = std::move(payload), .dedupe_key = "k", .dedupe = DedupeMode::kMerge};
  };
  const TaskId id = enqueue(keyed(R"({"path":"/a","model":"large"})"));
  EXPECT_EQ(enqueue(keyed(R"({"n":1})")), id);
  EXPECT_EQ(get(id).payload, R"({"path":"/a","model":"large","n":1})");
  const Error error = refusal(keyed(R"({"n":"x"})"));
  EXPECT_EQ(error.code, ErrorCode::kInvalidPayload);
  EXPECT_EQ(error.message,
            fmt::format("merged into task {}: payload: /n: expected number, found string", id.to_string()));
}

TEST_P(Contracts, AResultThatBreaksItsSchemaIsRefusedAndTheLeaseStays) {
  agree(R"({"result_schema":{"type":"object","required":["summary"]}})");
  const Lease lease = start_new({.type = "work"});
  EXPECT_EQ(refused_result(lease, "[]").code, ErrorCode::kInvalidResult);
  EXPECT_EQ(refused_result(lease, std::nullopt).message, "result: expected object, found null");
  EXPECT_EQ(refused_result(lease, "{}").message, R"(result: "summary" is missing)");
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  EXPECT_EQ(complete(lease, R"({"summary":""})"), TaskState::kCompleted);
}

TEST_P(Contracts, AFallbackMustFitTheResultSchema) {
  agree(R"({"result_schema":{"type":"object"}})");
  EXPECT_EQ(refusal({.type = "work", .deadline = 1h, .fallback_result = "1"}).message,
            "fallback_result: expected object, found number");
  enqueue({.type = "work", .deadline = 1h, .fallback_result = "{}"});
}

TEST_P(Contracts, ADecisionReportIsAskedForPartByPart) {
  agree(R"({"decision_report":"required"})");
  const Lease lease = start_new({.type = "work"});
  EXPECT_EQ(refused_result(lease, std::nullopt).message,
            "result: /decision_report: is missing; this type requires a decision report");
  EXPECT_EQ(refused_result(lease, R"({"decision_report":"fine"})").message,
            "result: /decision_report: expected object, found string");
  std::string parts;
  for (const std::string_view part : {"why", "what", "tradeoffs", "risks", "test_results", "next_steps"}) {
    const Error missing = refused_result(lease, fmt::format(R"({{"decision_report":{{{}}}}})", parts));
    EXPECT_EQ(missing.code, ErrorCode::kInvalidResult);
    EXPECT_EQ(missing.message, fmt::format("result: /decision_report/{}: is missing", part));
    const std::string_view comma = parts.empty() ? "" : ",";
    for (const std::string_view nothing : {R"("")", "[]", "null", "{}", "true"}) {
      EXPECT_EQ(
          refused_result(lease, fmt::format(R"({{"decision_report":{{{}{}"{}":{}}}}})", parts, comma, part, nothing))
              .message,
          fmt::format("result: /decision_report/{}: expected a text, list or object that is not empty", part));
    }
    parts += fmt::format(R"({}"{}":{})", comma, part,
                         part == "risks"          ? R"(["none"])"
                         : part == "test_results" ? R"({"passed":3})"
                                                  : R"("x")");
  }
  EXPECT_EQ(complete(lease, fmt::format(R"({{"decision_report":{{{}}}}})", parts)), TaskState::kCompleted);
}

TEST_P(Contracts, AnOptionalReportMustBeWholeWhenItIsThere) {
  agree(R"({"decision_report":"optional"})");
  const Lease lease = start_new({.type = "work"});
  EXPECT_EQ(refused_result(lease, R"({"decision_report":{}})").message, "result: /decision_report/why: is missing");
  EXPECT_EQ(complete(lease, "{}"), TaskState::kCompleted);
}

TEST_P(Contracts, ACancelledRunOwesNothing) {
  agree(R"({"decision_report":"required"})");
  const Lease lease = start_new({.type = "work"});
  cancel(lease.task);
  EXPECT_EQ(complete(lease), TaskState::kCancelled);
}

TEST_P(Contracts, SuccessIsFollowedInTheSameStep) {
  agree(R"({"on_success":{"type":"review","queue":"reviews","priority":2,"payload":{"level":"deep"}}})");
  const TaskId id = enqueue({.type = "work", .owner = "ann"});
  complete(start(id), R"({"pr":17})");
  const auto made = followers("review");
  ASSERT_EQ(made.size(), 1u);
  const Task& review = made[0];
  EXPECT_EQ(review.state, TaskState::kPending);
  EXPECT_EQ(review.queue, "reviews");
  EXPECT_EQ(review.priority, 2);
  EXPECT_EQ(review.owner, "ann");
  EXPECT_EQ(review.parent_id, id);
  EXPECT_EQ(
      review.payload,
      fmt::format(
          R"({{"level":"deep","task":{{"id":"{}","type":"work","state":"completed","generation":1,"result":{{"pr":17}}}}}})",
          id.to_string()));
  const auto events = all_events();
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events[events.size() - 2].name, "task.completed");
  EXPECT_EQ(events[events.size() - 1].name, "task.enqueued");
  EXPECT_EQ(claim({{.queue = "reviews"}}, 1).size(), 1u);
}

TEST_P(Contracts, EveryWayToFailIsFollowedOncePerGeneration) {
  agree(R"({"max_attempts":2,"retry":"fixed:0s","max_stalls":0,"on_failure":{"type":"mend"}})");
  const TaskId id = enqueue_work();
  fail(start(id));
  EXPECT_EQ(followers("mend").size(), 0u);  // there is an attempt left
  fail(start(id));
  ASSERT_EQ(followers("mend").size(), 1u);
  const json::Value first = told(followers("mend")[0]);
  EXPECT_EQ(text_at(first, "state"), R"("failed")");
  EXPECT_EQ(text_at(first, "error"), R"({"class":"agent_error","message":"it broke"})");

  retry(id);
  lose(start(id));  // max_stalls is 0
  ASSERT_EQ(state(id), TaskState::kFailed);
  EXPECT_EQ(followers("mend").size(), 2u);
  EXPECT_EQ(text_at(told(followers("mend")[0]), "generation"), "2");

  const TaskId late = enqueue({.type = "work", .deadline = 1min});
  pass(2min);
  ASSERT_EQ(state(late), TaskState::kFailed);
  EXPECT_EQ(followers("mend").size(), 3u);

  const TaskId dependent = enqueue({.type = "work", .depends_on = {late}, .on_parent_failure = OnParentFailure::kFail});
  ASSERT_EQ(state(dependent), TaskState::kFailed);
  EXPECT_EQ(followers("mend").size(), 4u);

  cancel(enqueue_work());
  EXPECT_EQ(followers("mend").size(), 4u);
}

TEST_P(Contracts, AStaleWorkerMakesNoSecondFollowUp) {
  agree(R"({"on_success":{"type":"review"}})");
  const Lease lease = start_new({.type = "work"});
  complete(lease);
  EXPECT_EQ(must(queue().complete(lease, {})).replayed, "completed");
  EXPECT_EQ(followers("review").size(), 1u);
}

TEST_P(Contracts, AFullQueueTakesFollowUps) {
  apply_config(R"({"types":{"work":{"on_success":{"type":"review"}}},"queues":{"review":{"max_waiting":1}}})");
  enqueue({.type = "review"});
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "review"})), ErrorCode::kQueueFull);
  complete(start_work());
  EXPECT_EQ(followers("review").size(), 2u);
}

TEST_P(Contracts, AFollowUpThatCannotBeMadeDoesNotHoldTheEndUp) {
  apply_config(
      R"({"types":{"work":{"on_success":{"type":"strict"}},"strict":{"payload_schema":{"required":["nobody"]}}}})");
  const Lease lease = start_work();
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
  EXPECT_EQ(followers("strict").size(), 0u);
  EXPECT_EQ(story(lease.task), "enqueued claimed completed follow_up_refused");
  EXPECT_EQ(last_event_of(lease.task).data,
            R"({"type":"strict","code":"invalid_payload","message":"payload: \"nobody\" is missing","alert":true})");
}

TEST_P(Contracts, AChainOfFollowUpsEndsAtTheDepthLimit) {
  apply_config(R"({"types":{"work":{"on_success":{"type":"work"}}},"limits":{"depth":3}})");
  enqueue_work();
  EXPECT_EQ(drain().size(), 4u);
  EXPECT_EQ(all_events().back().name, "task.follow_up_refused");
}

TEST_P(Contracts, AResultTooLongForAPayloadIsLeftOut) {
  apply_config(R"({"types":{"work":{"on_success":{"type":"review"}}},"limits":{"payload_bytes":300}})");
  complete(start_work(), json::quote(std::string(400, 'x')));
  const auto made = followers("review");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(text_at(told(made[0]), "result"), "(absent)");
  EXPECT_EQ(text_at(told(made[0]), "result_left_out"), "true");
}

TEST_P(Contracts, ManyEndsAtOnceHaveOneFollowUpEach) {
  agree(R"({"on_success":{"type":"review"},"on_failure":{"type":"mend"},"max_attempts":1})");
  for (int i = 0; i < 20; ++i) enqueue_work();
  std::vector<Settlement> ends;
  for (const ClaimedTask& task : claim(20)) {
    if (ends.size() % 2 == 0) {
      ends.push_back({task.lease, Completion{.result = "1"}});
    } else {
      ends.push_back({task.lease, Failure{.message = "no"}});
    }
  }
  for (const auto& answer : queue().settle(ends)) EXPECT_TRUE(answer.has_value());
  EXPECT_EQ(followers("review").size(), 10u);
  EXPECT_EQ(followers("mend").size(), 10u);
}

TEST_P(Contracts, CancellingATreeTakesItsFollowUpsAlong) {
  agree(R"({"on_success":{"type":"review"}})");
  const Lease root = start_new({.type = "root", .queue = "work"});
  const TaskSpec child{.type = "work"};
  const TaskId id = must(queue().spawn(root, std::span(&child, 1)))[0].id;
  complete(start(id));
  cancel(root.task);
  EXPECT_EQ(followers("review").at(0).state, TaskState::kCancelled);
}

TEST_P(Contracts, BadContractsAreRefusedWithTheirPlace) {
  const std::initializer_list<std::pair<std::string_view, std::string_view>> rows{
      {R"({"payload_schema":{"properties":{"a":{"tpye":"string"}}}})",
       R"(types.work.payload_schema.properties.a.tpye: unknown keyword "tpye" (did you mean "type"?))"},
      {R"({"payload_defaults":[1]})", "types.work.payload_defaults: expected a mapping, not an array"},
      {R"({"decision_report":"yes"})",
       R"(types.work.decision_report: expected required, optional or ignored, not "yes")"},
      {R"({"on_success":{}})", "types.work.on_success: type is missing"},
      {R"({"on_success":{"type":"x","payload":{"task":1}}})",
       "types.work.on_success.payload.task: this name is reserved for the ended task"},
  };
  for (const auto& [contract, what] : rows) {
    const auto answer = queue().apply_config(fmt::format(R"({{"types":{{"work":{}}}}})", contract), 0);
    ASSERT_FALSE(answer.has_value()) << contract;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidConfig);
    EXPECT_TRUE(answer.error().message.ends_with(what)) << answer.error().message;
  }
  const auto closed =
      queue().apply_config(R"({"types_closed":true,"types":{"work":{"on_failure":{"type":"gone"}}}})", 0);
  ASSERT_FALSE(closed.has_value());
  EXPECT_TRUE(closed.error().message.ends_with("there is no type gone, and types_closed is set"))
      << closed.error().message;
}

}  // namespace
}  // namespace drover::test
