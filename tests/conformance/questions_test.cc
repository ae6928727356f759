// Questions: a running task asks, gives way, and runs again once somebody has answered.
#include <algorithm>
#include <ranges>

#include "conformance/conformance.h"
#include "core/question.h"
#include "drover/bulk.h"
#include "support/together.h"

namespace drover::test {
namespace {

const JsonText kYes = R"("yes")";
const JsonText kNo = R"("no")";

class Questions : public ConformanceTest {
 protected:
  Question ask(const Lease& lease, const QuestionSpec& spec = {.text = "Shall I?"}) {
    return must(queue().ask(lease, spec));
  }
  Question answer(const QuestionId& id, const JsonText& value = kYes) {
    return must(queue().answer(id, {.value = value, .by = "anna"}));
  }
  std::optional<ErrorCode> refused(const QuestionId& id, const JsonText& value) {
    return code_of(queue().answer(id, {.value = value, .by = "ben"}));
  }
  Question look(const QuestionId& id) { return must(queue().question(id)); }
  TaskState suspend(const Lease& lease) { return settle({lease, Suspend{.children = std::vector<TaskId>{}}}); }
  std::vector<Question> listed(const QuestionFilter& filter) {
    return must(queue().questions(filter, kPageMax, std::nullopt)).questions;
  }

  // A task that has suspended with an open question.
  struct Waiting {
    TaskId id;
    Question question;
  };
  Waiting waiting(const QuestionSpec& spec = {.text = "Shall I?"}, const TaskSpec& task = {.type = "work"}) {
    const Lease lease = start_new(task);
    Waiting made{lease.task, ask(lease, spec)};
    EXPECT_EQ(suspend(lease), TaskState::kBlocked);
    return made;
  }
};
ON_EVERY_STORE(Questions);

TEST_P(Questions, WaitWithoutLeasePermitAndAttempt) {
  const Waiting waits = waiting({.text = "Shall I?"}, {.type = "work", .locks = {"deploy"}, .max_attempts = 1});
  const Task task = get(waits.id);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.suspends, 1);
  EXPECT_FALSE(task.worker_id);
  const TaskId other = enqueue({.type = "work", .locks = {"deploy"}});
  EXPECT_EQ(claim_one().task.id, other);
  EXPECT_EQ(look(waits.question.id).state, QuestionState::kOpen);
}

TEST_P(Questions, AnAnswerBringsTheTaskBackAtTheTail) {
  const Waiting waits = waiting();
  const TaskId before = enqueue_work();
  const Question answered = answer(waits.question.id);
  EXPECT_EQ(answered.state, QuestionState::kAnswered);
  EXPECT_EQ(answered.answer, kYes);
  EXPECT_EQ(answered.answered_by, signed_as("anna"));
  EXPECT_EQ(state(waits.id), TaskState::kPending);
  EXPECT_EQ(claim_one().task.id, before);
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.id, waits.id);
  EXPECT_EQ(again.questions, std::vector{answered});
  EXPECT_EQ(ask(again.lease), answered);  // by its key
  EXPECT_EQ(complete(again.lease), TaskState::kCompleted);
  EXPECT_EQ(story(waits.id), "enqueued claimed question.asked suspended question.answered unblocked claimed completed");
}

TEST_P(Questions, TheFirstAnswerWins) {
  const Waiting waits = waiting();
  answer(waits.question.id);
  const auto second = queue().answer(waits.question.id, {.value = kNo, .by = "ben"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kWrongState);
  EXPECT_NE(second.error().message.find("yes"), std::string::npos) << second.error().message;
  EXPECT_EQ(look(waits.question.id).answer, kYes);
  EXPECT_EQ(get(waits.id).suspends, 1);
}

TEST_P(Questions, OfTwoAnswersAtOnceOneWins) {
  for (int round = 0; round < 5; ++round) {
    const Waiting waits = waiting();
    std::vector<Result<Question>> answers(2);
    together(2, [&](int i) {
      answers[static_cast<std::size_t>(i)] = queue().answer(waits.question.id, {.value = i == 0 ? kYes : kNo});
    });
    EXPECT_EQ(std::ranges::count_if(answers, [](const auto& one) { return one.has_value(); }), 1);
    EXPECT_EQ(state(waits.id), TaskState::kPending);
    EXPECT_EQ(complete(start(waits.id)), TaskState::kCompleted);
  }
}

TEST_P(Questions, AskedAgainIsTheSameQuestion) {
  const Lease lease = start_work();
  const Question first = ask(lease);
  EXPECT_EQ(ask(lease), first);
  EXPECT_NE(ask(lease, {.text = "Something else?"}).id, first.id);
  EXPECT_NE(ask(lease, {.text = "Shall I?", .key = "again"}).id, first.id);
  EXPECT_EQ(listed({.task_id = lease.task}).size(), 3U);
}

TEST_P(Questions, AnAnswerBeforeTheSuspendLosesNothing) {
  const Lease lease = start_work();
  const Question question = ask(lease);
  answer(question.id);
  EXPECT_EQ(suspend(lease), TaskState::kPending);
  EXPECT_EQ(ask(start(lease.task)).answer, kYes);
}

TEST_P(Questions, EveryOpenQuestionIsWaitedFor) {
  const Lease lease = start_work();
  const Question one = ask(lease, {.text = "One?"});
  const Question two = ask(lease, {.text = "Two?"});
  EXPECT_EQ(suspend(lease), TaskState::kBlocked);
  answer(two.id);
  EXPECT_EQ(state(lease.task), TaskState::kBlocked);
  answer(one.id);
  EXPECT_EQ(state(lease.task), TaskState::kPending);
}

TEST_P(Questions, ChildrenAndAnswersAreAwaitedTogether) {
  const Lease lease = start_work();
  const TaskSpec child{.type = "child"};
  must(queue().spawn(lease, std::span(&child, 1)));
  const Question question = ask(lease);
  EXPECT_EQ(settle({lease, Suspend{}}), TaskState::kBlocked);
  complete(claim({{.queue = "child"}}, 1).at(0).lease);
  EXPECT_EQ(state(lease.task), TaskState::kBlocked);
  answer(question.id);
  EXPECT_EQ(state(lease.task), TaskState::kPending);
}

TEST_P(Questions, OptionsAndSchemaDecideWhatIsAnAnswer) {
  const Lease lease = start_work();
  const Question choice = ask(lease, {.text = "Which?", .options = {"yes", "no"}});
  EXPECT_EQ(refused(choice.id, R"("maybe")"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused(choice.id, "1"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused(choice.id, "{"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(answer(choice.id, kNo).answer, kNo);
  const Question number = ask(lease, {.text = "How many?", .schema = R"({"type":"integer","minimum":1})"});
  EXPECT_EQ(refused(number.id, "0"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused(number.id, kYes), ErrorCode::kInvalidArgument);
  EXPECT_EQ(look(number.id).state, QuestionState::kOpen);
  EXPECT_EQ(answer(number.id, "3").answer, "3");
  const Question anything = ask(lease, {.text = "What?"});
  EXPECT_EQ(refused(anything.id, '"' + std::string(kAnswerBytesMax, 'x') + '"'), ErrorCode::kInvalidArgument);
  EXPECT_EQ(answer(anything.id, "null").answer, "null");
  EXPECT_EQ(look(anything.id).answer, "null");
}

TEST_P(Questions, BadOnesAreRefusedAndChangeNothing) {
  const Lease lease = start_work();
  const auto code = [&](const QuestionSpec& spec) { return code_of(queue().ask(lease, spec)); };
  EXPECT_EQ(code({.text = ""}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = std::string(kQuestionTextBytesMax + 1, 'x')}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = "?", .options = {"a", "a"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = "?", .options = {"a"}, .schema = "{}"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = "?", .schema = R"({"type":"no such"})"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = "?", .options = {"a"}, .default_answer = R"("b")"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = "?", .expires = Millis{0}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.text = "?", .expires = kQuestionExpiresMax + Millis{1}}), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(listed({}).empty());
  EXPECT_EQ(code_of(queue().question(QuestionId(lease.task.bytes()))), ErrorCode::kNotFound);
}

TEST_P(Questions, OnlyTheLiveLeaseAsks) {
  const Lease lease = start_work();
  complete(lease);
  EXPECT_EQ(code_of(queue().ask(lease, {.text = "Shall I?"})), ErrorCode::kStaleLease);
}

TEST_P(Questions, AreBoundedForEachTask) {
  const Lease lease = start_work();
  for (int i = 0; i < kQuestionsOfTaskMax; ++i) ask(lease, {.text = "Number " + std::to_string(i) + "?"});
  EXPECT_EQ(code_of(queue().ask(lease, {.text = "One more?"})), ErrorCode::kLimitExceeded);
  EXPECT_EQ(ask(lease, {.text = "Number 7?"}).key, ask(lease, {.text = "Number 7?"}).key);
}

TEST_P(Questions, TheDefaultAnswersWhenTheTimeIsOver) {
  const Waiting waits = waiting({.text = "Shall I?", .default_answer = kNo, .expires = 1h});
  pass(1h - 1ms);
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
  pass(1ms);
  const Question question = look(waits.question.id);
  EXPECT_EQ(question.state, QuestionState::kAnswered);
  EXPECT_EQ(question.answer, kNo);
  EXPECT_EQ(question.answered_by, "expiry");
  EXPECT_EQ(state(waits.id), TaskState::kPending);
  EXPECT_EQ(refused(question.id, kYes), ErrorCode::kWrongState);
}

TEST_P(Questions, WithoutADefaultTheTaskFails) {
  const Waiting waits = waiting({.text = "Shall I?", .expires = 1h});
  pass(1h);
  EXPECT_EQ(look(waits.question.id).state, QuestionState::kExpired);
  EXPECT_EQ(state(waits.id), TaskState::kFailed);
  EXPECT_EQ(class_of(get(waits.id).error), ErrorClass::kUnanswered);
}

TEST_P(Questions, ARunThatGoesOnHearsThatNobodyAnswered) {
  const Lease lease = start_work();
  const Question question = ask(lease, {.text = "Shall I?", .expires = 10s});
  pass(10s);
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  EXPECT_EQ(ask(lease).state, QuestionState::kExpired);
  EXPECT_EQ(look(question.id).state, QuestionState::kExpired);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(Questions, AnAnswerAndTheExpiryInOneMillisecondAreOne) {
  const Waiting waits = waiting({.text = "Shall I?", .default_answer = kNo, .expires = 1h});
  advance(1h);
  const bool came_first = queue().answer(waits.question.id, {.value = kYes}).has_value();
  sweep();
  EXPECT_EQ(look(waits.question.id).answer, came_first ? kYes : kNo);
  EXPECT_EQ(state(waits.id), TaskState::kPending);
  EXPECT_EQ(get(waits.id).suspends, 1);
}

TEST_P(Questions, OneThatIsWithdrawnIsNotWaitedFor) {
  const Waiting waits = waiting();
  const Question withdrawn = must(queue().withdraw_question(waits.question.id, {.by = "anna", .why = "moot"}));
  EXPECT_EQ(withdrawn.state, QuestionState::kWithdrawn);
  EXPECT_EQ(withdrawn.why, "moot");
  EXPECT_EQ(refused(waits.question.id, kYes), ErrorCode::kWrongState);
  EXPECT_EQ(ask(start(waits.id)), withdrawn);
}

TEST_P(Questions, AreWithdrawnWhenTheirTaskEnds) {
  const Waiting cancelled = waiting({.text = "One?"});
  cancel(cancelled.id);
  EXPECT_EQ(look(cancelled.question.id).state, QuestionState::kWithdrawn);
  EXPECT_EQ(refused(cancelled.question.id, kYes), ErrorCode::kWrongState);

  const Waiting late = waiting({.text = "Two?"}, {.type = "work", .deadline = 1h});
  pass(1h);
  EXPECT_EQ(state(late.id), TaskState::kFailed);
  EXPECT_EQ(look(late.question.id).state, QuestionState::kWithdrawn);

  const Lease runs = start_work();
  const Question question = ask(runs, {.text = "Three?"});
  complete(runs);
  EXPECT_EQ(look(question.id).state, QuestionState::kWithdrawn);
  EXPECT_TRUE(listed({.state = QuestionState::kOpen}).empty());
}

TEST_P(Questions, ABulkCancelWithdrawsThem) {
  const Waiting one = waiting({.text = "One?"});
  const Waiting two = waiting({.text = "Two?"});
  must(queue().start_bulk({.verb = BulkVerb::kCancel, .ids = {one.id, two.id}}));
  sweep();
  EXPECT_EQ(look(one.question.id).state, QuestionState::kWithdrawn);
  EXPECT_EQ(look(two.question.id).state, QuestionState::kWithdrawn);
}

TEST_P(Questions, EditAndRetryOfASuspendedTask) {
  const Waiting waits = waiting();
  EXPECT_EQ(must(queue().edit(waits.id, {.priority = 1})).state, TaskState::kBlocked);
  EXPECT_EQ(code_of(queue().retry(waits.id)), ErrorCode::kWrongState);
  cancel(waits.id);
  EXPECT_EQ(retry(waits.id).state, TaskState::kPending);
  const Lease lease = start(waits.id);
  const Question again = ask(lease);
  EXPECT_NE(again.id, waits.question.id);  // it starts over
  EXPECT_EQ(again.state, QuestionState::kOpen);
  EXPECT_EQ(again.generation, 2);
}

TEST_P(Questions, TheRetryOfAParentThatCountedAsDone) {
  const TaskId parent = enqueue({.type = "work", .max_attempts = 1});
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kRun});
  fail(start(parent));
  const Lease lease = start(child);
  const Question question = ask(lease);
  EXPECT_EQ(suspend(lease), TaskState::kBlocked);
  retry(parent);
  answer(question.id);
  EXPECT_EQ(state(child), TaskState::kBlocked);  // for its parent
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Questions, SurviveTheRunThatAsked) {
  const Lease lease = start_work();
  const Question question = ask(lease);
  lose(lease);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
  answer(question.id);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.questions.at(0).answer, kYes);
  EXPECT_EQ(ask(again.lease).answer, kYes);
  EXPECT_EQ(listed({.task_id = lease.task}).size(), 1U);
}

TEST_P(Questions, ATaskThatRunsOnceCannotSuspend) {
  const Lease lease = start_new({.type = "work", .at_most_once = true});
  const Question question = ask(lease);
  EXPECT_EQ(code_of(try_settle({lease, Suspend{.children = std::vector<TaskId>{}}})), ErrorCode::kInvalidArgument);
  answer(question.id);
  EXPECT_EQ(ask(lease).answer, kYes);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(Questions, SuspendTooOftenAndTheTaskFails) {
  const Lease lease = start_new({.type = "work", .max_suspends = 0});
  const Question question = ask(lease);
  EXPECT_EQ(suspend(lease), TaskState::kFailed);
  EXPECT_EQ(class_of(get(lease.task).error), ErrorClass::kSuspended);
  EXPECT_EQ(look(question.id).state, QuestionState::kWithdrawn);
}

TEST_P(Questions, TheSpawnerAnswersWhatItWasAsked) {
  const Lease spawner = start_work();
  const TaskSpec spec{.type = "child"};
  must(queue().spawn(spawner, std::span(&spec, 1)));
  const Lease child = claim({{.queue = "child"}}, 1).at(0).lease;
  const Question question = ask(child, {.text = "Which?", .to = AskedOf::kSpawner});
  EXPECT_EQ(question.to, AskedOf::kSpawner);
  EXPECT_EQ(question.spawner, spawner.task);
  EXPECT_EQ(listed({.state = QuestionState::kOpen, .spawner = spawner.task}).size(), 1U);
  EXPECT_EQ(code_of(queue().answer(question.id, {.value = kYes, .spawner = child})), ErrorCode::kForbidden);
  const Question answered = must(queue().answer(question.id, {.value = kYes, .spawner = spawner}));
  EXPECT_EQ(answered.answered_by, "task:" + spawner.task.to_string());
  const Question other = ask(child, {.text = "A person?"});
  EXPECT_EQ(code_of(queue().answer(other.id, {.value = kYes, .spawner = spawner})), ErrorCode::kForbidden);
}

TEST_P(Questions, PeopleReplaceASpawnerThatIsSilentOrAway) {
  const Lease spawner = start_work();
  const TaskSpec spec{.type = "child"};
  must(queue().spawn(spawner, std::span(&spec, 1)));
  const Lease child = claim({{.queue = "child"}}, 1).at(0).lease;
  const Question question = ask(child, {.text = "Which?", .to = AskedOf::kSpawner});
  EXPECT_EQ(suspend(child), TaskState::kBlocked);
  EXPECT_EQ(renew(spawner, kSpawnerPatience * 2), LeaseState::kHeld);
  pass(kSpawnerPatience);
  const Question handed_over = look(question.id);
  EXPECT_EQ(handed_over.to, AskedOf::kHuman);
  EXPECT_EQ(handed_over.state, QuestionState::kOpen);
  EXPECT_EQ(code_of(queue().answer(question.id, {.value = kYes, .spawner = spawner})), ErrorCode::kForbidden);
  answer(question.id);

  complete(spawner);
  const Lease orphan = claim({{.queue = "child"}}, 1).at(0).lease;
  EXPECT_EQ(ask(orphan, {.text = "And now?", .to = AskedOf::kSpawner}).to, AskedOf::kHuman);
}

TEST_P(Questions, AreListedNewestFirstInPages) {
  std::vector<QuestionId> asked;
  for (int i = 0; i < 5; ++i) {
    const Lease lease = start_new({.type = "work", .owner = i == 3 ? "ben" : "anna"});
    asked.push_back(ask(lease).id);
    advance(1ms);
  }
  std::vector<QuestionId> found;
  std::optional<std::string> cursor;
  do {
    const QuestionPage page = must(queue().questions({}, 2, cursor));
    for (const Question& question : page.questions) found.push_back(question.id);
    cursor = page.cursor;
  } while (cursor);
  std::ranges::reverse(asked);
  EXPECT_EQ(found, asked);
  EXPECT_EQ(listed({.owner = "ben"}).size(), 1U);
  answer(asked.front());
  EXPECT_EQ(listed({.state = QuestionState::kOpen}).size(), 4U);
  EXPECT_EQ(listed({.state = QuestionState::kAnswered}).size(), 1U);
  EXPECT_EQ(code_of(queue().questions({}, 0, std::nullopt)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().questions({}, 10, "nonsense")), ErrorCode::kInvalidArgument);
}

TEST_P(Questions, GoWithTheirTask) {
  const Waiting waits = waiting();
  cancel(waits.id);
  must(queue().remove(waits.id, {.by = "anna"}));
  EXPECT_EQ(code_of(queue().question(waits.question.id)), ErrorCode::kNotFound);
  EXPECT_TRUE(listed({}).empty());
}

TEST_P(Questions, AreThereAfterARestart) {
  const Waiting waits = waiting();
  reopen();
  EXPECT_EQ(look(waits.question.id), waits.question);
  answer(waits.question.id);
  EXPECT_EQ(state(waits.id), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
