// Who waits for an answer, and how everybody is told: tasks, explain, stuck, stats.
#include <algorithm>

#include "conformance/conformance.h"
#include "core/question.h"
#include "drover/worker.h"

namespace drover::test {
namespace {

const JsonText kYes = R"("yes")";

class AnswerWaits : public ConformanceTest {
 protected:
  using Reason = Explanation::Reason;

  struct Waiting {
    TaskId id;
    Question question;
  };
  Question ask(const Lease& lease, const std::string& text) { return must(queue().ask(lease, {.text = text})); }
  Waiting waiting(const std::string& text, const TaskSpec& spec = {.type = "work"}) {
    const Lease lease = start_new(spec);
    Waiting made{lease.task, ask(lease, text)};
    EXPECT_EQ(settle({lease, Suspend{.children = std::vector<TaskId>{}}}), TaskState::kBlocked);
    return made;
  }
  void answer(const Waiting& waits) { must(queue().answer(waits.question.id, {.value = kYes})); }

  // How many tasks wait for an answer, as stuck says; it has one group for them at most.
  std::int64_t stuck_for_answers(const std::optional<std::string>& owner = std::nullopt) {
    const StuckReport report = must(queue().stuck(owner));
    const auto is_asking = [](const StuckGroup& group) { return group.reason == Reason::kQuestion; };
    EXPECT_LE(std::ranges::count_if(report.groups, is_asking), 1);
    const auto group = std::ranges::find_if(report.groups, is_asking);
    return group == report.groups.end() ? 0 : group->tasks;
  }
  QuestionTotals totals() { return must(queue().stats()).questions; }
  bool is_sound() { return must(queue().fsck(FsckMode::kCheck)).empty(); }
};
ON_EVERY_STORE(AnswerWaits);

TEST_P(AnswerWaits, StuckHasThemAsOneGroupWithTheOldest) {
  const Waiting first = waiting("Shall I?");
  const Time since = first.question.asked_at;
  advance(5min);
  waiting("And I?", {.type = "work", .owner = "ben"});
  const TaskId parent = enqueue_work();
  enqueue({.type = "work", .depends_on = {parent}});
  const StuckReport report = must(queue().stuck(std::nullopt));
  ASSERT_EQ(report.groups.size(), 2U);
  const StuckGroup& group = report.groups.front();
  EXPECT_EQ(group.reason, Reason::kQuestion);
  EXPECT_EQ(group.tasks, 2);
  EXPECT_EQ(group.since, since);
  EXPECT_EQ(group.example, first.id);
  EXPECT_FALSE(group.gate || group.queue || group.at);
  EXPECT_EQ(group.text, "wait for an answer; the oldest is question " + first.question.id.to_string() +
                            ", asked 5m ago: \"Shall I?\"");
  EXPECT_EQ(report.blocked, 1);  // for its parent alone
}

TEST_P(AnswerWaits, AreCountedByOwner) {
  const Waiting anna = waiting("One?", {.type = "work", .owner = "anna"});
  const Waiting ben = waiting("Two?", {.type = "work", .owner = "ben"});
  advance(1ms);
  waiting("Three?", {.type = "work", .owner = "ben"});
  EXPECT_EQ(stuck_for_answers(), 3);
  EXPECT_EQ(stuck_for_answers("anna"), 1);
  EXPECT_EQ(stuck_for_answers("ben"), 2);
  EXPECT_EQ(stuck_for_answers("carl"), 0);
  EXPECT_EQ(must(queue().stuck("ben")).groups.front().example, ben.id);
  answer(anna);
  EXPECT_EQ(stuck_for_answers("anna"), 0);
  EXPECT_EQ(stuck_for_answers(), 2);
}

TEST_P(AnswerWaits, StayRightWhateverEndsThem) {
  const Waiting answered = waiting("Answered?");
  const Waiting withdrawn = waiting("Withdrawn?");
  const Waiting cancelled = waiting("Cancelled?");
  waiting("Late?", {.type = "work", .deadline = 1h});
  const Lease two = start_work();
  ask(two, "First?");
  const Question last = ask(two, "Second?");
  settle({two, Suspend{.children = std::vector<TaskId>{}}});
  EXPECT_EQ(stuck_for_answers(), 5);
  answer(answered);
  EXPECT_EQ(stuck_for_answers(), 4);
  must(queue().withdraw_question(withdrawn.question.id, {}));
  EXPECT_EQ(stuck_for_answers(), 3);
  cancel(cancelled.id);
  EXPECT_EQ(stuck_for_answers(), 2);
  must(queue().answer(last.id, {.value = kYes}));  // one of its two
  EXPECT_EQ(stuck_for_answers(), 2);
  pass(1h);
  EXPECT_EQ(stuck_for_answers(), 1);
  pass(kQuestionExpires);
  EXPECT_EQ(stuck_for_answers(), 0);
  EXPECT_EQ(class_of(get(two.task).error), ErrorClass::kUnanswered);
  EXPECT_TRUE(is_sound());
}

TEST_P(AnswerWaits, ATaskThatStillRunsDoesNotWait) {
  const Lease lease = start_work();
  const Question question = ask(lease, "Shall I?");
  EXPECT_EQ(get(lease.task).open_questions, 1);
  EXPECT_EQ(stuck_for_answers(), 0);
  EXPECT_EQ(totals().in(QuestionState::kOpen), 1);
  EXPECT_EQ(totals().tasks_waiting, 0);
  must(queue().answer(question.id, {.value = kYes}));
  EXPECT_EQ(get(lease.task).open_questions, 0);
}

TEST_P(AnswerWaits, ExplainSaysWhatIsAskedAndWhen) {
  const Waiting waits = waiting("Shall I?");
  advance(2h + 5min);
  const Explanation explained = explain(waits.id);
  EXPECT_EQ(explained.reason, Reason::kQuestion);
  EXPECT_EQ(explained.text,
            "it waits for an answer to question " + waits.question.id.to_string() + ", asked 2h5m ago: \"Shall I?\"");
  EXPECT_EQ(explained.at, waits.question.expires_at);

  // What depends on it is held by the same.
  const TaskId child = enqueue({.type = "work", .depends_on = {waits.id}});
  const Explanation above = explain(child);
  EXPECT_EQ(above.reason, Reason::kBlocked);
  ASSERT_EQ(above.chain.size(), 1U);
  EXPECT_EQ(above.chain.front().reason, Reason::kQuestion);
}

TEST_P(AnswerWaits, WithParentsBesidesItIsBlocked) {
  const Lease lease = start_work();
  const TaskSpec child{.type = "child"};
  must(queue().spawn(lease, std::span(&child, 1)));
  ask(lease, "Shall I?");
  EXPECT_EQ(settle({lease, Suspend{}}), TaskState::kBlocked);
  const Explanation explained = explain(lease.task);
  EXPECT_EQ(explained.reason, Reason::kBlocked);
  EXPECT_NE(explained.text.find("1 of 1 child, and for an answer"), std::string::npos) << explained.text;
  EXPECT_EQ(stuck_for_answers(), 1);
}

TEST_P(AnswerWaits, StatsCountQuestionsByState) {
  const Waiting first = waiting("One?");
  const Waiting second = waiting("Two?");
  waiting("Three?");
  EXPECT_EQ(totals().in(QuestionState::kOpen), 3);
  EXPECT_EQ(totals().tasks_waiting, 3);
  EXPECT_EQ(totals().oldest_open_at, first.question.asked_at);
  answer(first);
  must(queue().withdraw_question(second.question.id, {}));
  EXPECT_EQ(totals().in(QuestionState::kOpen), 1);
  EXPECT_EQ(totals().in(QuestionState::kAnswered), 1);
  EXPECT_EQ(totals().in(QuestionState::kWithdrawn), 1);
  EXPECT_EQ(totals().tasks_waiting, 1);
  pass(kQuestionExpires);
  EXPECT_EQ(totals().in(QuestionState::kOpen), 0);
  EXPECT_EQ(totals().in(QuestionState::kExpired), 1);
  EXPECT_FALSE(totals().oldest_open_at);
  cancel(second.id);
  must(queue().remove(second.id, {.by = "anna"}));
  EXPECT_EQ(totals().in(QuestionState::kWithdrawn), 0);
  EXPECT_TRUE(is_sound());
}

TEST_P(AnswerWaits, ARestartKeepsTheCounts) {
  const Waiting waits = waiting("Shall I?");
  reopen();
  EXPECT_EQ(stuck_for_answers(), 1);
  EXPECT_EQ(totals().in(QuestionState::kOpen), 1);
  answer(waits);
  EXPECT_EQ(stuck_for_answers(), 0);
}

// A handler in this process asks, gives way, and gets the answer when it runs again.
TEST_P(AnswerWaits, AHandlerAsksThroughItsContext) {
  const TaskId id = enqueue_work();
  const auto work = [&] {
    Worker worker(queue(), WorkerOptions{.until = RunUntil::kEmpty});
    worker.handle("work", [](TaskContext& context) -> HandlerResult {
      const auto answer = context.ask({.text = "Which?", .options = {"a", "b"}});
      if (!answer) return std::unexpected(Failure{.message = answer.error().message});
      return answer->value_or("null");
    });
    must(worker.run());
  };
  work();
  EXPECT_EQ(state(id), TaskState::kBlocked);
  const auto asked = must(queue().questions({.task_id = id}, 10, std::nullopt)).questions;
  ASSERT_EQ(asked.size(), 1U);
  must(queue().answer(asked[0].id, {.value = R"("b")", .by = "anna"}));
  work();
  EXPECT_EQ(state(id), TaskState::kCompleted);
  EXPECT_EQ(get(id).result, R"("b")");

  std::string transcript;
  for (const LogRecord& piece : must(queue().log(id, {.limit = kPageMax})).records) {
    if (piece.stream == LogStream::kTranscript) transcript += std::to_string(piece.run) + " " + piece.text;
  }
  EXPECT_EQ(transcript.find("1 "), 0U) << transcript;
  EXPECT_NE(transcript.find(R"x("text":"Which? (a, b)")x"), std::string::npos) << transcript;
  EXPECT_NE(transcript.find(": b\",\"question_id\""), std::string::npos) << transcript;
}

}  // namespace
}  // namespace drover::test
