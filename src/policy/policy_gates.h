// What the policy does to gates: its hold, and their rate.
#pragma once

#include <vector>

#include "core/gate.h"
#include "core/policy.h"

namespace drover {

// Every gate that the document limits, with the policy's hold and its rate alone; by name.
[[nodiscard]] std::vector<GateRecord> policy_gates(const Policy& policy);

// Gives a gate the hold and the rate that the policy has for it, or takes them away. An owner obeys what other owners
// do, and a lock has one permit, without being stored: of those nothing is left when the policy is all there is.
void obey_policy(GateRecord& gate, const Policy& policy, Time now);

}  // namespace drover
