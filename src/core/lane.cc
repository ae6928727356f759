#include "core/lane.h"

#include <array>
#include <charconv>
#include <ranges>

#include "core/gate_name.h"

namespace drover {

namespace {

template <class T>
bool read_number(std::string_view text, T& target) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target);
  return error == std::errc{} && end == text.data() + text.size();
}

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

std::optional<Task> task_like(std::string_view lane) {
  std::array<std::string_view, 6> parts;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::size_t bar = lane.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    parts[i] = lane.substr(0, bar);
    lane.remove_prefix(bar + 1);
  }
  parts.back() = lane;
  Task like;
  const auto [queue, rank, owner, type, cost, gates] = parts;
  if (!read_number(rank, like.priority) || !read_number(cost, like.cost)) return std::nullopt;
  like.queue = queue;
  like.owner = owner;
  like.type = type;
  for (const auto gate : std::views::split(gates, ',')) {
    if (!gate.empty()) like.gates.emplace_back(gate.begin(), gate.end());
  }
  return like;
}

std::vector<std::string> gates_of(const Task& task) {
  std::vector<std::string> gates{std::string(kAllGate), gate_name(GateKind::kQueue, task.queue),
                                 gate_name(GateKind::kType, task.type), gate_name(GateKind::kOwner, task.owner)};
  gates.insert(gates.end(), task.gates.begin(), task.gates.end());
  return gates;
}

std::vector<std::string> locks_of(const Task& task) {
  std::vector<std::string> locks;
  for (const std::string& gate : task.gates) {
    if (const auto lock = subject_of(gate, GateKind::kLock)) locks.emplace_back(*lock);
  }
  return locks;
}

std::optional<std::string> session_in(const Task& task) {
  for (const std::string& gate : task.gates) {
    if (const auto subject = subject_of(gate, GateKind::kSession)) {
      return std::string(subject->substr(subject->rfind(':') + 1));
    }
  }
  return std::nullopt;
}

}  // namespace drover
