// Explain: why a task is not running, and what will release it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/policy.h"
#include "engine/engine.h"
#include "engine/gate_status.h"

namespace drover {

namespace {

using Reason = Explanation::Reason;

constexpr std::size_t kParentsShown = 100;

// ---- gates

// A gate that refuses the task now.
struct Refusal {
  GateStatus gate;
  std::optional<Time> at;  // when it will not
  std::string why;         // as the end of "type:eng ..."
};

std::string by_whom(const Hold& hold) {
  std::string text;
  if (!hold.by.empty()) text += " by " + hold.by;
  if (!hold.why.empty()) text += fmt::format(" ({})", hold.why);
  return text;
}

const Hold* closing_hold(const GateStatus& gate) {
  const auto found = std::ranges::find_if(
      gate.holds, [&](const Hold& hold) { return hold.closed_until && hold.closed_until == gate.closed_until; });
  return found != gate.holds.end() ? &*found : nullptr;
}

std::string closed_text(const GateStatus& gate, Time until) {
  const Hold* hold = closing_hold(gate);
  const std::string who = hold != nullptr ? by_whom(*hold) : "";
  if (until == kUntilOpened) return fmt::format("is closed{}, until `drover gate open {}`", who, gate.name);
  return fmt::format("is closed{}, until {}", who, format_time(until));
}

Refusal refusal_of(GateStatus gate, const GateVerdict& verdict, std::int64_t cost) {
  Refusal refusal{.gate = std::move(gate), .at = verdict.look_again, .why = {}};
  const GateStatus& status = refusal.gate;
  const std::int64_t in_use = status.in_use.value_or(0);
  if (status.closed_until) {
    refusal.why = closed_text(status, *status.closed_until);
  } else if (status.permits == 0) {
    refusal.why = fmt::format(
        "has no permits: nothing starts until `drover gate limit {0} N`, or `drover gate limit "
        "{0} none`, or the policy gives it some",
        status.name);
  } else if (status.permits && in_use >= *status.permits) {
    refusal.why = fmt::format("has {} of {} in use; one that ends lets the next start", in_use,
                              counted(*status.permits, "permit"));
  } else if (status.rate && cost > status.rate->burst) {
    refusal.at = std::nullopt;
    refusal.why = fmt::format("lets at most {} go at once, and this task costs {}: raise its burst, or cancel the task",
                              counted(status.rate->burst, "unit"), cost);
  } else if (status.rate) {
    refusal.why = fmt::format("lets {} go; the next for this task is at {}", to_string(*status.rate),
                              verdict.look_again ? format_time(*verdict.look_again) : "no known time");
  }
  return refusal;
}

// ---- one reason each

Explanation explain_running(const Task& task) {
  Explanation answer{.reason = Reason::kRunning};
  answer.text = fmt::format("it runs on {} since {}", task.worker_id.value_or("a worker"),
                            format_time(task.started_at.value_or(Time{})));
  if (task.cancel_requested_at) answer.text += ", and was asked to stop";
  return answer;
}

Explanation explain_ended(const Task& task) {
  Explanation answer{.reason = Reason::kEnded};
  answer.text = fmt::format("it is {}", name_of(task.state));
  if (task.error) answer.text += fmt::format(": {}", task.error->message);
  if (task.state != TaskState::kCompleted)
    answer.text += fmt::format("; `drover retry {}` runs it again", task.id.to_string());
  return answer;
}

Explanation explain_scheduled(const Task& task) {
  Explanation answer{.reason = Reason::kScheduled, .at = task.run_at};
  answer.text = fmt::format("it waits until {}", format_time(task.run_at.value_or(Time{})));
  if (task.error)
    answer.text += fmt::format(", because its latest run failed with {}", name_of(task.error->error_class));
  return answer;
}

Explanation explain_gates(std::vector<Refusal> refusals) {
  Explanation answer{.reason = Reason::kGate, .gate = refusals.front().gate.name};
  answer.text = fmt::format("{} {}", refusals.front().gate.name, refusals.front().why);
  if (refusals.size() > 1)
    answer.text += fmt::format("; and {} more", counted(static_cast<std::int64_t>(refusals.size()) - 1, "gate"));
  // It goes when the last of them lets it go; if one has no time, nobody knows.
  answer.at = refusals.front().at;
  for (Refusal& refusal : refusals) {
    answer.at = answer.at && refusal.at ? std::optional(std::max(*answer.at, *refusal.at)) : std::nullopt;
    answer.refusing.push_back(std::move(refusal.gate));
  }
  return answer;
}

// Who could run a task.
struct Serving {
  int workers = 0;
  std::string trouble{};  // of one that would serve it, but cannot run it
};

Serving who_serves(const std::vector<WorkerInfo>& workers, const Task& task, Time now) {
  Serving serving;
  for (const WorkerInfo& worker : workers) {
    if (worker.draining || now - worker.last_beat_at > kWorkerSilence) continue;
    const auto found = std::ranges::find_if(worker.serves, [&](const Serve& serve) {
      return serve.queue == task.queue && (!serve.type || *serve.type == task.type);
    });
    if (found == worker.serves.end()) continue;
    if (found->trouble.empty()) {
      ++serving.workers;
    } else {
      serving.trouble = fmt::format("{} would, but {}", worker.id, found->trouble);
    }
  }
  return serving;
}

Explanation explain_line(const Task& task, const LanePosition& position, const Serving& serving) {
  const int workers = serving.workers;
  Explanation answer{.reason = workers > 0 ? Reason::kInLine : Reason::kNoWorker, .ahead = position.ahead};
  if (workers == 0 && !serving.trouble.empty()) {
    answer.text =
        fmt::format("no worker can run tasks of type {} in queue {}: {}", task.type, task.queue, serving.trouble);
    return answer;
  }
  if (workers == 0) {
    answer.text =
        fmt::format("no live worker serves queue {}: start one with `drover work --queue {}`", task.queue, task.queue);
    return answer;
  }
  const std::string ahead =
      position.ahead >= kAheadMax ? fmt::format("{} or more", kAheadMax) : fmt::format("{}", position.ahead);
  answer.text = fmt::format("it stands in line in queue {}, priority {}: {} ahead of it in its lane, {} serving it",
                            task.queue, task.priority, ahead, counted(workers, "worker"));
  return answer;
}

// Before anything else that holds it: no claim asks for that.
Explanation explain_regression(const Loss& loss, const Explanation& afterwards) {
  Explanation answer{.reason = Reason::kStoreRegressed, .refusing = afterwards.refusing, .ahead = afterwards.ahead};
  answer.text = fmt::format(
      "nothing is claimed: the store went backwards, acknowledged and gone: {}; restore what is gone, or go on without "
      "it: "
      "`drover store accept-regression`; then: {}",
      to_string(loss), afterwards.text);
  return answer;
}

class Explain {
 public:
  Explain(Store& store, Time now) : store_(store), now_(now) {}

  // None: the task moved while it was looked at.
  Result<std::optional<Explanation>> of(const TaskRecord& record) {
    const Task& task = record.task;
    switch (task.state) {
      case TaskState::kRunning:
        return explain_running(task);
      case TaskState::kCompleted:
      case TaskState::kFailed:
      case TaskState::kCancelled:
        return explain_ended(task);
      case TaskState::kScheduled:
        return explain_scheduled(task);
      case TaskState::kBlocked:
        return of_blocked(task);
      case TaskState::kPending:
      case TaskState::kStalled:
        return of_claimable(task);
    }
    std::unreachable();
  }

 private:
  Result<std::optional<Explanation>> of_blocked(const Task& task) {
    auto whole = TRY(store_.read(std::span(&task.id, 1), Parts::kAll));
    const std::optional<TaskRecord>& stored = whole.front();
    if (!stored) return std::nullopt;
    const std::vector<TaskId>& parents = stored->task.depends_on;
    auto read = TRY(store_.read(parents, Parts::kHead));
    Explanation answer{.reason = Reason::kBlocked};
    std::size_t unmet = 0;
    for (const auto& parent : read) {
      if (!parent || is_terminal(parent->task.state)) continue;
      if (++unmet <= kParentsShown) answer.waits_for.push_back(parent->task.id);
    }
    answer.text =
        fmt::format("it waits for {} of {}", unmet, counted(static_cast<std::int64_t>(parents.size()), "parent"));
    return answer;
  }

  Result<std::vector<Refusal>> refusals(const Task& task) {
    std::vector<std::string> names = gates_of(task);
    names.emplace_back(kOtherOwnersGate);
    auto states = TRY(store_.read_gates(names));
    const GateRecord others = states.back().record;
    states.pop_back();
    std::vector<Refusal> found;
    for (const GateState& state : states) {
      const GateRecord gate = effective_gate(state.record, others);
      const GateVerdict verdict = ask_gate(limits_of(gate), state.use, task.cost, now_);
      if (verdict.room == 0) found.push_back(refusal_of(gate_status(state, gate, now_), verdict, task.cost));
    }
    return found;
  }

  Result<std::optional<Explanation>> of_waiting(const Task& task) {
    const std::optional<LanePosition> position = TRY(store_.lane_position(task.id));
    if (!position) return std::nullopt;
    auto refused = TRY(refusals(task));
    if (!refused.empty()) return explain_gates(std::move(refused));
    auto workers = TRY(store_.workers());
    return explain_line(task, *position, who_serves(workers, task, now_));
  }

  Result<std::optional<Explanation>> of_claimable(const Task& task) {
    const auto state = TRY(store_.state());
    auto explained = of_waiting(task);
    const std::optional<Loss>& loss = state.loss;
    if (!loss || !explained) return explained;
    const std::optional<Explanation>& afterwards = *explained;
    return afterwards ? explain_regression(*loss, *afterwards) : afterwards;
  }

  Store& store_;
  Time now_;
};

}  // namespace

Result<Explanation> Engine::explain(const TaskId& id) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = TRY(store_.now());
    auto records = TRY(store_.read(std::span(&id, 1), Parts::kHead));
    const std::optional<TaskRecord>& record = records.front();
    if (!record) return drover::fail(ErrorCode::kNotFound, fmt::format("there is no task {}", id.to_string()));
    std::optional<Explanation> answer = TRY(Explain(store_, now).of(*record));
    if (answer) return *std::move(answer);
  }
  return too_much_contention("explain");
}

}  // namespace drover
