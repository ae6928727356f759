#include "sim/session_watch.h"

#include <fmt/format.h>

#include "core/session_record.h"

namespace drover::sim {

std::optional<Wrong> SessionWatch::take(const Event& event, const Task& task) {
  const auto gate = session_gate_of(task);
  if (!gate) return std::nullopt;
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
