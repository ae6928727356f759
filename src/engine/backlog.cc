// Backlog: what is left to do in the queues that a worker serves. What only a hand holds back does not count.
#include <algorithm>
#include <set>

#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "engine/engine.h"
#include "engine/workers.h"

namespace drover {

namespace {

// Tasks that are looked at one by one; beyond these something is taken to be left.
constexpr std::size_t kLookMax = 1'000;
constexpr int kPage = 100;

using GateNames = std::set<std::string, std::less<>>;

// Closed until somebody opens them.
GateNames closed_by_hand(std::span<const GateState> gates) {
  GateNames names;
  for (const GateState& gate : gates) {
    const Hold* hold = find_hold(gate.record, HoldSource::kOperator);
    if (hold != nullptr && hold->closed_until == kUntilOpened) names.insert(gate.record.name);
  }
  return names;
}

bool is_held(const Serve& serve, const GateNames& closed) {
  return closed.contains(kAllGate) || closed.contains(gate_name(GateKind::kQueue, serve.queue)) ||
         (serve.type && closed.contains(gate_name(GateKind::kType, *serve.type)));
}

bool is_held(const Task& task, const GateNames& closed) {
  return std::ranges::any_of(gates_of(task), [&](const std::string& gate) { return closed.contains(gate); });
}

// Whether every task that waits there is held; false if there are too many to tell.
Result<bool> all_are_held(Store& store, const Serve& serve, const GateNames& closed) {
  TaskFilter filter{.type = serve.type, .queue = serve.queue};
  filter.states = {TaskState::kPending, TaskState::kStalled, TaskState::kScheduled};
  std::optional<std::string> cursor;
  std::size_t looked_at = 0;
  do {
    auto page = TRY(store.list(filter, kPage, cursor, Parts::kHead));
    for (const TaskRecord& record : page.records) {
      if (!is_held(record.task, closed)) return false;
    }
    looked_at += page.records.size();
    cursor = std::move(page.cursor);
  } while (cursor && looked_at < kLookMax);
  return !cursor;
}

}  // namespace

Result<Backlog> Engine::backlog(std::span<const Serve> serves) {
  TRY(check_serves(serves));
  auto backlog = store_.backlog(serves);
  if (!backlog || backlog->waiting == 0) return backlog;
  auto gates = TRY(store_.gates());
  const GateNames closed = closed_by_hand(gates);
  if (closed.empty()) return backlog;
  std::vector<Serve> open;
  for (const Serve& serve : serves) {
    if (is_held(serve, closed)) continue;
    auto held = TRY(all_are_held(store_, serve, closed));
    if (!held) open.push_back(serve);
  }
  if (open.empty()) {
    backlog->waiting = 0;
    return backlog;
  }
  auto left = store_.backlog(open);
  if (!left) return left;
  backlog->waiting = left->waiting;
  return backlog;
}

}  // namespace drover
