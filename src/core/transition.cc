#include "core/transition.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/planted_bug.h"
#include "core/retry.h"
#include "core/run_report.h"
#include "core/spend_at_end.h"

namespace drover {
namespace {

// What a rule works on: the facts, and the step that it fills in.
struct Change {
  const Trigger& trigger;
  const DecisionContext& context;
  Step step;
  std::optional<JsonText> next_run{};  // how the run after the one that ends differs from the first
};

void emit(Change& change, std::string_view what, JsonText data = "{}") {
  change.step.events.push_back({.name = fmt::format("task.{}", what), .data = std::move(data)});
}

JsonText object_of(std::string_view key, std::string_view text) {
  json::Writer writer;
  writer.begin_object().key(key).string(text).end_object();
  return std::move(writer).take();
}

// Where a task that is not running, not ended and not stalled belongs.
TaskState waiting_state(const TaskRecord& record, Time now) {
  if (record.unmet_parents > 0) return TaskState::kBlocked;
  if (record.task.run_at && *record.task.run_at > now) return TaskState::kScheduled;
  return TaskState::kPending;
}

void move_to_tail(TaskRecord& record) {
  record.place = 0;
}

void finish(Change& change, TaskState state) {
  Task& task = change.step.next.task;
  task.state = state;
  task.finished_at = change.context.now;
}

void write_result(Change& change, std::optional<JsonText> result) {
  change.step.next.task.result = std::move(result);
  change.step.result = Step::ResultWrite::kReplace;
}

const TypePolicy& type_of(const DecisionContext& context) {
  static const TypePolicy kDefaults;
  return context.type != nullptr ? *context.type : kDefaults;
}

// ---- what agents say of their runs

// What the run used is now part of the past; the ledger counts how it ended.
void close_usage(Change& change, RunEnd& end) {
  TaskRecord& next = change.step.next;
  end.usage = std::exchange(next.run_usage, std::nullopt);
  if (planted(PlantedBug::kLostRunWasFree) && end.outcome == "stalled") return;
  next.ended_usage = usage_json(usage_of(next.ended_usage) + usage_of(end.usage));
  LedgerEntry& run = change.step.ledger.emplace_back(
      LedgerEntry{.key = ledger_key(next.task, day_of(change.context.now)), .amounts = {.runs = 1}});
  run.key.error_class = end.error ? name_of(end.error->error_class) : end.outcome;
}

const RunReport* report_in(const Trigger& trigger) {
  return std::visit(
      [](const auto& what) -> const RunReport* {
        if constexpr (requires { what.report; }) {
          return &what.report;
        } else {
          return nullptr;
        }
      },
      trigger);
}

void hear_report(Change& change) {
  const RunReport* said = report_in(change.trigger);
  if (said == nullptr || said->is_empty()) return;
  static const PriceTable kNoPrices;
  const bool goes_on = std::holds_alternative<trigger::Report>(change.trigger);
  change.step.ledger =
      take_report(change.step.next, *said, goes_on ? IsLast::kNo : IsLast::kYes,
                  change.context.prices != nullptr ? *change.context.prices : kNoPrices, change.context.now);
}

// The model after this one in the type's list; one that is not in it comes before the first.
std::optional<std::string> model_after(const std::string& model, const std::vector<std::string>& models) {
  if (models.empty()) return std::nullopt;
  const auto found = std::ranges::find(models, model);
  if (found == models.end()) return models.front();
  return found + 1 != models.end() ? *(found + 1) : *found;
}

// Only for tasks that agents run, or that a model is chosen for: others have no use for it.
void plan_next_run(Change& change, SessionUse session, const ClassRule& rule) {
  const Task& task = change.step.next.task;
  const std::optional<AgentState> agent = agent_of(task);
  const std::vector<std::string>& models = type_of(change.context).models;
  if (!agent && (!rule.next_model || models.empty())) return;
  NextRun next{.session = session, .model = next_run_of(task).model};
  if (rule.next_model) {
    const std::string first = models.empty() ? "" : models.front();
    next.model = model_after(next.model.value_or(agent && !agent->model.empty() ? agent->model : first), models);
  }
  if (rule.timeout_factor > 1) next.timeout = task.timeout;
  change.next_run = next_run_json(next);
}

// After a run that nobody is to blame for. One that has said nothing has not begun, as far as is known: what was
// planned for it is planned for the next.
void plan_same_run_again(Change& change) {
  const TaskRecord& next = change.step.next;
  if (!next.run_usage && next.task.next) {
    change.next_run = next.task.next;
  } else {
    plan_next_run(change, SessionUse::kResume, {});
  }
}

// How the run differed from the first: as it was planned, unless its agent had to begin afresh.
std::optional<JsonText> what_changed(const TaskRecord& record) {
  if (!record.task.next || !record.run_usage) return record.task.next;
  NextRun next = next_run_of(record.task);
  const auto agent = agent_of(record.task);
  if (next.session != SessionUse::kResume || !agent || agent->resumed) return record.task.next;
  next.session = SessionUse::kFresh;
  return next_run_json(next);
}

// Closes the run in the history; its lease and its worker have no say any more.
const RunEnd& close_run(Change& change, std::string_view outcome, RunEnd end) {
  TaskRecord& next = change.step.next;
  end.worker_id = next.task.worker_id.value_or("");
  end.ended_at = change.context.now;
  end.outcome = outcome;
  end.change = what_changed(next);
  next.task.next = change.next_run;
  if (next.run_usage) close_usage(change, end);
  const RunEnd& closed = change.step.run_end.emplace(std::move(end));
  if (planted(PlantedBug::kRetryKeepsWorker) && outcome == "retrying") return closed;
  next.lease = LeaseId{};
  next.lease_beats = 0;
  next.task.worker_id.reset();
  return closed;
}

// Before its end, where its worker has no say: what it reports later is known for what it is.
void lose_run(Change& change) {
  TaskRecord& next = change.step.next;
  next.lost = LostRun{next.task.run, next.lease};
}

// What the run used, for those who follow the events: they see neither runs nor the ledger.
JsonText with_usage(JsonText data, const std::optional<JsonText>& usage) {
  if (!usage) return data;
  const Usage used = usage_of(usage);
  data.pop_back();
  data += fmt::format(R"({}"usage":{{"tokens":{})", data.size() > 1 ? "," : "", token_count(used.tokens));
  if (used.cost) data += fmt::format(R"(,"cost_usd":{})", format_dollars(*used.cost));
  return data + "}}";
}

// A run's outcome and the event that tells of it have one name.
void end_run(Change& change, std::string_view outcome, RunEnd end, JsonText data = "{}") {
  emit(change, outcome, with_usage(std::move(data), close_run(change, outcome, std::move(end)).usage));
}

// By which call the worker of a run ends it; none if it has no say.
std::optional<SettleKind> settle_kind(const Trigger& trigger) {
  if (std::holds_alternative<trigger::Complete>(trigger)) return SettleKind::kComplete;
  if (std::holds_alternative<trigger::Fail>(trigger)) return SettleKind::kFail;
  if (std::holds_alternative<trigger::Release>(trigger)) return SettleKind::kRelease;
  if (std::holds_alternative<trigger::ConfirmCancel>(trigger)) return SettleKind::kCancelled;
  if (std::holds_alternative<trigger::Suspend>(trigger)) return SettleKind::kSuspend;
  if (planted(PlantedBug::kStalledRunReplays)) return SettleKind::kComplete;
  return std::nullopt;
}

// So that a repeat of the call is told what it did, however late it comes.
void note_settlement(Change& change, const LeaseId& lease) {
  if (!change.step.run_end) return;
  if (const auto kind = settle_kind(change.trigger)) {
    change.step.run_end->settlement = RunSettlement{*kind, change.step.next.task.state, lease};
  }
}

// ---- ends of a run

void end_run_cancelled(Change& change, RunEnd end) {
  finish(change, TaskState::kCancelled);
  end_run(change, "cancelled", std::move(end), object_of("reason", change.step.next.task.cancel_reason.value_or("")));
}

bool cancel_was_requested(const Change& change) {
  return change.step.next.task.cancel_requested_at.has_value();
}

void refuse_unverified(Change& change, RunEnd end, std::string why);

void complete(Change& change) {
  const Completion& completion = std::get<trigger::Complete>(change.trigger).completion;
  Task& task = change.step.next.task;
  task.exit_code = completion.exit_code;
  RunEnd end{
      .exit_code = completion.exit_code, .note = completion.note, .evidence = report_in(change.trigger)->evidence};
  if (cancel_was_requested(change) && !planted(PlantedBug::kCancelForgetsRequest)) {
    return end_run_cancelled(change, std::move(end));
  }
  if (auto why = why_unverified(type_of(change.context).verify, end.evidence)) {
    return refuse_unverified(change, std::move(end), *std::move(why));
  }
  write_result(change, completion.result);
  task.error.reset();
  finish(change, TaskState::kCompleted);
  end_run(change, "completed", std::move(end));
}

// What follows a failure: the class, its words, when the next run may start, and whether somebody should look.
JsonText failure_data(const TaskError& error, std::optional<Millis> delay, const ClassRule& rule,
                      const std::optional<JsonText>& next_run = std::nullopt) {
  json::Writer writer;
  writer.begin_object().key("class").string(name_of(error.error_class)).key("message").string(error.message);
  if (delay) writer.key("delay_ms").number(delay->count());
  if (rule.alert) writer.key("alert").boolean(true);
  if (next_run) writer.key("change").raw(*next_run);
  writer.end_object();
  return std::move(writer).take();
}

void end_run_failed(Change& change, RunEnd end, const TaskError& error, const ClassRule& rule) {
  change.step.next.task.error = error;
  finish(change, TaskState::kFailed);
  JsonText data = failure_data(error, std::nullopt, rule);
  end.error = error;
  end_run(change, "failed", std::move(end), std::move(data));
}

Millis grown_timeout(Millis timeout, double factor) {
  const double grown = static_cast<double>(timeout.count()) * factor;
  const double capped = std::min(grown, static_cast<double>(kTimeoutMax.count()));
  return std::max(timeout, Millis{static_cast<Millis::rep>(capped)});
}

// Another run, `delay` from now, in the line of its time.
void run_again(Change& change, TaskState state, Millis delay, const ClassRule& rule) {
  TaskRecord& next = change.step.next;
  next.task.state = state;
  next.task.run_at = change.context.now + delay;
  next.task.timeout = grown_timeout(next.task.timeout, rule.timeout_factor);
  plan_next_run(change, rule.session, rule);
  move_to_tail(next);
}

void retry_or_fail(Change& change, RunEnd end, const TaskError& error, const ClassRule& rule) {
  Task& task = change.step.next.task;
  if (task.attempts >= task.max_attempts) return end_run_failed(change, std::move(end), error, rule);
  const Millis delay = retry_delay(task.retry, task.attempts, change.context.unit);
  run_again(change, delay > Millis{0} ? TaskState::kScheduled : TaskState::kPending, delay, rule);
  end_run(change, "retrying", std::move(end), failure_data(error, delay, rule, change.next_run));
}

void defer_or_fail(Change& change, RunEnd end, const TaskError& error, const ClassRule& rule) {
  Task& task = change.step.next.task;
  task.attempts -= 1;
  task.defers += 1;
  if (task.defers > task.max_defers) return end_run_failed(change, std::move(end), error, rule);
  const auto retry_after = std::get<trigger::Fail>(change.trigger).failure.retry_after;
  const Millis wanted = retry_after.value_or(defer_delay(task.defers, change.context.unit));
  const Millis delay = std::clamp(wanted, Millis{0}, kDurationMax);
  run_again(change, TaskState::kScheduled, delay, rule);
  end_run(change, "deferred", std::move(end), failure_data(error, delay, rule, change.next_run));
}

const ClassRule& rule_of(const DecisionContext& context, ErrorClass error_class) {
  return type_of(context).classes[std::to_underlying(error_class)];
}

// Where nothing was checked, the same run would end the same way, and be paid again: somebody has to change the runner
// first. An agent that changed its check may do better.
void refuse_unverified(Change& change, RunEnd end, std::string why) {
  const TaskError error{ErrorClass::kVerifyFailed, std::move(why)};
  const ClassRule& rule = rule_of(change.context, error.error_class);
  Task& task = change.step.next.task;
  const bool may_help = has_passed(end.evidence) && !changed_files(end.evidence).empty();
  if (!may_help || task.at_most_once || rule.action != Action::kRetry)
    return end_run_failed(change, std::move(end), error, rule);
  task.error = end.error = error;
  retry_or_fail(change, std::move(end), error, rule);
}

// The budget of a gate was used up while it ran: it waits there, with its session, and has lost nothing.
void wait_at_gate(Change& change, RunEnd end, const TaskError& error) {
  change.step.next.task.attempts -= 1;
  run_again(change, TaskState::kScheduled, Millis{0}, {.session = SessionUse::kResume});
  end_run(change, "deferred", std::move(end), failure_data(error, Millis{0}, {}, change.next_run));
}

void fail_run(Change& change) {
  const Failure& failure = std::get<trigger::Fail>(change.trigger).failure;
  const TaskError error{failure.error_class, failure.message};
  RunEnd end{.error = error,
             .exit_code = failure.exit_code,
             .note = failure.note,
             .evidence = report_in(change.trigger)->evidence};
  Task& task = change.step.next.task;
  task.exit_code = failure.exit_code;
  if (cancel_was_requested(change)) return end_run_cancelled(change, std::move(end));
  task.error = error;
  const ClassRule& rule = rule_of(change.context, failure.error_class);
  // It has run, however it went: never again, whatever the class allows.
  if (task.at_most_once) return end_run_failed(change, std::move(end), error, rule);
  if (const auto used = end_by_budget(change.step.next, change.context.now)) {
    return end_run_failed(change, std::move(end), *used, rule_of(change.context, used->error_class));
  }
  if (failure.waits_at) return wait_at_gate(change, std::move(end), error);
  if (rule.action == Action::kRetry) return retry_or_fail(change, std::move(end), error, rule);
  if (rule.action == Action::kDefer) return defer_or_fail(change, std::move(end), error, rule);
  end_run_failed(change, std::move(end), error, rule);
}

void give_back(Change& change) {
  if (cancel_was_requested(change)) return end_run_cancelled(change, {});
  TaskRecord& next = change.step.next;
  const Begun begun = std::get<trigger::Release>(change.trigger).begun;
  if (next.task.at_most_once && begun == Begun::kMaybe) {
    const TaskError error{ErrorClass::kLost, "its worker shut down, and it may run at most once"};
    return end_run_failed(change, {}, error, rule_of(change.context, error.error_class));
  }
  next.task.state = TaskState::kPending;
  next.task.attempts -= 1;
  plan_same_run_again(change);
  // At the head of its line it would keep this worker from what it can run.
  if (begun == Begun::kNotHere || planted(PlantedBug::kReleaseLosesPlace)) move_to_tail(next);
  end_run(change, "released", {});
}

// How many of its children are not done, of how many.
JsonText suspended_data(const TaskRecord& record) {
  json::Writer writer;
  writer.begin_object().key("children").number(record.awaited).key("unmet").number(record.unmet_parents);
  if (record.task.open_questions > 0) writer.key("questions").number(record.task.open_questions);
  writer.end_object();
  return std::move(writer).take();
}

void suspend(Change& change) {
  const auto& suspend = std::get<trigger::Suspend>(change.trigger);
  TaskRecord& next = change.step.next;
  Task& task = next.task;
  task.exit_code = suspend.exit_code;
  RunEnd end{.exit_code = suspend.exit_code, .evidence = suspend.report.evidence};
  if (cancel_was_requested(change)) return end_run_cancelled(change, std::move(end));
  task.attempts -= 1;
  task.suspends += 1;
  if (task.suspends > task.max_suspends) {
    const TaskError error{ErrorClass::kSuspended,
                          fmt::format("it suspended {} times; max_suspends is {}", task.suspends, task.max_suspends)};
    return end_run_failed(change, std::move(end), error, rule_of(change.context, error.error_class));
  }
  task.error.reset();
  task.depends_on.insert(task.depends_on.end(), suspend.children.begin(), suspend.children.end());
  change.step.parents = Step::ParentsWrite::kReplace;
  next.awaited += static_cast<int>(suspend.children.size());
  next.unmet_parents = planted(PlantedBug::kSuspendForgetsChildren) ? 0 : suspend.unmet_parents;
  if (!planted(PlantedBug::kSuspendForgetsQuestions)) next.unmet_parents += next.task.open_questions;
  task.state = waiting_state(next, change.context.now);
  move_to_tail(next);
  plan_next_run(change, SessionUse::kResume, {});
  end_run(change, "suspended", std::move(end), suspended_data(next));
}

void confirm_cancel(Change& change) {
  const auto& exit_code = std::get<trigger::ConfirmCancel>(change.trigger).exit_code;
  change.step.next.task.exit_code = exit_code;
  end_run_cancelled(change, {.exit_code = exit_code});
}

// Why a task that lost its lease must not run again, if so.
std::optional<TaskError> end_by_stall(const Task& task) {
  if (task.at_most_once && !planted(PlantedBug::kAtMostOnceRerun)) {
    return TaskError{ErrorClass::kLost, "its lease was lost, and it may run at most once"};
  }
  if (task.stalls > task.max_stalls && !planted(PlantedBug::kStallNeverEnds)) {
    return TaskError{ErrorClass::kStalled,
                     fmt::format("its lease was lost {} times; max_stalls is {}", task.stalls, task.max_stalls)};
  }
  return std::nullopt;
}

void stall(Change& change) {
  change.step.guard = Step::Guard::kRevisionAndBeats;
  lose_run(change);
  if (cancel_was_requested(change)) return end_run_cancelled(change, {});
  Task& task = change.step.next.task;
  if (!planted(PlantedBug::kStallCountsAttempt)) task.attempts -= 1;
  task.stalls += 1;
  if (const auto error = end_by_stall(task)) {
    return end_run_failed(change, {}, *error, rule_of(change.context, error->error_class));
  }
  task.state = TaskState::kStalled;
  plan_same_run_again(change);
  end_run(change, "stalled", {}, object_of("worker_id", task.worker_id.value_or("")));
}

// ---- starts

void start(Change& change) {
  const auto& claim = std::get<trigger::Claim>(change.trigger);
  TaskRecord& next = change.step.next;
  next.lease = claim.lease;
  next.lease_beats = 0;
  next.task.state = TaskState::kRunning;
  next.task.worker_id = claim.worker_id;
  next.task.run += 1;
  next.task.attempts += 1;
  next.task.started_at = change.context.now;
  next.task.progress.reset();
  emit(change, "claimed", object_of("worker_id", claim.worker_id));
}

// What it said is in the record already.
void note_report(Change& /*change*/) {}

void make_pending(Change& change) {
  change.step.next.task.state = TaskState::kPending;
  move_to_tail(change.step.next);
  emit(change, "due");
}

// ---- parents

// A blocked task now waits for that many parents; without any it is ready.
void await_parents(Change& change, int unmet_parents) {
  TaskRecord& next = change.step.next;
  next.unmet_parents = unmet_parents;
  next.task.state = waiting_state(next, change.context.now);
  if (next.task.state == TaskState::kBlocked) return;
  move_to_tail(next);
  emit(change, "unblocked");
}

void meet_parent(Change& change) {
  if (planted(PlantedBug::kDependentsReleasedEarly)) return await_parents(change, 0);
  await_parents(change, change.step.next.unmet_parents - 1);
}

void end_by_parent(Change& change) {
  TaskRecord& next = change.step.next;
  if (next.task.on_parent_failure == OnParentFailure::kRun) return meet_parent(change);
  const TaskId& parent = std::get<trigger::ParentEnded>(change.trigger).parent;
  next.ended_by = parent;
  if (next.task.on_parent_failure == OnParentFailure::kCancel) {
    const std::string& reason = next.task.cancel_reason.emplace(fmt::format("parent {} ended", parent.to_string()));
    finish(change, TaskState::kCancelled);
    return emit(change, "cancelled", object_of("reason", reason));
  }
  const TaskError& error = next.task.error.emplace(
      TaskError{ErrorClass::kParentFailed, fmt::format("parent {} ended without completing", parent.to_string())});
  finish(change, TaskState::kFailed);
  emit(change, "failed", failure_data(error, std::nullopt, rule_of(change.context, ErrorClass::kParentFailed)));
}

// ---- from outside the run

JsonText cancel_data(const trigger::Cancel& cancel) {
  json::Writer writer;
  writer.begin_object().key("reason").string(cancel.reason);
  if (!cancel.by.empty()) writer.key("by").string(cancel.by);
  writer.end_object();
  return std::move(writer).take();
}

void cancel_now(Change& change) {
  const auto& cancel = std::get<trigger::Cancel>(change.trigger);
  change.step.next.task.cancel_reason = cancel.reason;
  finish(change, TaskState::kCancelled);
  emit(change, "cancelled", cancel_data(cancel));
}

// The first request stands: its time and reason are not overwritten by a second one.
void request_cancel(Change& change) {
  if (cancel_was_requested(change)) return;
  const auto& cancel = std::get<trigger::Cancel>(change.trigger);
  Task& task = change.step.next.task;
  task.cancel_requested_at = change.context.now;
  task.cancel_reason = cancel.reason;
  emit(change, "cancel_requested", cancel_data(cancel));
}

JsonText deadline_data(const Task& task, const ClassRule& rule) {
  json::Writer writer;
  writer.begin_object().key("fallback").boolean(task.fallback);
  if (rule.alert) writer.key("alert").boolean(true);
  writer.end_object();
  return std::move(writer).take();
}

void miss_deadline(Change& change) {
  Task& task = change.step.next.task;
  const TaskError error{ErrorClass::kDeadline, "its deadline passed"};
  if (task.state == TaskState::kRunning) {
    lose_run(change);
    close_run(change, "deadline_passed", {.error = error, .revoked = true});
  }
  task.fallback = task.fallback_result.has_value();
  if (task.fallback) {
    write_result(change, task.fallback_result);
    task.error.reset();
    finish(change, TaskState::kCompleted);
  } else {
    task.error = error;
    finish(change, TaskState::kFailed);
  }
  emit(change, "deadline_passed", deadline_data(task, rule_of(change.context, ErrorClass::kDeadline)));
}

// What changed, by its new value where that is short.
JsonText edit_data(const Task& before, const Task& after) {
  json::Writer writer;
  writer.begin_object();
  if (after.priority != before.priority) writer.key("priority").number(after.priority);
  if (after.run_at != before.run_at) writer.key("run_at").string(format_time(after.run_at.value_or(Time{})));
  if (after.payload != before.payload) writer.key("payload").boolean(true);
  if (after.tags != before.tags) writer.key("tags").boolean(true);
  writer.end_object();
  return std::move(writer).take();
}

// By a new time it may become ready, or not be ready any more. What stalled comes first again only if it still is.
void wait_until(Change& change, Time run_at) {
  TaskRecord& next = change.step.next;
  if (next.task.run_at == run_at) return;
  next.task.run_at = run_at;
  const TaskState state = waiting_state(next, change.context.now);
  if (state == next.task.state || (state == TaskState::kPending && next.task.state == TaskState::kStalled)) return;
  next.task.state = state;
  move_to_tail(next);
}

void edit(Change& change) {
  const auto& edit = std::get<trigger::Edit>(change.trigger);
  Step& step = change.step;
  Task& task = step.next.task;
  const Task before = task;
  if (edit.priority && *edit.priority != task.priority) {
    task.priority = *edit.priority;
    move_to_tail(step.next);
  }
  if (edit.run_at) wait_until(change, *edit.run_at);
  if (edit.payload && edit.payload != task.payload) {
    task.payload = edit.payload;
    step.payload = Step::PayloadWrite::kReplace;
  }
  if (edit.tags && *edit.tags != task.tags) {
    task.tags = *edit.tags;
    step.tags = Step::TagsWrite::kReplace;
  }
  if (task != before) emit(change, "updated", edit_data(before, task));
}

// ---- the next generation

void reopen(Change& change, int unmet_parents) {
  TaskRecord& next = change.step.next;
  Task& task = next.task;
  task.generation += 1;
  task.attempts = 0;
  task.stalls = 0;
  task.defers = 0;
  task.started_at.reset();
  task.finished_at.reset();
  task.progress.reset();
  task.cancel_requested_at.reset();
  task.cancel_reason.reset();
  task.fallback = false;
  task.error.reset();
  task.exit_code.reset();
  task.escalation.reset();
  task.next.reset();
  write_result(change, std::nullopt);
  if (next.deadline) task.deadline_at = change.context.now + *next.deadline;
  next.ended_by.reset();
  next.cascade_due = false;
  next.unmet_parents = unmet_parents;
  task.state = waiting_state(next, change.context.now);
  move_to_tail(next);
}

JsonText retry_data(const trigger::Retry& retry) {
  json::Writer writer;
  writer.begin_object().key("by").string(retry.verdict.by).key("why").string(retry.verdict.why);
  writer.key("edited").boolean(retry.payload.has_value()).key("run_at");
  retry.run_at ? writer.string(format_time(*retry.run_at)) : writer.null();
  writer.end_object();
  return std::move(writer).take();
}

// It begins anew: the children of earlier generations are none of its business.
void let_go_of_children(Change& change) {
  TaskRecord& next = change.step.next;
  next.task.suspends = 0;
  next.first_generation = next.task.generation;
  if (next.awaited == 0) return;
  next.task.depends_on.resize(given_parents(next).size());
  next.awaited = 0;
  change.step.parents = Step::ParentsWrite::kReplace;
}

void retry(Change& change) {
  const auto& retry = std::get<trigger::Retry>(change.trigger);
  Task& task = change.step.next.task;
  task.run_at = retry.run_at;
  if (retry.payload) {
    task.payload = retry.payload;
    change.step.payload = Step::PayloadWrite::kReplace;
  }
  reopen(change, retry.unmet_parents);
  let_go_of_children(change);
  emit(change, "retried", retry_data(retry));
}

// Unlike an operator's retry this keeps run_at, the time its caller asked for, and goes on where the task was: it never
// ran, or had suspended for the child that is tried again.
void revive(Change& change) {
  const int unmet_parents = std::get<trigger::ParentRetried>(change.trigger).unmet_parents;
  TaskRecord& next = change.step.next;
  if (next.task.state == TaskState::kBlocked) return await_parents(change, unmet_parents + next.task.open_questions);
  reopen(change, unmet_parents);
  emit(change, "revived");
}

// ---- questions

void ask(Change& change) {
  change.step.next.asked += 1;
  change.step.next.task.open_questions += 1;
  change.step.events.push_back(std::get<trigger::Ask>(change.trigger).event);
}

// Nobody answered in time, and the run that asked has given way: it cannot go on.
void end_unanswered(Change& change) {
  const TaskError& error = change.step.next.task.error.emplace(
      TaskError{ErrorClass::kUnanswered, "nobody answered its question before that expired"});
  finish(change, TaskState::kFailed);
  emit(change, "failed", failure_data(error, std::nullopt, rule_of(change.context, error.error_class)));
}

// Whoever has not suspended hears of it by asking again.
void close_question(Change& change) {
  const auto& closed = std::get<trigger::QuestionClosed>(change.trigger);
  TaskRecord& next = change.step.next;
  next.task.open_questions -= 1;
  change.step.events.push_back(closed.event);
  if (next.task.state != TaskState::kBlocked) return;
  if (closed.outcome == trigger::QuestionClosed::Outcome::kUnanswered) return end_unanswered(change);
  await_parents(change, next.unmet_parents - 1);
}

// ---- verdicts on what has ended

void escalate(Change& change) {
  const EscalateOrder& order = std::get<trigger::Escalate>(change.trigger).order;
  change.step.next.task.escalation =
      Escalation{.to = order.to, .by = order.verdict.by, .why = order.verdict.why, .at = change.context.now};
  json::Writer writer;
  writer.begin_object().key("to").string(order.to).key("by").string(order.verdict.by);
  writer.key("why").string(order.verdict.why).end_object();
  emit(change, "escalated", std::move(writer).take());
}

void delete_task(Change& change) {
  const Verdict& verdict = std::get<trigger::Delete>(change.trigger).verdict;
  change.step.fate = Step::Fate::kGoes;
  json::Writer writer;
  writer.begin_object().key("by").string(verdict.by).key("why").string(verdict.why).end_object();
  emit(change, "deleted", std::move(writer).take());
}

// ---- the decision

using Apply = void (*)(Change&);
// In the order of Rule, without kRefuse.
constexpr std::array<Apply, 21> kApply{
    meet_parent, end_by_parent, make_pending,   start, note_report,    complete,       fail_run,
    give_back,   suspend,       confirm_cancel, stall, cancel_now,     request_cancel, miss_deadline,
    edit,        retry,         revive,         ask,   close_question, escalate,       delete_task};
static_assert(kApply.size() == std::to_underlying(Rule::kDelete));

// The table goes by the state alone; here is what else the record has to say.
Rule rule_for(const TaskRecord& record, const Trigger& trigger) {
  const Task& task = record.task;
  const Rule rule = transition_table()[trigger.index()][std::to_underlying(task.state)];
  if (rule == Rule::kConfirmCancel && !task.cancel_requested_at) return Rule::kRefuse;
  if (rule == Rule::kSuspend && task.at_most_once && !task.cancel_requested_at) return Rule::kRefuse;
  if (rule == Rule::kRevive && is_terminal(task.state) && !record.ended_by) return Rule::kRefuse;
  if (rule == Rule::kDelete && record.cascade_due) return Rule::kRefuse;
  return rule;
}

std::unexpected<Error> refuse(const Task& task, const Trigger& trigger) {
  if (task.state == TaskState::kCompleted && std::holds_alternative<trigger::Retry>(trigger)) {
    return fail(ErrorCode::kWrongState, fmt::format("a completed task is final ({})", task.id.to_string()));
  }
  if (task.state == TaskState::kRunning && std::holds_alternative<trigger::Suspend>(trigger)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("task {} may run at most once, so it cannot suspend and run again", task.id.to_string()));
  }
  if (is_terminal(task.state) && std::holds_alternative<trigger::Delete>(trigger)) {
    return fail(ErrorCode::kWrongState, fmt::format("task {} has dependents that are still to be told of its end: try "
                                                    "again in a moment",
                                                    task.id.to_string()));
  }
  return fail(ErrorCode::kWrongState, fmt::format("task {} is {}: {} does not apply", task.id.to_string(),
                                                  name_of(task.state), name_of(trigger)));
}

}  // namespace

bool may_suspend(const Task& task) {
  return !task.at_most_once && !task.cancel_requested_at && task.suspends < task.max_suspends;
}

Status check_awaited(const TaskRecord& waiter, const TaskRecord& child) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kUnknownParent, fmt::format("task {} cannot wait for {}: {}", waiter.task.id.to_string(),
                                                       child.task.id.to_string(), why));
  };
  if (child.task.parent_id != waiter.task.id) return refuse("it is not one of its children");
  if (child.spawner_generation < waiter.first_generation) return refuse("it belongs to an earlier generation");
  return {};
}

std::span<const TaskId> given_parents(const TaskRecord& record) {
  const std::span<const TaskId> all = record.task.depends_on;
  const auto awaited = static_cast<std::size_t>(record.awaited);
  CHECK(awaited <= all.size());
  return all.first(all.size() - awaited);
}

Result<Step> decide(TaskRecord record, const Trigger& trigger, const DecisionContext& context) {
  const Rule rule = rule_for(record, trigger);
  if (rule == Rule::kRefuse) return refuse(record.task, trigger);
  const LeaseId lease = record.lease;
  const bool waited_for_answer = waits_for_answer(record.task);
  Change change{trigger, context, {}};
  change.step.expected_revision = record.revision;
  change.step.expected_beats = record.lease_beats;
  change.step.next = std::move(record);
  hear_report(change);
  auto spend = spend_until(change.step.next, report_in(trigger), context, type_of(context).budget_per_run);
  kApply[std::to_underlying(rule) - 1U](change);
  // The engine withdraws them in the same group.
  if (is_terminal(change.step.next.task.state)) change.step.next.task.open_questions = 0;
  change.step.answer_waits = (waits_for_answer(change.step.next.task) ? 1 : 0) - (waited_for_answer ? 1 : 0);
  close_spend(change.step, std::move(spend));
  note_settlement(change, lease);
  return std::move(change.step);
}

std::optional<Step> refuse_late_result(TaskRecord record, const Settlement& late) {
  const auto* failure = std::get_if<Failure>(&late.end);
  const bool is_result = failure != nullptr || std::holds_alternative<Completion>(late.end);
  if (!is_result || !record.lost || record.lost->lease != late.lease.id) return std::nullopt;
  json::Writer data;
  data.begin_object().key("run").number(record.lost->run).key("end").string(failure != nullptr ? "fail" : "complete");
  if (failure != nullptr) data.key("class").string(name_of(failure->error_class));
  data.end_object();
  Step step;
  step.expected_revision = record.revision;
  step.next = std::move(record);
  step.next.lost.reset();
  step.events.push_back({.name = "task.result_refused", .data = std::move(data).take()});
  return step;
}

Step first_step(TaskRecord record, const DecisionContext& context) {
  Step step{.next = std::move(record)};
  begin_first_step(step, context);
  return step;
}

void begin_first_step(Step& step, const DecisionContext& context) {
  step.next.task.state = waiting_state(step.next, context.now);
  move_to_tail(step.next);
  step.events.push_back({.name = "task.enqueued"});
}

}  // namespace drover
