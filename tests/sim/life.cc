#include "sim/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "core/task_json.h"

namespace drover::sim {
namespace {

// A class's action, as the design's table says (FEATURES T7); the simulated fleet changes none of it.
enum class Follows : std::uint8_t { kRetry, kDefer, kFail };

Follows what_follows(const std::string& error_class) {
  for (const char* name : {"agent_error", "timeout", "killed", "spawn_failed"}) {
    if (error_class == name) return Follows::kRetry;
  }
  for (const char* name : {"rate_limited", "quota_exhausted", "overloaded"}) {
    if (error_class == name) return Follows::kDefer;
  }
  return Follows::kFail;
}

std::optional<std::int64_t> number_in(const Event& event, std::string_view key) {
  const auto data = json::parse(event.data);
  const json::Value* value = data ? data->find(key) : nullptr;
  return value != nullptr ? value->as_int() : std::nullopt;
}

std::string text_in(const Event& event, std::string_view key) {
  const auto data = json::parse(event.data);
  const json::Value* value = data ? data->find(key) : nullptr;
  return value != nullptr && value->as_string() != nullptr ? *value->as_string() : std::string();
}

struct DelayBounds {
  double low;
  double high;
};

// RELIABILITY and FEATURES T5, by heart: what delay may follow counted run number `attempts`.
DelayBounds delay_bounds(const RetryPolicy& policy, int attempts) {
  const auto base = static_cast<double>(policy.base.count());
  switch (policy.kind) {
    case RetryPolicy::Kind::kLinear:
      return {base * (attempts - 1), base * (attempts - 1)};
    case RetryPolicy::Kind::kFixed:
      return {base, base};
    case RetryPolicy::Kind::kList: {
      const auto index = std::min(static_cast<std::size_t>(attempts - 1), policy.delays.size() - 1);
      const auto delay = static_cast<double>(policy.delays[index].count());
      return {delay, delay};
    }
    case RetryPolicy::Kind::kExponential:
      break;
  }
  const double grown = base * std::pow(policy.multiplier, attempts - 1);
  const double middle = std::min(grown, static_cast<double>(policy.cap.count()) / (1 + policy.jitter));
  return {middle * (1 - policy.jitter), middle * (1 + policy.jitter)};
}

}  // namespace

Life::Life(Task given, int number)
    : given_(std::move(given)), number_(number), run_at_(given_.run_at), deadline_at_(given_.deadline_at) {}

const std::map<std::string, Life::Rule, std::less<>>& Life::rules() {
  static const std::map<std::string, Rule, std::less<>> rules{
      {"task.enqueued", &Life::on_enqueued},
      {"task.unblocked", &Life::on_unblocked},
      {"task.due", &Life::on_due},
      {"task.claimed", &Life::on_claimed},
      {"task.progressed", &Life::on_progressed},
      {"task.completed", &Life::on_completed},
      {"task.retrying", &Life::on_retrying},
      {"task.failed", &Life::on_failed},
      {"task.deferred", &Life::on_deferred},
      {"task.released", &Life::on_released},
      {"task.suspended", &Life::on_suspended},
      {"task.stalled", &Life::on_stalled},
      {"task.cancel_requested", &Life::on_cancel_requested},
      {"task.cancelled", &Life::on_cancelled},
      {"task.deadline_passed", &Life::on_deadline_passed},
      {"task.retried", &Life::on_retried},
      {"task.revived", &Life::on_revived},
      {"task.escalated", &Life::on_escalated},
      {"task.result_refused", &Life::on_result_refused},
      {"task.updated", &Life::on_updated},
      {"task.deleted", &Life::on_deleted},
      {"question.asked", &Life::on_asked},
      {"question.handed_over", &Life::on_handed_over},
      {"question.answered", &Life::on_question_closed},
      {"question.expired", &Life::on_question_closed},
      {"question.withdrawn", &Life::on_question_closed},
  };
  return rules;
}

std::optional<Wrong> Life::apply(const Event& event, std::int64_t place_at_tail, Time wall_max) {
  if (deleted_) return refuse(event, "P12 events", "after its deletion");
  if ((generation_ == 0) != (event.name == "task.enqueued"))
    return refuse(event, "P12 events", "enqueued is the first event and no other");
  tail_ = place_at_tail;
  wall_max_ = wall_max;
  const auto found = rules().find(event.name);
  if (found == rules().end()) return refuse(event, "P12 events", "there is no such event");
  if (auto wrong = (this->*found->second)(event)) return wrong;
  if (event.name != "task.enqueued") released_at_once_ = false;
  if (event.generation != generation_)
    return refuse(event, "P12 events", fmt::format("generation is {}, expected {}", event.generation, generation_));
  if (event.run != run_) return refuse(event, "P12 events", fmt::format("run is {}, expected {}", event.run, run_));
  return std::nullopt;
}

std::optional<Wrong> Life::refuse(const Event& event, std::string check, std::string why) const {
  return Wrong{std::move(check), fmt::format("{} in state {} (generation {}, run {}): {}", event.name, name_of(state_),
                                             generation_, run_, why)};
}

const std::string* Life::end_of_run(int run) const {
  const auto found = closed_runs_.find(run);
  return found == closed_runs_.end() ? nullptr : &found->second;
}

bool Life::await(const TaskId& child) {
  if (std::ranges::find(parents_, child) != parents_.end()) return false;
  parents_.push_back(child);
  return true;
}

bool Life::is_done_for(OnParentFailure policy) const {
  return state_ == TaskState::kCompleted || (is_terminal(state_) && policy == OnParentFailure::kRun);
}

std::optional<Wrong> Life::on_enqueued(const Event& event) {
  generation_ = 1;
  state_ = event.state;
  if (state_ == TaskState::kPending) to_tail();
  released_at_once_ = !parents_.empty() && (state_ == TaskState::kPending || state_ == TaskState::kScheduled);
  if (state_ != TaskState::kPending && state_ != TaskState::kScheduled && state_ != TaskState::kBlocked &&
      !is_terminal(state_))
    return refuse(event, "P12 events", "a new task cannot be in this state");
  // A task whose parent has ended badly is stored and ends in one step: both events show the state at its end.
  if (is_terminal(state_)) state_ = TaskState::kBlocked;
  if (state_ == TaskState::kPending && too_early()) return refuse(event, "P9 run_at", "pending before its time");
  return std::nullopt;
}

std::optional<Wrong> Life::on_unblocked(const Event& event) {
  const bool at_once = std::exchange(released_at_once_, false);
  if (state_ != TaskState::kBlocked && !at_once) return refuse(event, "P12 events", "it was not blocked");
  if (!open_questions_.empty()) return refuse(event, "Q2 questions", "released while a question is open");
  // Released and ended in one step: both events show the state at its end.
  state_ = is_terminal(event.state) ? TaskState::kPending : event.state;
  to_tail();
  if (state_ != TaskState::kScheduled && state_ != TaskState::kPending)
    return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  if (event.state == TaskState::kPending && too_early()) return refuse(event, "P9 run_at", "pending before its time");
  return std::nullopt;
}

std::optional<Wrong> Life::on_due(const Event& event) {
  if (state_ != TaskState::kScheduled) return refuse(event, "P12 events", "it was not scheduled");
  if (too_early() && !times_open_) return refuse(event, "P9 run_at", "before its time");
  // The event that told its time may be later than the decision that made it: the row says when it was due.
  if (too_early()) due_by_ = wall_max_;
  state_ = TaskState::kPending;
  to_tail();
  return std::nullopt;
}

std::optional<Wrong> Life::on_claimed(const Event& event) {
  if (state_ == TaskState::kScheduled) return refuse(event, "P9 run_at", "started while scheduled");
  if (!is_claimable(state_)) return refuse(event, "P3 one lease", "it was not to be claimed");
  state_ = TaskState::kRunning;
  ++run_;
  ++attempts_;
  if (attempts_ > given_.max_attempts)
    return refuse(event, "P6 caps", fmt::format("attempt {} of at most {}", attempts_, given_.max_attempts));
  if (given_.at_most_once && attempts_ > 1) return refuse(event, "P4 at most once", "claimed again");
  return std::nullopt;
}

std::optional<Wrong> Life::on_progressed(const Event& event) {
  return state_ == TaskState::kRunning ? std::nullopt
                                       : refuse(event, "P3 one lease", "only a running task makes progress");
}

std::optional<Wrong> Life::end_run(const Event& event, std::string_view outcome) {
  if (state_ != TaskState::kRunning) return refuse(event, "P5 one end", "it was not running");
  closed_runs_[run_] = outcome;
  state_ = event.state;
  return std::nullopt;
}

std::optional<Wrong> Life::finish(const Event& event) {
  if (!is_terminal(event.state)) return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  state_ = event.state;
  finished_at_ = event.at;
  times_open_ = true;
  return std::nullopt;
}

std::optional<Wrong> Life::on_completed(const Event& event) {
  if (cancel_requested_) return refuse(event, "P7 cancel", "completed after a cancel request");
  if (auto wrong = end_run(event, "completed")) return wrong;
  return finish(event);
}

std::optional<Wrong> Life::check_delay(const Event& event, Millis delay) const {
  const DelayBounds bounds = delay_bounds(given_.retry, attempts_);
  const auto got = static_cast<double>(delay.count());
  if (got >= bounds.low - 1 && got <= bounds.high + 1) return std::nullopt;
  return refuse(
      event, "T5 backoff",
      fmt::format("delay {} ms after attempt {}, expected {:.0f} to {:.0f}", got, attempts_, bounds.low, bounds.high));
}

std::optional<Wrong> Life::on_retrying(const Event& event) {
  if (cancel_requested_) return refuse(event, "P7 cancel", "tried again after a cancel request");
  if (given_.at_most_once) return refuse(event, "P4 at most once", "tried again");
  if (auto wrong = end_run(event, "retrying")) return wrong;
  if (attempts_ >= given_.max_attempts) return refuse(event, "P6 caps", "no attempt is left");
  const Millis delay{number_in(event, "delay_ms").value_or(-1)};
  if (auto wrong = check_delay(event, delay)) return wrong;
  expect_at(event.at + delay);
  times_open_ = true;
  to_tail();
  const TaskState expected = delay > Millis{0} ? TaskState::kScheduled : TaskState::kPending;
  if (state_ != expected) return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  return std::nullopt;
}

std::optional<Wrong> Life::on_deferred(const Event& event) {
  if (cancel_requested_) return refuse(event, "P7 cancel", "deferred after a cancel request");
  if (given_.at_most_once) return refuse(event, "P4 at most once", "deferred");
  if (auto wrong = end_run(event, "deferred")) return wrong;
  --attempts_;
  // Whoever waits for a budget has lost nothing.
  if (text_in(event, "class") != "budget_exceeded") ++defers_;
  if (defers_ > given_.max_defers)
    return refuse(event, "P6 caps", fmt::format("deferral {} of at most {}", defers_, given_.max_defers));
  expect_at(event.at + Millis{number_in(event, "delay_ms").value_or(0)});
  times_open_ = true;
  to_tail();
  if (state_ != TaskState::kScheduled)
    return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  return std::nullopt;
}

std::optional<Wrong> Life::on_released(const Event& event) {
  if (cancel_requested_) return refuse(event, "P7 cancel", "released after a cancel request");
  if (auto wrong = end_run(event, "released")) return wrong;
  --attempts_;
  if (state_ != TaskState::kPending)
    return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  return std::nullopt;
}

std::optional<Wrong> Life::on_suspended(const Event& event) {
  if (cancel_requested_) return refuse(event, "P7 cancel", "suspended after a cancel request");
  if (given_.at_most_once) return refuse(event, "P4 at most once", "suspended, to be run again");
  if (auto wrong = end_run(event, "suspended")) return wrong;
  --attempts_;
  ++suspends_;
  if (suspends_ > given_.max_suspends)
    return refuse(event, "P6 caps", fmt::format("suspend {} of at most {}", suspends_, given_.max_suspends));
  to_tail();
  // Suspended, and then released or ended by a child, in one step: both events show the state at its end.
  if (is_terminal(state_) || number_in(event, "unmet").value_or(0) > 0) state_ = TaskState::kBlocked;
  if (state_ != TaskState::kBlocked && !open_questions_.empty())
    return refuse(event, "Q2 questions", "it does not wait for the answer to its question");
  if (state_ == TaskState::kPending && too_early()) return refuse(event, "P9 run_at", "pending before its time");
  if (state_ == TaskState::kBlocked || state_ == TaskState::kPending || state_ == TaskState::kScheduled)
    return std::nullopt;
  return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
}

std::optional<Wrong> Life::on_stalled(const Event& event) {
  if (cancel_requested_) return refuse(event, "P7 cancel", "stalled after a cancel request");
  if (given_.at_most_once) return refuse(event, "P4 at most once", "stalled, to be run again");
  if (auto wrong = end_run(event, "stalled")) return wrong;
  --attempts_;
  ++stalls_;
  if (stalls_ > given_.max_stalls)
    return refuse(event, "P6 caps", fmt::format("stall {} of at most {}", stalls_, given_.max_stalls));
  if (state_ != TaskState::kStalled)
    return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  return std::nullopt;
}

std::optional<Wrong> Life::on_failed(const Event& event) {
  const std::string error_class = text_in(event, "class");
  if (state_ == TaskState::kBlocked) {
    if (error_class != "parent_failed" && error_class != "unanswered")
      return refuse(event, "P12 events", "a blocked task fails by its parents or for want of an answer");
    return finish(event);
  }
  if (cancel_requested_) return refuse(event, "P7 cancel", "failed after a cancel request");
  if (auto wrong = end_run(event, "failed")) return wrong;
  if (auto wrong = failed_run(event, error_class)) return wrong;
  return finish(event);
}

std::optional<Wrong> Life::failed_run(const Event& event, const std::string& error_class) {
  if (error_class == "stalled") {
    --attempts_;
    ++stalls_;
    if (stalls_ <= given_.max_stalls)
      return refuse(event, "P6 caps", fmt::format("after {} stalls of at most {}", stalls_, given_.max_stalls));
    return std::nullopt;
  }
  if (error_class == "suspended") {
    --attempts_;
    ++suspends_;
    if (suspends_ <= given_.max_suspends) return refuse(event, "P6 caps", "suspends are left");
    return std::nullopt;
  }
  if (given_.at_most_once) {
    counters_open_ = true;  // lost by its worker's word or by its lease: the event does not say
    return std::nullopt;
  }
  if (error_class == "lost") return refuse(event, "P4 at most once", "lost, but it may run again");
  const Follows follows = what_follows(error_class);
  if (follows == Follows::kRetry && attempts_ < given_.max_attempts)
    return refuse(event, "P6 caps", "attempts are left");
  if (follows == Follows::kDefer) {
    --attempts_;
    ++defers_;
    if (defers_ <= given_.max_defers) return refuse(event, "P6 caps", "deferrals are left");
  }
  return std::nullopt;
}

std::optional<Wrong> Life::on_cancel_requested(const Event& event) {
  if (state_ != TaskState::kRunning) return refuse(event, "P7 cancel", "only a running task is asked to stop");
  if (cancel_requested_) return refuse(event, "P7 cancel", "asked twice");
  cancel_requested_ = true;
  return std::nullopt;
}

std::optional<Wrong> Life::on_cancelled(const Event& event) {
  if (is_terminal(state_)) return refuse(event, "P5 one end", "it had ended");
  if (state_ == TaskState::kRunning) {
    if (!cancel_requested_) return refuse(event, "P7 cancel", "ended as cancelled without a request");
    counters_open_ = true;  // how its run ended is not in the event
    if (auto wrong = end_run(event, "cancelled")) return wrong;
  }
  return finish(event);
}

std::optional<Wrong> Life::on_deadline_passed(const Event& event) {
  if (is_terminal(state_)) return refuse(event, "P5 one end", "it had ended");
  if (!deadline_at_ || wall_max_ < *deadline_at_) return refuse(event, "T8 deadline", "before its time");
  if (state_ == TaskState::kRunning) closed_runs_[run_] = "deadline_passed";
  const TaskState expected = given_.fallback_result ? TaskState::kCompleted : TaskState::kFailed;
  if (event.state != expected) return refuse(event, "T8 deadline", fmt::format("ended as {}", name_of(event.state)));
  return finish(event);
}

void Life::reopen(const Event& event) {
  ++generation_;
  attempts_ = stalls_ = defers_ = 0;
  counters_open_ = false;
  cancel_requested_ = false;
  finished_at_.reset();
  ended_.reset();
  ended_result_.reset();
  escalated_to_.reset();
  times_open_ = true;
  if (deadline_at_) deadline_at_ = event.at + (*deadline_at_ - given_.created_at);
  state_ = event.state;
  to_tail();
}

std::optional<Wrong> Life::on_retried(const Event& event) {
  if (state_ != TaskState::kFailed && state_ != TaskState::kCancelled)
    return refuse(event, "P5 one end", "only what failed or was cancelled is tried again");
  const auto wait_until = parse_time(text_in(event, "run_at"));
  expect_at(wait_until ? std::optional(*wait_until) : std::nullopt);
  reopen(event);
  suspends_ = 0;
  parents_ = given_.depends_on;
  if (state_ == TaskState::kPending && too_early()) return refuse(event, "P9 run_at", "pending before its time");
  if (state_ == TaskState::kScheduled && run_at_) return std::nullopt;
  if (state_ == TaskState::kPending || state_ == TaskState::kBlocked) return std::nullopt;
  return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
}

std::optional<Wrong> Life::on_revived(const Event& event) {
  if (state_ != TaskState::kFailed && state_ != TaskState::kCancelled)
    return refuse(event, "P5 one end", "it had not ended by its parent");
  reopen(event);
  // A parent that was retried is not done, so its dependents wait for it again.
  if (state_ != TaskState::kBlocked)
    return refuse(event, "P10 parents", fmt::format("left it {}", name_of(event.state)));
  return std::nullopt;
}

std::optional<Wrong> Life::on_escalated(const Event& event) {
  if (state_ != TaskState::kFailed) return refuse(event, "P12 events", "only a dead letter is escalated");
  escalated_to_ = text_in(event, "to");
  return std::nullopt;
}

// The run ended without its worker's word, and is told of once.
std::optional<Wrong> Life::on_result_refused(const Event& event) {
  const int run = static_cast<int>(number_in(event, "run").value_or(0));
  const std::string* end = end_of_run(run);
  if (end == nullptr || *end == "completed" || *end == "retrying" || *end == "deferred" || *end == "released" ||
      *end == "suspended")
    return refuse(event, "P5 late results", "the run was not lost");
  if (!refused_runs_.insert(run).second) return refuse(event, "P5 late results", "it was told before");
  return event.state == state_ ? std::nullopt : refuse(event, "P5 late results", "it changed the state");
}

std::optional<Wrong> Life::on_asked(const Event& event) {
  if (state_ != TaskState::kRunning) return refuse(event, "Q1 questions", "only a running task asks");
  if (!open_questions_.insert(text_in(event, "question_id")).second)
    return refuse(event, "Q1 questions", "asked twice");
  return std::nullopt;
}

std::optional<Wrong> Life::on_handed_over(const Event& event) {
  return open_questions_.contains(text_in(event, "question_id")) ? std::nullopt
                                                                 : refuse(event, "Q1 questions", "it was not open");
}

// With the end of a task its questions are withdrawn; what follows for others comes behind it.
std::optional<Wrong> Life::on_question_closed(const Event& event) {
  if (open_questions_.erase(text_in(event, "question_id")) == 0)
    return refuse(event, "Q1 questions", "it was not open");
  return std::nullopt;
}

std::optional<Wrong> Life::on_updated(const Event& event) {
  if (is_terminal(state_) || state_ == TaskState::kRunning)
    return refuse(event, "P12 events", "only a task that waits is edited");
  if (const auto priority = number_in(event, "priority")) {
    given_.priority = static_cast<int>(*priority);
    to_tail();
  }
  if (const auto run_at = parse_time(text_in(event, "run_at"))) expect_at(*run_at);
  if (event.state == state_) return std::nullopt;
  if (state_ == TaskState::kBlocked) return refuse(event, "P10 parents", "an edit let it go");
  if (event.state != TaskState::kScheduled && event.state != TaskState::kPending)
    return refuse(event, "P12 events", fmt::format("left it {}", name_of(event.state)));
  state_ = event.state;
  to_tail();
  if (state_ == TaskState::kPending && too_early()) return refuse(event, "P9 run_at", "pending before its time");
  return std::nullopt;
}

std::optional<Wrong> Life::on_deleted(const Event& event) {
  if (!is_terminal(state_)) return refuse(event, "P1 kept", "deleted unfinished work");
  deleted_ = true;
  return std::nullopt;
}

namespace {

Wrong differ(const Task& task, std::string_view field, const std::string& got, const std::string& expected) {
  return {"P12 row and events",
          fmt::format("{} of task {} is {}, its events say {}", field, task.id.to_string(), got, expected)};
}

Wrong differ(const Task& task, std::string_view field, std::int64_t got, std::int64_t expected) {
  return differ(task, field, std::to_string(got), std::to_string(expected));
}

std::string text_of(const std::optional<Time>& time) {
  return time ? format_time(*time) : "unset";
}

TaskRecord head_of(TaskRecord row) {
  Task& task = row.task;
  for (auto* part : {&task.payload, &task.prompt, &task.system_prompt, &task.model, &task.repo, &task.base,
                     &task.agent_id, &task.source, &task.traceparent, &task.fallback_result, &task.bootstrap,
                     &task.budget, &task.checkpoint, &task.result})
    part->reset();
  task.tags.clear();
  task.depends_on.clear();
  return row;
}

bool near(const std::optional<Time>& a, const std::optional<Time>& b, Millis slack) {
  if (a.has_value() != b.has_value()) return false;
  return !a || std::chrono::abs(*a - *b) <= slack;
}

}  // namespace

std::optional<Wrong> Life::compare_times(const Task& task, Millis slack) {
  const Millis allowed = times_open_ ? slack : Millis{0};
  const auto take = [&](std::string_view field, const std::optional<Time>& got,
                        std::optional<Time>& expected) -> std::optional<Wrong> {
    if (!near(got, expected, allowed)) return differ(task, field, text_of(got), text_of(expected));
    expected = got;
    return std::nullopt;
  };
  if (auto wrong = take("run_at", task.run_at, run_at_)) return wrong;
  if (due_by_ && run_at_ && *run_at_ > *due_by_) {
    return Wrong{"P9 run_at", fmt::format("task {} was due before {}", task.id.to_string(), text_of(run_at_))};
  }
  due_by_.reset();
  if (auto wrong = take("deadline_at", task.deadline_at, deadline_at_)) return wrong;
  if (auto wrong = take("finished_at", task.finished_at, finished_at_)) return wrong;
  times_open_ = false;
  return std::nullopt;
}

std::optional<Wrong> Life::compare(const TaskRecord& row, Millis slack) {
  const Task& task = row.task;
  if (task.state != state_)
    return differ(task, "state", std::string(name_of(task.state)), std::string(name_of(state_)));
  if (task.run != run_) return differ(task, "run", task.run, run_);
  if (task.generation != generation_) return differ(task, "generation", task.generation, generation_);
  if (counters_open_) {
    attempts_ = task.attempts;
    stalls_ = task.stalls;
    defers_ = task.defers;
    suspends_ = task.suspends;
    counters_open_ = false;
  }
  if (task.attempts != attempts_) return differ(task, "attempts", task.attempts, attempts_);
  if (task.stalls != stalls_) return differ(task, "stalls", task.stalls, stalls_);
  if (task.defers != defers_) return differ(task, "defers", task.defers, defers_);
  if (task.suspends != suspends_) return differ(task, "suspends", task.suspends, suspends_);
  const int open_questions = static_cast<int>(open_questions_.size());
  if (row.task.open_questions != open_questions)
    return differ(task, "open questions", row.task.open_questions, open_questions);
  if (task.attempts < 0)
    return Wrong{"P6 caps", fmt::format("task {} has {} attempts", task.id.to_string(), task.attempts)};
  const std::string escalated_to = task.escalation ? task.escalation->to : "";
  if (escalated_to != escalated_to_.value_or(""))
    return differ(task, "escalation", escalated_to, escalated_to_.value_or("nobody"));
  if (auto wrong = compare_times(task, slack)) return wrong;
  if (row.revision < revision_) return differ(task, "revision", row.revision, revision_);
  revision_ = row.revision;
  const bool running = state_ == TaskState::kRunning;
  for (const auto& [thing, has] :
       {std::pair("a lease", !row.lease.is_none()), std::pair("a worker", task.worker_id.has_value())}) {
    if (has == running) continue;
    return Wrong{"P3 one lease", fmt::format("task {} is {} and has {}{}", task.id.to_string(), name_of(state_),
                                             has ? "" : "not ", thing)};
  }
  return is_terminal(state_) ? compare_end(row) : std::nullopt;
}

std::optional<Wrong> Life::compare_end(const TaskRecord& row) {
  TaskRecord now = head_of(row);
  if (row.task.payload) {  // a whole row
    if (!ended_result_) ended_result_.emplace(row.task.result);
    if (row.task.result != *ended_result_)
      return Wrong{"P5 immutable", fmt::format("the result of task {} changed", row.task.id.to_string())};
  }
  if (!ended_) {
    ended_ = std::move(now);
    return std::nullopt;
  }
  // Others may still come to depend on it, somebody may get it, and a lost run may report too late; nothing else may
  // change.
  now.revision = ended_->revision;
  now.dependents = ended_->dependents;
  now.children = ended_->children;
  now.cascade_due = ended_->cascade_due;
  now.ended_by = ended_->ended_by;
  now.lost = ended_->lost;
  now.task.escalation = ended_->task.escalation;
  if (now == *ended_) return std::nullopt;
  return Wrong{"P5 immutable", fmt::format("task {} changed after its end:\n{}\n{}", row.task.id.to_string(),
                                           to_json(ended_->task), to_json(now.task))};
}

}  // namespace drover::sim
