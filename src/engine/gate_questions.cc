#include "engine/gate_questions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/try.h"
#include "core/question.h"
#include "engine/run_spend.h"

namespace drover {
namespace {

EventDraft breached_event(const BudgetStatus& budget, const TaskId* task) {
  json::Writer out;
  out.begin_object().key("gate").string(budget.gate).key("unit").string(name_of(budget.budget.unit));
  out.key("limit").number(budget.limit()).key("spent").number(budget.spent);
  out.key("per").string(name_of(budget.budget.per)).key("period").string(budget.period);
  out.key("on_breach").string(name_of(budget.budget.on_breach)).key("resets_at");
  budget.resets_at ? out.string(format_time(*budget.resets_at)) : out.null();
  if (task != nullptr) out.key("task").string(task->to_string());
  out.key("text").string(why_used_up(budget)).key("alert").boolean(true).end_object();
  return {.name = "budget.breached", .data = std::move(out).take()};
}

Result<bool> is_asked(Store& store, const std::string& gate, const QuestionId& id) {
  const auto states = TRY(store.read_gates(std::span(&gate, 1)));
  const auto& budgets = states.front().record.budgets;
  return std::ranges::find(budgets, std::optional(id), &GateBudget::question) != budgets.end();
}

Status withdraw_moot(Store& store, const QuestionId& id) {
  StepGroup group;
  const Time now = TRY(store.now());
  group.questions = TRY(withdraw_all(store, std::span(&id, 1), "its budget does not ask it", now));
  // Somebody who came meanwhile has closed it.
  TRY(store.apply(std::span(&group, 1)));
  return {};
}

}  // namespace

void breach_budget(GateStep& step, std::size_t budget, const BudgetStatus& status, const TaskId* task, Rng& rng,
                   Time now, StepGroup& group) {
  CHECK(step.next.has_value());
  GateBudget& breached = step.next->budgets[budget];
  breached.breached = true;
  step.events.push_back(breached_event(status, task));
  if (breached.budget.on_breach != OnBreach::kAsk) return;
  const QuestionId id(new_task_id(rng, now).bytes());
  Question question = budget_question(id, status, now);
  breached.question = id;
  EventDraft asked{.name = event_name(question, question), .data = event_data(question)};
  group.questions.push_back({.next = std::move(question), .events = {std::move(asked)}});
}

std::vector<QuestionId> dropped_questions(std::span<const GateBudget> before, const GateStep& step) {
  return step.next ? dropped_questions(before, step.next->budgets) : std::vector<QuestionId>();
}

Result<std::vector<QuestionStep>> withdraw_all(Store& store, std::span<const QuestionId> questions,
                                               std::string_view why, Time now) {
  std::vector<QuestionStep> steps;
  if (questions.empty()) return steps;
  for (const auto& found : TRY(store.read_questions(questions))) {
    if (!found || found->question.state != QuestionState::kOpen) continue;
    Question after = TRY(withdrawn(found->question, "drover", std::string(why), now));
    EventDraft event{.name = event_name(found->question, after), .data = event_data(after)};
    steps.push_back({.next = std::move(after), .expected_revision = found->revision, .events = {std::move(event)}});
  }
  return steps;
}

Result<std::vector<Finding>> check_gate_questions(Store& store, FsckMode mode) {
  std::vector<Finding> findings;
  std::optional<QuestionId> before;
  for (;;) {
    const auto page = TRY(store.list_questions({.state = QuestionState::kOpen}, kPageMax, before));
    for (const Question& question : page.questions) {
      if (!question.gate) continue;
      const bool asked = TRY(is_asked(store, *question.gate, question.id));
      if (asked) continue;
      if (mode == FsckMode::kRepair) TRY(withdraw_moot(store, question.id));
      findings.push_back({.code = "gate_question_moot",
                          .detail = fmt::format("question {} is open, and no budget of {} asks it",
                                                question.id.to_string(), *question.gate),
                          .repaired = mode == FsckMode::kRepair});
    }
    if (!page.cursor) return findings;
    before = QuestionId::parse(*page.cursor);
  }
}

}  // namespace drover
