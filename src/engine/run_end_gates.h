// What the ends of runs do to gates: the breaker of their type, and the gate of their provider.
//
// Ends that move a gate are told to it one after the other, and their changes are applied together: the revision that a
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

class RunEndGates {
 public:
  // Both outlive it.
  RunEndGates(const Policy& policy, Time now) : policy_(policy), now_(now) {}

  // First every end of the batch is announced, then the gates are read.
  void announce(const Task& task, const Settlement& end);
  // Those that were at rest when last seen are taken to be so, unless `recent` is null.
  [[nodiscard]] Status read(Store& store, RecentReads* recent);

  // Whether this end moves a gate, or one that another end of the batch moves.
  [[nodiscard]] bool moves_gates(const Task& task, const Settlement& end) const;
  // For an end that moves none: the gate that must still be at rest.
  [[nodiscard]] std::vector<GateStep> checks(const Task& task, const Settlement& end) const;
  // For those that move gates: each is told, then all changes are taken together.
  void tell(const Task& task, const Settlement& end);
  [[nodiscard]] std::vector<GateStep> take_steps();

 private:
  struct Gate {
    bool moves = false;
    GateRecord read;
    GateRecord next;
    std::vector<EventDraft> events;
  };
  struct Closing {
    std::string gate;
    Hold hold;
  };

  [[nodiscard]] RunVerdict verdict(const Task& task, const Settlement& end) const;
  [[nodiscard]] std::optional<Closing> closing(const Task& task, const Settlement& end) const;
  void close(const Closing& closing);

  const Policy& policy_;
  Time now_;
  std::map<std::string, Gate, std::less<>> gates_;
};

}  // namespace drover
