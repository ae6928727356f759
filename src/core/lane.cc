#include "core/lane.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace drover {

namespace {

constexpr std::string_view kLock = "lock:";

}  // namespace

std::string lane_name(const Task& task) {
  return fmt::format("{}|{}|{}|{}|{}|{}", task.queue, task.priority, task.owner, task.type, task.cost,
                     fmt::join(task.gates, ","));
}

std::vector<std::string> gates_of(const Task& task) {
  std::vector<std::string> gates{"all", "queue:" + task.queue, "type:" + task.type, "owner:" + task.owner};
  gates.insert(gates.end(), task.gates.begin(), task.gates.end());
  return gates;
}

std::vector<std::string> locks_of(const Task& task) {
  std::vector<std::string> locks;
  for (const std::string& gate : task.gates) {
    if (gate.starts_with(kLock)) locks.push_back(gate.substr(kLock.size()));
  }
  return locks;
}

}  // namespace drover
