// The sections of drover.yaml that say how much may run: queues, owners and gates.
#pragma once

#include "core/policy.h"
#include "policy/config_node.h"

namespace drover {

[[nodiscard]] Status read_queues(Policy& policy, const ConfigNode& node);
[[nodiscard]] Status read_owners(Policy& policy, const ConfigNode& node);
[[nodiscard]] Status read_gates(Policy& policy, const ConfigNode& node);

}  // namespace drover
