// Dead letters: found by kind, and what operators decide on them.
#include <fmt/format.h>

#include "conformance/conformance.h"
#include "core/fingerprint.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(DeadLetters);

const Verdict kVerdict{.by = "ada@box", .why = "because | \"so\""};

std::string print_of(const std::string& message, ErrorClass error_class = ErrorClass::kInvalid) {
  return fingerprint({error_class, message});
}

TEST_P(DeadLetters, AreGroupedByKind) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 7; ++i) {
    const Lease lease = start_new({.type = i % 2 == 0 ? "work" : "other", .queue = "work"});
    fail(lease, ErrorClass::kInvalid, i < 5 ? "line " + std::to_string(i) + " is bad" : "no key \"a\"");
    ids.push_back(lease.task);
    pass(1s);
  }
  start_work();  // has not failed
  const auto groups = must(queue().error_groups({}));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0], (ErrorGroup{.fingerprint = print_of("line 0 is bad"),
                                   .error_class = ErrorClass::kInvalid,
                                   .pattern = "line <n> is bad",
                                   .count = 5,
                                   .types = {"other", "work"},
                                   .first_at = *get(ids[0]).finished_at,
                                   .last_at = *get(ids[4]).finished_at,
                                   .example = ids[4]}));
  EXPECT_EQ(groups[1].count, 2);
  EXPECT_EQ(must(queue().error_groups({.type = "other"})).at(0).count, 2);
  EXPECT_EQ(must(queue().error_groups({.fingerprint = groups[1].fingerprint})).size(), 1U);
  EXPECT_TRUE(must(queue().error_groups({.fingerprint = "000000000000"})).empty());
}

TEST_P(DeadLetters, AreListedByHowTheyEnded) {
  const auto failed = [&](ErrorClass error_class, const std::string& text) {
    const Lease lease = start_work();
    fail(lease, error_class, text);
    pass(10s);
    return lease.task;
  };
  const TaskId first = failed(ErrorClass::kInvalid, "line 1");
  const TaskId second = failed(ErrorClass::kAuth, "line 2");
  const TaskId third = failed(ErrorClass::kInvalid, "line 3");
  enqueue_work();
  must(queue().escalate(second, {.to = "bob", .verdict = kVerdict}));
  const auto ids = [&](const TaskFilter& filter) {
    std::vector<TaskId> found;
    for (const Task& task : all_tasks(filter)) found.push_back(task.id);
    return found;
  };
  using Ids = std::vector<TaskId>;
  EXPECT_EQ(ids({.error_class = ErrorClass::kInvalid}), (Ids{third, first}));
  EXPECT_EQ(ids({.fingerprint = print_of("line 7")}), (Ids{third, first}));
  EXPECT_EQ(ids({.fingerprint = print_of("line 7", ErrorClass::kAuth)}), Ids{second});
  EXPECT_EQ(ids({.finished_before = get(third).finished_at}), (Ids{second, first}));
  EXPECT_EQ(ids({.escalated = true}), Ids{second});
  EXPECT_EQ(ids({.states = {TaskState::kFailed}, .escalated = false}), (Ids{third, first}));
  EXPECT_TRUE(ids({.type = "other", .error_class = ErrorClass::kInvalid}).empty());
}

TEST_P(DeadLetters, AreListedWholeAndInPages) {
  constexpr int kTasks = 30;
  for (int i = 0; i < kTasks; ++i) {
    const Lease lease = start_new({.type = "work", .payload = std::to_string(i)});
    fail(lease, i % 3 == 0 ? ErrorClass::kAuth : ErrorClass::kInvalid);
  }
  const TaskFilter filter{.error_class = ErrorClass::kAuth};
  std::vector<std::string> payloads;
  std::optional<std::string> cursor;
  int pages = 0;
  do {
    const TaskPage page = must(queue().list(filter, 4, cursor));
    for (const Task& task : page.tasks) payloads.push_back(task.payload.value_or("none"));
    cursor = page.cursor;
    ++pages;
  } while (cursor);
  EXPECT_EQ(payloads, (std::vector<std::string>{"27", "24", "21", "18", "15", "12", "9", "6", "3", "0"}));
  EXPECT_EQ(pages, 3);
}

TEST_P(DeadLetters, ARetrySaysWhoAndWhy) {
  const Lease lease = start_work();
  fail(lease, ErrorClass::kInvalid);
  must(queue().retry(lease.task, {.verdict = kVerdict}));
  const Event event = last_event_of(lease.task);
  EXPECT_EQ(event.name, "task.retried");
  EXPECT_EQ(event.data, fmt::format(R"({{"by":"{}","why":"because | \"so\"","edited":false,"run_at":null}})",
                                    signed_as("ada@box")));
}

TEST_P(DeadLetters, ARetryReplacesThePayload) {
  const Lease lease = start_new({.type = "work", .payload = R"({"a":1,"b":0.10})", .tags = {"x"}});
  fail(lease, ErrorClass::kInvalid);
  const Task task = must(queue().retry(lease.task, {.payload = R"( {"b": 0.20} )"}));
  EXPECT_EQ(task.payload, R"({"b":0.20})");
  EXPECT_EQ(task.tags, std::vector<std::string>{"x"});
  EXPECT_EQ(task.generation, 2);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(claim_one().task.payload, R"({"b":0.20})");
}

TEST_P(DeadLetters, ARetryPatchesThePayload) {
  const Lease lease = start_new({.type = "work", .payload = R"({"a":1,"b":0.10,"c":{"d":2}})"});
  fail(lease, ErrorClass::kInvalid);
  const Task task = must(queue().retry(lease.task, {.patch = R"({"a": null, "c": {"e": 3}})"}));
  EXPECT_EQ(task.payload, R"({"b":0.10,"c":{"d":2,"e":3}})");
}

TEST_P(DeadLetters, ABadPayloadIsRefusedAndNothingChanges) {
  set_limits(R"({"payload_bytes": 100})");
  const Lease lease = start_new({.type = "work", .payload = R"({"a":1})"});
  fail(lease, ErrorClass::kInvalid);
  const World before = world();
  const std::string large = '"' + std::string(200, 'x') + '"';
  const auto code = [&](const RetryOrder& order) { return code_of(queue().retry(lease.task, order)); };
  EXPECT_EQ(code({.payload = "{"}), ErrorCode::kInvalidJson);
  EXPECT_EQ(code({.patch = "{"}), ErrorCode::kInvalidJson);
  EXPECT_EQ(code({.payload = large}), ErrorCode::kPayloadTooLarge);
  EXPECT_EQ(code({.patch = R"({"b":)" + large + "}"}), ErrorCode::kPayloadTooLarge);
  EXPECT_EQ(code({.payload = "1", .patch = "{}"}), ErrorCode::kInvalidArgument);
  if (signed_as("me") == "me") {
    EXPECT_EQ(code({.verdict = {.by = "\xff"}}), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(code({.verdict = {.why = std::string(5'000, 'x')}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
}

TEST_P(DeadLetters, AnEditedPayloadMeetsTheContractOfItsType) {
  apply_config(R"({"types":{"work":{"payload_defaults":{"b":2},)"
               R"("payload_schema":{"type":"object","required":["a"]}}}})");
  const Lease lease = start_new({.type = "work", .payload = R"({"a":1})"});
  fail(lease, ErrorClass::kInvalid);
  EXPECT_EQ(code_of(queue().retry(lease.task, {.payload = "{}"})), ErrorCode::kInvalidPayload);
  EXPECT_EQ(code_of(queue().retry(lease.task, {.patch = R"({"a":null})"})), ErrorCode::kInvalidPayload);
  EXPECT_EQ(must(queue().retry(lease.task, {.payload = R"({"a":3})"})).payload, R"({"a":3,"b":2})");
}

TEST_P(DeadLetters, ARetryWaitsForItsTime) {
  const Lease lease = start_work();
  fail(lease, ErrorClass::kInvalid);
  const Time until = now() + 60s;
  const Task task = must(queue().retry(lease.task, {.run_at = until}));
  EXPECT_EQ(task.state, TaskState::kScheduled);
  EXPECT_EQ(task.run_at, until);
  pass(59s);
  EXPECT_TRUE(claim(1).empty());
  pass(1s);
  EXPECT_EQ(claim_one().task.id, lease.task);
}

TEST_P(DeadLetters, AnEscalatedOneStaysFailed) {
  const Lease lease = start_work();
  fail(lease, ErrorClass::kInvalid);
  const Task before = get(lease.task);
  pass(5s);
  Task after = must(queue().escalate(lease.task, {.to = "bob", .verdict = kVerdict}));
  EXPECT_EQ(after.escalation,
            (Escalation{.to = "bob", .by = signed_as(kVerdict.by), .why = kVerdict.why, .at = now()}));
  EXPECT_EQ(get(lease.task), after);
  after.escalation.reset();
  EXPECT_EQ(after, before);
  const Event event = last_event_of(lease.task);
  EXPECT_EQ(event.name, "task.escalated");
  EXPECT_EQ(event.data, fmt::format(R"({{"to":"bob","by":"{}","why":"because | \"so\""}})", signed_as("ada@box")));
  EXPECT_EQ(must(queue().error_groups({})).at(0).escalated, 1);
  must(queue().escalate(lease.task, {.to = "cyd", .verdict = kVerdict}));
  EXPECT_EQ(get(lease.task).escalation->to, "cyd");
  EXPECT_EQ(retry(lease.task).escalation, std::nullopt);
}

TEST_P(DeadLetters, OnlyFailedOnesAreEscalated) {
  for (const TaskState state :
       {TaskState::kPending, TaskState::kRunning, TaskState::kCompleted, TaskState::kCancelled}) {
    const TaskId id = place_in(state).id;
    EXPECT_EQ(code_of(queue().escalate(id, {.to = "bob"})), ErrorCode::kWrongState) << name_of(state);
  }
  const TaskId failed = place_in(TaskState::kFailed).id;
  EXPECT_EQ(code_of(queue().escalate(failed, {.to = ""})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().escalate(failed, {.to = "\xff"})), ErrorCode::kInvalidArgument);
}

TEST_P(DeadLetters, ADeletedOneIsGoneWithAllThatBelongsToIt) {
  const TaskSpec spec{.type = "work",
                      .payload = R"({"a":1})",
                      .tags = {"x"},
                      .request_id = "r",
                      .dedupe_key = "k",
                      .dedupe = DedupeMode::kDrop};
  const Lease lease = start_new(spec);
  const LogChunk chunk{LogStream::kOut, "hello\n"};
  must(queue().append_log(lease, std::span(&chunk, 1)));
  must(queue().checkpoint(lease, "1"));
  fail(lease, ErrorClass::kInvalid);
  must(queue().remove(lease.task, kVerdict));
  EXPECT_EQ(code_of(queue().get(lease.task)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().log(lease.task, 0, 10)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().remove(lease.task, kVerdict)), ErrorCode::kNotFound);
  EXPECT_TRUE(all_tasks({.tag = "x"}).empty());
  EXPECT_TRUE(must(queue().error_groups({})).empty());
  const Event event = last_event_of(lease.task);
  EXPECT_EQ(event.name, "task.deleted");
  EXPECT_EQ(event.data, fmt::format(R"({{"by":"{}","why":"because | \"so\""}})", signed_as("ada@box")));
  // Its request id and its dedupe key are free again.
  const Enqueued again = must(queue().enqueue_one(spec));
  EXPECT_FALSE(again.deduplicated);
  EXPECT_NE(again.id, lease.task);
}

TEST_P(DeadLetters, OnlyFinishedTasksAreDeleted) {
  for (const TaskState state :
       {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending, TaskState::kRunning, TaskState::kStalled}) {
    const TaskId id = place_in(state).id;
    EXPECT_EQ(code_of(queue().remove(id, kVerdict)), ErrorCode::kWrongState) << name_of(state);
  }
  for (const TaskState state : {TaskState::kCompleted, TaskState::kFailed, TaskState::kCancelled}) {
    const TaskId id = place_in(state).id;
    must(queue().remove(id, kVerdict));
    EXPECT_EQ(code_of(queue().get(id)), ErrorCode::kNotFound) << name_of(state);
  }
}

TEST_P(DeadLetters, DeletingAParentLeavesNobodyWaiting) {
  const Lease first = start_work();
  const TaskId second = enqueue_work();
  const TaskId child =
      enqueue({.type = "work", .depends_on = {first.task, second}, .on_parent_failure = OnParentFailure::kRun});
  const TaskId cancelled = enqueue_after(first.task);
  fail(first, ErrorClass::kInvalid);
  must(queue().remove(first.task, kVerdict));
  EXPECT_EQ(state(child), TaskState::kBlocked);
  EXPECT_EQ(state(cancelled), TaskState::kCancelled);
  complete(start(second));
  EXPECT_EQ(state(child), TaskState::kPending);
  // What that parent's end had ended can be brought back: it waits for nobody any more.
  EXPECT_EQ(retry(cancelled).state, TaskState::kPending);
}

TEST_P(DeadLetters, OneWhoseAgentMayLiveIsNotDeletedYet) {
  const Lease lease = start_new({.type = "work", .deadline = 5s});
  pass(5s);
  ASSERT_EQ(state(lease.task), TaskState::kFailed);
  EXPECT_EQ(code_of(queue().remove(lease.task, kVerdict)), ErrorCode::kWrongState);
  pass(kLease);
  must(queue().remove(lease.task, kVerdict));
}

}  // namespace
}  // namespace drover::test
