// Questions: ask, answer, withdraw, and what their time brings. Every change of a task's question is a step of the
// task, too, so that nothing that was decided from the one can be applied to the other's past.
#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "core/budget.h"
#include "core/page_limit.h"
#include "core/question_pages.h"
#include "engine/cascade.h"
#include "engine/engine.h"

namespace drover {
namespace {

std::unexpected<Error> no_such_question(const QuestionId& id) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no question {}", id.to_string()));
}

Status check_live(const TaskRecord& record, const Lease& lease) {
  if (record.task.state == TaskState::kRunning && record.lease == lease.id && !lease.id.is_none()) return {};
  return fail(ErrorCode::kStaleLease, fmt::format("this lease of task {} has ended; the task is {}",
                                                  lease.task.to_string(), name_of(record.task.state)));
}

Result<SpawnerIs> look_at_spawner(RecordView& view, const Task& task) {
  if (!task.parent_id) return SpawnerIs::kAway;
  const auto spawner = TRY(view.find(*task.parent_id, Parts::kHead));
  return spawner && spawner->task.state == TaskState::kRunning ? SpawnerIs::kRunning : SpawnerIs::kAway;
}

QuestionId new_question_id(Rng& rng, Time now) {
  return QuestionId(new_task_id(rng, now).bytes());
}

EventDraft event_of(const Question& before, const Question& after) {
  return {.name = event_name(before, after), .data = event_data(after)};
}

}  // namespace

Result<Question> Engine::ask(const Lease& lease, const QuestionSpec& spec) {
  const auto checked = TRY(checked_question(spec));
  CHECK(checked.key.has_value());  // by checked_question
  const std::string& key = *checked.key;
  const auto policy = TRY(this->policy());
  recent_.forget_claimed(lease.task);
  Question asked;
  const auto decide_ask = [&](RecordView& view, const TaskRecord& record) -> Result<StepGroup> {
    TRY(check_live(record, lease));
    const auto before = TRY(store_.questions_of(lease.task));
    if (const QuestionRecord* same = find_asked(record, before, key)) {
      asked = same->question;
      return StepGroup{};
    }
    TRY(check_may_ask(record, before));
    const Time now = TRY(store_.now());
    const auto spawner = TRY(look_at_spawner(view, record.task));
    asked = new_question(new_question_id(rng_, now), record, checked, spawner, now);
    Cascade cascade(view, rng_, *policy, now);
    TRY(cascade.run(record, trigger::Ask{event_of(asked, asked)}));
    cascade.add(QuestionStep{.next = asked});
    return cascade.take_last();
  };
  TRY(change(lease.task, Parts::kHead, "ask", decide_ask));
  return asked;
}

Result<Question> Engine::question(const QuestionId& id) {
  auto found = TRY(store_.read_questions(std::span(&id, 1)));
  std::optional<QuestionRecord>& record = found.front();
  if (!record) return no_such_question(id);
  return std::move(record->question);
}

Result<QuestionPage> Engine::questions(const QuestionFilter& filter, int limit,
                                       const std::optional<std::string>& cursor) {
  TRY(check_page_limit(limit));
  std::optional<QuestionId> before;
  if (cursor) {
    before = QuestionId::parse(*cursor);
    if (!before) return drover::fail(ErrorCode::kInvalidArgument, "cursor: not one that a page of questions gave");
  }
  if (!filter.task_id) return store_.list_questions(filter, limit, before);
  // A task has few, and they are found by it.
  const auto asked = TRY(store_.questions_of(*filter.task_id));
  QuestionPage page;
  for (auto one = asked.rbegin(); one != asked.rend(); ++one) {
    const Question& question = one->question;
    if (!admits(filter, question) || (before && question.id >= *before)) continue;
    if (std::cmp_equal(page.questions.size(), limit)) {
      page.cursor = page.questions.back().id.to_string();
      break;
    }
    page.questions.push_back(question);
  }
  return page;
}

// The question afterwards, and what its task makes of it.
Result<StepGroup> Engine::question_steps(const QuestionRecord& before, Question after, Time now) {
  const EventDraft event = event_of(before.question, after);
  QuestionStep step{.next = std::move(after), .expected_revision = before.revision};
  if (before.question.gate) {
    StepGroup group;
    if (step.next.state == QuestionState::kAnswered && is_raise(step.next.answer.value_or("null"))) {
      group.gates = TRY(raise_asked_for(step.next, now));
    }
    step.events.push_back(event);
    group.questions.push_back(std::move(step));
    return group;
  }
  const std::optional<TaskId>& task = before.question.task_id;
  CHECK(task.has_value());  // a question has a gate or a task
  RecordView view(store_);
  const auto record = TRY(view.find(*task, Parts::kHead));
  if (!record) return no_such_task(*task);
  const auto policy = TRY(this->policy());
  Cascade cascade(view, rng_, *policy, now);
  const bool is_open = step.next.state == QuestionState::kOpen;
  const bool was_open = before.question.state == QuestionState::kOpen;
  using Outcome = trigger::QuestionClosed::Outcome;
  const Outcome outcome = is_unanswered(step.next) ? Outcome::kUnanswered : Outcome::kMet;
  cascade.add(QuestionStep(step));
  if (was_open && !is_open) {
    TRY(cascade.run(*record, trigger::QuestionClosed{outcome, event}));
  } else {
    Step same{.next = *record, .expected_revision = record->revision};
    same.events.push_back(event);
    cascade.add(std::move(same));
  }
  recent_.forget_claimed(record->task.id);
  return cascade.take_last();
}

Result<Question> Engine::change_question(const QuestionId& id, const ChangeQuestion& change) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto found = TRY(store_.read_questions(std::span(&id, 1)));
    const std::optional<QuestionRecord>& before = found.front();
    if (!before) return no_such_question(id);
    const Time now = TRY(time_of_end());
    auto after = TRY(change(before->question, now));
    if (after == before->question) return after;
    const StepGroup group = TRY(question_steps(*before, after, now));
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() == Applied::kDone) return after;
  }
  return too_much_contention("answer");
}

Result<Question> Engine::answer(const QuestionId& id, const AnswerOrder& order) {
  TRY(check_words("who", order.by));
  return change_question(id, [&](const Question& question, Time now) -> Result<Question> {
    std::string by = order.by;
    if (order.spawner) {
      const auto records = TRY(store_.read(std::span(&order.spawner->task, 1), Parts::kHead));
      if (!records.front()) return no_such_task(order.spawner->task);
      TRY(check_live(*records.front(), *order.spawner));
      TRY(check_spawner_may_answer(question, order.spawner->task));
      by = "task:" + order.spawner->task.to_string();
    }
    // A question that is closed says so before the answer is judged.
    TRY(answered(question, order.value, by, now));
    auto value = TRY(checked_answer(question, order.value));
    return answered(question, std::move(value), std::move(by), now);
  });
}

Result<Question> Engine::withdraw_question(const QuestionId& id, const Verdict& verdict) {
  TRY(check_verdict(verdict));
  return change_question(
      id, [&](const Question& question, Time now) { return withdrawn(question, verdict.by, verdict.why, now); });
}

Result<bool> Engine::sweep_question(const QuestionId& id) {
  bool moved = false;
  TRY(change_question(id, [&](const Question& question, Time now) -> Result<Question> {
    auto after = after_its_time(question, now);
    moved = after.has_value();
    return moved ? *std::move(after) : question;
  }));
  return moved;
}

}  // namespace drover
