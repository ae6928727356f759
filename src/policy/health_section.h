// `health:` of drover.yaml.
#pragma once

#include "core/health_policy.h"
#include "policy/config_node.h"

namespace drover {

[[nodiscard]] Status read_health(HealthPolicy& health, const ConfigNode& node);

}  // namespace drover
