// What runs do to gates, by how they end and by what they say while they run: the breaker of their type, the gate of
// their provider, and their session.
//
// Runs that move a gate are told to it one after the other, and their changes are applied together: the revision that a
// gate gets from one group of steps is not known to the next.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/policy.h"
#include "engine/recent_reads.h"
#include "store/store.h"

namespace drover {

class RunGates {
 public:
  // Both outlive it.
  RunGates(const Policy& policy, Time now) : policy_(policy), now_(now) {}

  // First every run of the batch is announced, then the gates are read.
  void announce(const TaskRecord& record, const Settlement& end);
  void announce(const TaskRecord& record, const ProviderSignal& signal);
  // Those that were at rest when last seen are taken to be so, unless `recent` is null.
  [[nodiscard]] Status read(Store& store, RecentReads* recent);

  // Whether this end moves a gate, or one that another run of the batch moves.
  [[nodiscard]] bool moves_gates(const TaskRecord& record, const Settlement& end) const;
  // For an end that moves none: the gates that must still be at rest.
  [[nodiscard]] std::vector<GateStep> checks(const TaskRecord& record, const Settlement& end) const;
  // For those that move gates: each is told, then all changes are taken together.
  void tell(const TaskRecord& record, const Settlement& end);
  void tell(const TaskRecord& record, const ProviderSignal& signal);
  // The session of a run that ended, if it had one: what the task was, and what has become of it.
  [[nodiscard]] Status tell_session(const TaskRecord& before, TaskState after, const Settlement& end);
  [[nodiscard]] std::vector<GateStep> take_steps();

 private:
  struct Gate {
    bool moves = false;
    bool is_refusing = false;  // a run says so
    std::int64_t running = 0;  // behind it, if it is
    GateRecord read;
    GateRecord next;
    std::vector<EventDraft> events;
  };

  [[nodiscard]] RunVerdict verdict(const Task& task, const Settlement& end) const;
  // What an end says of the provider; nothing if it says nothing, or the task has none.
  [[nodiscard]] ProviderSignal signal(const TaskRecord& record, const Settlement& end) const;
  // The gates that an end says something of.
  [[nodiscard]] std::vector<std::string> gates_of(const TaskRecord& record, const Settlement& end) const;
  Status read_bootstrap_keys(Store& store);
  void feed_breaker_of(const TaskRecord& record, const Settlement& end);

  const Policy& policy_;
  Time now_;
  std::map<std::string, Gate, std::less<>> gates_;
  std::map<TaskId, std::optional<std::string>> bootstrap_keys_;  // of the tasks that run in sessions
};

}  // namespace drover
