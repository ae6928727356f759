#include "history/event_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace drover::history {
namespace {

using enum TaskState;

constexpr unsigned bit(TaskState state) {
  return 1U << static_cast<unsigned>(state);
}
template <class... States>
constexpr unsigned any_of(States... states) {
  return (bit(states) | ...);
}
constexpr unsigned kWaiting = any_of(kBlocked, kScheduled, kPending);
constexpr unsigned kUnfinished = kWaiting | any_of(kRunning, kStalled);
constexpr unsigned kEnds = any_of(kCompleted, kFailed, kCancelled);

enum class Opens : std::uint8_t { kNothing, kRun, kGeneration };

struct EventRule {
  std::string_view name;
  unsigned from;  // the states in which it may happen; 0: only as the first event
  unsigned to;    // the states to which it may lead
  Opens opens = Opens::kNothing;
};

// The life of a task as the documentation tells it.
constexpr std::array kRules = std::to_array<EventRule>({
    {"task.enqueued", 0, kWaiting},
    {"task.unblocked", any_of(kBlocked), any_of(kPending, kScheduled)},
    {"task.updated", kWaiting | any_of(kStalled), kWaiting | any_of(kStalled)},
    {"task.due", any_of(kScheduled), any_of(kPending)},
    {"task.claimed", any_of(kPending, kStalled), any_of(kRunning), Opens::kRun},
    {"task.progressed", any_of(kRunning), any_of(kRunning)},
    {"task.cancel_requested", any_of(kRunning), any_of(kRunning)},
    {"task.completed", any_of(kRunning), any_of(kCompleted)},
    {"task.retrying", any_of(kRunning), any_of(kScheduled, kPending)},
    {"task.deferred", any_of(kRunning), any_of(kScheduled, kPending)},
    {"task.released", any_of(kRunning), any_of(kPending)},
    {"task.suspended", any_of(kRunning), kWaiting},
    {"task.stalled", any_of(kRunning), any_of(kStalled)},
    {"task.failed", any_of(kRunning, kBlocked), any_of(kFailed)},
    {"task.cancelled", kUnfinished, any_of(kCancelled)},
    {"task.deadline_passed", kUnfinished, any_of(kCompleted, kFailed)},
    {"task.retried", any_of(kFailed, kCancelled), kWaiting, Opens::kGeneration},
    {"task.revived", any_of(kFailed, kCancelled), kWaiting, Opens::kGeneration},
    {"task.follow_up_refused", any_of(kCompleted, kFailed), any_of(kCompleted, kFailed)},
    {"task.result_refused", kUnfinished | kEnds, kUnfinished | kEnds},
    {"task.escalated", any_of(kFailed), any_of(kFailed)},
    {"task.deleted", kEnds, kEnds},
});

const EventRule* rule_of(std::string_view name) {
  const auto* const found = std::ranges::find(kRules, name, &EventRule::name);
  return found == kRules.end() ? nullptr : found;
}

bool within(unsigned states, TaskState state) {
  return (states & bit(state)) != 0;
}

}  // namespace

EventWalk::EventWalk(const std::vector<const LoggedEvent*>& events) {
  for (const LoggedEvent* event : events) take(*event);
}

bool EventWalk::was_reopened_before(int run) const {
  const auto found = claims_.find(run);
  return found != claims_.end() && found->second;
}

void EventWalk::report(Broken kind, const LoggedEvent& event, std::string_view what) {
  findings_.emplace_back(kind, fmt::format("event {} ({}): {}", event.seq, event.name, what));
}

void EventWalk::check_order(const LoggedEvent& event) {
  const EventRule* rule = rule_of(event.name);
  if (rule == nullptr) return report(Broken::kEventGap, event, "no such event");
  if (deleted_) return report(Broken::kEventGap, event, "the task was deleted before");
  const bool first = rule->from == 0;
  if (first != !state_) {
    return report(Broken::kEventGap, event, first ? "a second beginning" : "nothing was enqueued before");
  }
  // Suspended and released by its last child in one step: both events show the state after it.
  const bool released_at_once = just_suspended_ && event.name == "task.unblocked";
  if (state_ && !within(rule->from, *state_) && !released_at_once) {
    const bool over = is_terminal(*state_);
    const bool leased = rule->opens == Opens::kRun && *state_ == kRunning;
    report(over     ? Broken::kSettledTwice
           : leased ? Broken::kLeaseOverlap
                    : Broken::kEventGap,
           event, fmt::format("while {}", name_of(*state_)));
  }
  // A task whose parent had ended already is stored ended, or ends as it suspends: the event shows the state after
  // both.
  const bool stored_ended =
      (first || event.name == "task.suspended") && within(any_of(kFailed, kCancelled), event.state);
  if (!within(rule->to, event.state) && !stored_ended) {
    report(Broken::kEventGap, event, fmt::format("leads to {}", name_of(event.state)));
  }
}

void EventWalk::claim(const LoggedEvent& event) {
  if (event.run != last_run_ + 1) {
    report(Broken::kEventGap, event, fmt::format("run {} follows run {}", event.run, last_run_));
  }
  if (cancel_requested_) report(Broken::kStartedAfterCancel, event, "its cancel had been requested");
  open_run_ = event.run;
  last_run_ = event.run;
  claims_[event.run] = reopened_;
}

void EventWalk::close_run(const LoggedEvent& event) {
  if (open_run_ != 0 && event.run != open_run_) {
    report(Broken::kLeaseOverlap, event, fmt::format("ends run {} while run {} was out", event.run, open_run_));
  }
  open_run_ = 0;
}

void EventWalk::take(const LoggedEvent& event) {
  check_order(event);
  const EventRule* rule = rule_of(event.name);
  const Opens opens = rule == nullptr ? Opens::kNothing : rule->opens;
  switch (opens) {
    case Opens::kRun:
      claim(event);
      break;
    case Opens::kGeneration:
      ++generation_;
      cancel_requested_ = false;
      reopened_ = true;
      break;
    case Opens::kNothing:
      if (event.state != kRunning) close_run(event);
      break;
  }
  if (event.generation != generation_) {
    report(Broken::kEventGap, event, fmt::format("is of generation {}, not {}", event.generation, generation_));
  }
  cancel_requested_ = cancel_requested_ || event.name == "task.cancel_requested";
  deleted_ = deleted_ || event.name == "task.deleted";
  just_suspended_ = event.name == "task.suspended";
  if (event.name == "task.stalled") ++leases_lost_;
  if (event.name == "task.cancelled") reopened_ = false;
  const bool stored_ended =
      (event.name == "task.enqueued" || event.name == "task.suspended") && is_terminal(event.state);
  state_ = stored_ended ? kBlocked : event.state;
}

}  // namespace drover::history
