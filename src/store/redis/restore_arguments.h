// Tasks and events of a dump, packed for the function `restore`. lua/d_restore.lua takes them apart.
#pragma once

#include <span>

#include "core/dump.h"
#include "store/redis/pack.h"

namespace drover::redis {

[[nodiscard]] Pack packed_tasks(std::span<const DumpedTask> tasks);
[[nodiscard]] Pack packed_events(std::span<const Event> events);

}  // namespace drover::redis
