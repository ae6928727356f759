#include "store/redis/step_arguments.h"

#include <fmt/format.h>

#include "core/gate_name.h"
#include "core/lane.h"
#include "core/question_json.h"
#include "store/redis/ledger_text.h"
#include "store/redis/question_text.h"
#include "store/redis/record_text.h"
#include "store/redis/run_text.h"

namespace drover::redis {
namespace {

// False where there is none.
void put_time_if(Pack& pack, bool wanted, const std::optional<Time>& time) {
  if (wanted && time) {
    pack.put(time_text(*time));
  } else {
    pack.put(false);
  }
}

void put_or_false(Pack& pack, bool wanted, const auto& make) {
  if (wanted) {
    pack.put(make());
  } else {
    pack.put(false);
  }
}

void put_events(Pack& pack, std::span<const EventDraft> events, std::string_view of) {
  for (const EventDraft& event : events) pack.put(event_text(event, of));
}

std::int64_t count_of(const auto& list) {
  return static_cast<std::int64_t>(list.size());
}

// As 2_budgets.lua reads it.
std::string spend_text(const SpendChange& spend) {
  std::string text;
  for (const BudgetAmounts* amounts :
       {&spend.before.spent, &spend.before.granted, &spend.after.spent, &spend.after.granted}) {
    for (const std::int64_t amount : *amounts) text += fmt::format("{} ", amount);
  }
  return text + fmt::format("{} {}", spend.ends ? 1 : 0, spend.takes_slice ? 1 : 0);
}

// Behind the numbers of limits_text.
std::string budgets_text(const GateLimits& limits) {
  std::string text;
  const BudgetAmounts& run = limits.per_run;
  if (run != BudgetAmounts{}) text += fmt::format(" r:{}:{}:{}:{}", run[0], run[1], run[2], run[3]);
  for (const BudgetLimit& budget : limits.budgets) {
    text += fmt::format(" b:{}:{}:{}:{}", name_of(budget.unit), budget.limit, budget.period,
                        budget.resets_at ? time_text(*budget.resets_at) : "-");
  }
  return text;
}

void put_relations(Pack& pack, const Step& step, std::string_view event_of) {
  const Task& task = step.next.task;
  const bool is_new = step.expected_revision == 0;
  put_or_false(pack, is_new && task.request_id, [&] { return request_key(task.owner, *task.request_id); });
  put_or_false(pack, is_new && task.parent_id, [&] { return task.parent_id->to_string(); });
  pack.put(count_of(step.events)).put(is_new ? count_of(task.tags) : 0).put(is_new ? count_of(task.depends_on) : 0);
  put_or_false(pack, !step.ledger.empty(), [&] { return ledger_text(step.ledger); });
  put_or_false(pack, step.spend.has_value(), [&] { return spend_text(*step.spend); });
  pack.put(step.answer_waits);
  pack.put(false).put(false);  // for the function's own notes
  put_events(pack, step.events, event_of);
  if (!is_new) return;
  for (const std::string& tag : task.tags) pack.put(tag);
  for (const TaskId& parent : task.depends_on) pack.put(parent.to_string());
}

void put_step(Pack& pack, const Step& step) {
  const TaskRecord& next = step.next;
  const Task& task = next.task;
  const bool goes_to_tail = next.place == 0 && is_claimable(task.state);
  const bool has_body = step.expected_revision == 0 || step.writes_body();
  const std::string id = task.id.to_string();
  const std::string lane = lane_name(task);
  const std::string_view state = name_of(task.state);
  pack.put(id).put(step.expected_revision).put(goes_to_tail ? "+" : std::to_string(next.place));
  pack.put(state).put(lane);
  put_or_false(pack, step.fate == Step::Fate::kStays, [&] { return to_said(next, lane); });
  put_or_false(pack, has_body, [&] { return to_body(task); });
  put_or_false(pack, step.result == Step::ResultWrite::kReplace, [&] { return task.result.value_or(""); });
  put_or_false(pack, step.run_end.has_value(), [&] { return run_end_text(*step.run_end, task.run, task.generation); });
  pack.put(step.run_end && step.run_end->revoked);
  const bool guards_beats = step.guard == Step::Guard::kRevisionAndBeats;
  put_or_false(pack, guards_beats, [&] { return std::to_string(step.expected_beats); });
  put_time_if(pack, task.state == TaskState::kScheduled, task.run_at);
  put_time_if(pack, !is_terminal(task.state), task.deadline_at);
  pack.put(next.cascade_due);
  put_or_false(pack, task.progress.has_value(), [&] { return to_text(*task.progress); });
  put_or_false(pack, task.dedupe_key.has_value(), [&] { return dedupe_key(task.owner, task.type, *task.dedupe_key); });
  put_relations(pack, step, event_subject(task, id, lane));
}

void put_gates(Pack& pack, std::span<const GateStep> gates) {
  for (const GateStep& gate : gates) {
    const bool kept = gate.next && !is_default(*gate.next);
    pack.put(gate.name).put(gate.expected_revision).put(gate.next ? "w" : "c");
    pack.put(kept ? gate_to_json(*gate.next) : "").put(kept ? stored_limits(*gate.next) : "");
    pack.put(count_of(gate.events));
    put_events(pack, gate.events, kOfNoTask);
  }
}

// In the place of one more gate, which it is read as.
void put_document(Pack& pack, const DocumentStep& step) {
  pack.put(name_of(step.kind)).put(step.expected_version).put("d").put(step.text).put(step.due ? "1" : "0");
  pack.put(count_of(step.events));
  put_events(pack, step.events, kOfNoTask);
}

// The same.
void put_question(Pack& pack, const QuestionStep& step) {
  pack.put(step.next.id.to_string()).put(step.expected_revision).put("q");
  pack.put(to_json(step.next)).put(question_head(step.next)).put(count_of(step.events));
  put_events(pack, step.events, kOfNoTask);
}

void put_group(Pack& pack, const StepGroup& group) {
  const auto& capacity = group.capacity;
  if (capacity) {
    pack.put(capacity->waiting_max).put(capacity->waiting_per_owner_max).put(count_of(capacity->waiting_per_queue_max));
  } else {
    pack.put(false).put(false).put(0);
  }
  const std::int64_t gates = count_of(group.gates) + count_of(group.questions) + (group.document ? 1 : 0);
  pack.put(count_of(group.dedupes)).put(gates).put(count_of(group.steps));
  if (capacity) {
    for (const auto& [queue, max] : capacity->waiting_per_queue_max) pack.put(queue).put(max);
  }
  for (const DedupeGuard& guard : group.dedupes) {
    pack.put(dedupe_key(guard.owner, guard.type, guard.key)).put(guard.newest ? guard.newest->to_string() : "");
  }
  put_gates(pack, group.gates);
  for (const QuestionStep& question : group.questions) put_question(pack, question);
  if (group.document) put_document(pack, *group.document);
  for (const Step& step : group.steps) put_step(pack, step);
}

}  // namespace

std::string stored_limits(const GateRecord& gate) {
  const GateLimits limits = limits_of(gate);
  if (is_session_gate(gate.name) && limits == GateLimits{.permits = default_permits(gate.name)}) return "";
  return limits_text(limits);
}

std::string limits_text(const GateLimits& limits) {
  if (!limits.limits_anything() && limits.per_run == BudgetAmounts{}) return "";
  const std::string closed = !limits.closed_until                   ? "-"
                             : *limits.closed_until == kUntilOpened ? "x"
                                                                    : time_text(*limits.closed_until);
  return fmt::format("{} {} {} {} {}{}", closed, limits.permits ? std::to_string(*limits.permits) : "-",
                     limits.counted_from.time_since_epoch().count(), limits.interval_us, limits.burst,
                     budgets_text(limits));
}

PackedGroups packed_groups(std::span<const StepGroup* const> groups) {
  PackedGroups all;
  for (const StepGroup* group : groups) put_group(all.packed, *group);
  all.groups = groups.size();
  return all;
}

Pack packed_gates(std::span<const GateStep> gates) {
  Pack pack;
  pack.put(count_of(gates));
  put_gates(pack, gates);
  return pack;
}

std::string event_subject(const Task& task, std::string_view id, std::string_view lane) {
  return fmt::format("{}|{}|{}|{}|{}", id, lane, name_of(task.state), task.run, task.generation);
}

std::string event_text(const EventDraft& event, std::string_view of) {
  return fmt::format("{}|{}|{}", event.name, of, event.data);
}

std::string request_key(const std::string& owner, const std::string& request_id) {
  return owner + "|" + request_id;
}

std::string dedupe_key(const std::string& owner, const std::string& type, const std::string& key) {
  return owner + "|" + type + "|" + key;
}

}  // namespace drover::redis
