#include "core/lane.h"

namespace drover {

namespace {

constexpr std::string_view kLock = "lock:";

}  // namespace

// Made for every task that waits: without a formatter.
std::string lane_name(const Task& task) {
  std::string name = task.queue;
  name += '|';
  name += std::to_string(task.priority);
  for (const std::string* part : {&task.owner, &task.type}) {
    name += '|';
    name += *part;
  }
  name += '|';
  name += std::to_string(task.cost);
  name += '|';
  for (std::size_t i = 0; i < task.gates.size(); ++i) {
    if (i > 0) name += ',';
    name += task.gates[i];
  }
  return name;
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
