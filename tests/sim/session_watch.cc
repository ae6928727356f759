#include "sim/session_watch.h"

#include <fmt/format.h>

#include "core/session_record.h"

namespace drover::sim {

void SessionWatch::follow(const std::string& gate, const Event& event) {
  const bool begins = event.name == "task.enqueued" || event.name == "task.retried" || event.name == "task.revived";
  if (begins && !is_terminal(event.state)) going_on_[gate].insert(event.task);
  if (!is_terminal(event.state) && event.name != "task.cancel_requested") return;
  going_on_[gate].erase(event.task);
  to_be_stopped_.erase(event.task);
}

void SessionWatch::interrupted_by(const Task& task) {
  const auto gate = session_gate_of(task);
  if (!gate) return;
  for (const TaskId& other : going_on_[*gate]) {
    if (other != task.id) to_be_stopped_[other] = task.id;
  }
}

std::optional<Wrong> SessionWatch::caught_up() {
  if (to_be_stopped_.empty()) return std::nullopt;
  const auto [other, by] = *to_be_stopped_.begin();
  return Wrong{"S3 interrupt", fmt::format("task {} interrupts its session, but task {} was not told to stop",
                                           by.to_string(), other.to_string())};
}

std::optional<Wrong> SessionWatch::take(const Event& event, const Task& task) {
  const auto gate = session_gate_of(task);
  if (!gate) return std::nullopt;
  follow(*gate, event);
  const auto running = running_.find(*gate);
  if (event.name == "task.claimed") {
    if (running != running_.end() && running->second != event.task) {
      return Wrong{"S1 session", fmt::format("task {} starts in {}, where task {} runs", event.task.to_string(), *gate,
                                             running->second.to_string())};
    }
    running_[*gate] = event.task;
    return std::nullopt;
  }
  if (event.name == "task.completed" || event.name == "task.suspended") {
    if (const auto bootstrap = bootstrap_of(task)) told_.insert({*gate, bootstrap->key});
  }
  const bool has_stopped = running != running_.end() && running->second == event.task;
  if (has_stopped && event.state != TaskState::kRunning) running_.erase(running);
  return std::nullopt;
}

std::optional<Wrong> SessionWatch::started(const Task& task, const std::optional<SessionStart>& start) {
  const auto gate = session_gate_of(task);
  if (!gate) return std::nullopt;
  const auto bootstrap = bootstrap_of(task);
  if (!start) return Wrong{"S2 bootstrap", fmt::format("{} is not told of its session", task.id.to_string())};
  if (!bootstrap || start->bootstrap_due || told_.contains({*gate, bootstrap->key})) return std::nullopt;
  return Wrong{"S2 bootstrap", fmt::format("a run of task {} is spared {}, which no run of {} that did well was told",
                                           task.id.to_string(), bootstrap->key, *gate)};
}

}  // namespace drover::sim
