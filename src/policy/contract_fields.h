// The fields of a type that make up its contract: schemas, defaults and follow-ups.
#pragma once

#include "core/policy.h"
#include "policy/config_node.h"

namespace drover {

// Complaints name the line of the keyword.
[[nodiscard]] Result<json::Schema> schema_of(const ConfigNode& node);
[[nodiscard]] Result<JsonText> json_object_of(const ConfigNode& node);
[[nodiscard]] Result<FollowUp> follow_up_from(const ConfigNode& node);

// With closed types a follow-up must be of one of them. `root` is the whole document.
[[nodiscard]] Status check_follow_ups(const ConfigNode& root, const Policy& policy);

}  // namespace drover
