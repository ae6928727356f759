// The fleet's health: what is worth a word in what the store knows.
//
// A snapshot is read once; every check is a pure function of it, so that doctor, the sweeper and a server's readiness
// say the same. What has to be remembered between two looks is one small document in the store.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/policy.h"
#include "engine/held.h"
#include "store/store.h"

namespace drover {

// A running task that reported progress, and since when it has said that.
struct SeenProgress {
  TaskId task;
  int run = 0;
  std::string text;
  Time since{};

  bool operator==(const SeenProgress&) const = default;
};

// The first task in line of a queue, and since when it has been the first, as far as it was looked at.
struct SeenFirst {
  TaskId task;
  Time since{};

  bool operator==(const SeenFirst&) const = default;
};

struct HealthMemory {
  Time looked_at{};
  std::map<std::string, Time> held;           // by gate that is shut: since when it has held tasks back
  std::map<std::string, std::int64_t> usual;  // waiting tasks of a queue on average, in hundredths
  std::map<std::string, SeenFirst> first;     // by queue
  std::vector<SeenProgress> progress;
  std::vector<Alert> alerts;  // that are active

  bool operator==(const HealthMemory&) const = default;
};

[[nodiscard]] JsonText to_json(const HealthMemory& memory);
[[nodiscard]] Result<HealthMemory> parse_health_memory(std::string_view document);
// Alerts that were cleared, newest first.
[[nodiscard]] JsonText past_alerts_json(const std::vector<PastAlert>& alerts);
[[nodiscard]] Result<std::vector<PastAlert>> parse_past_alerts(std::string_view document);

struct HealthSnapshot {
  Time now{};
  std::shared_ptr<const Policy> policy;
  std::vector<QueueCounts> queues;
  std::vector<WorkerInfo> workers;
  std::vector<GateState> gates;
  std::vector<BudgetStatus> budgets;
  std::vector<HeldInQueue> held;   // by gates that are shut
  std::vector<Task> dead_letters;  // the latest; a bounded number
  std::vector<Task> running;       // a bounded number
  std::map<std::string, Explanation::Reason>
      first_in_line;  // by queue: why the first task has not started, if that is long ago
  HealthMemory memory;
  std::int64_t memory_version = 0;
};

// The alerts that hold now, in the order of their kinds.
[[nodiscard]] std::vector<Alert> find_alerts(const HealthSnapshot& snapshot);
// Those of one kind.
[[nodiscard]] std::vector<Alert> find_alerts(const HealthSnapshot& snapshot, AlertKind kind);

// Notes who is first in line now, for those who look again and again: a task that came back, or whose parents are only
// done now, is older than its wait.
void note_first_in_line(HealthSnapshot& snapshot);

// What to remember until the next look; alerts that go on keep the time when they were raised.
[[nodiscard]] HealthMemory remember(const HealthSnapshot& snapshot, std::vector<Alert> alerts);

[[nodiscard]] bool is_silent(const WorkerInfo& worker, Time now);
// Takes work from that queue.
[[nodiscard]] bool serves_queue(const WorkerInfo& worker, const std::string& queue, Time now);

}  // namespace drover
