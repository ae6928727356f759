// Groups of steps as the arguments of the functions `apply` and `put_config`. lua/5_steps.lua reads them in this order.
#pragma once

#include <span>

#include "store/redis/command.h"
#include "store/store.h"

namespace drover::redis {

void add_groups(Command& command, std::span<const StepGroup> groups);
void add_gate_steps(Command& command, std::span<const GateStep> gates);

// "owner|request id", "owner|type|key"
[[nodiscard]] std::string request_key(const std::string& owner, const std::string& request_id);
[[nodiscard]] std::string dedupe_key(const std::string& owner, const std::string& type, const std::string& key);

}  // namespace drover::redis
