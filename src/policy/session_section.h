// The section of drover.yaml about sessions.
#pragma once

#include "core/policy.h"
#include "policy/config_node.h"

namespace drover {

[[nodiscard]] Status read_sessions(Policy& policy, const ConfigNode& node);

}  // namespace drover
