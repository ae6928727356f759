// New tasks that wait, with nothing beside their record: what most enqueues are made of. The client makes what is
// written, and says once what tasks have in common; the function (lua/g_adds.lua) gives out their numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace drover::redis {

struct NewTasks {
  std::vector<std::string> arguments;  // as the function takes them
  std::size_t groups = 0;

  [[nodiscard]] std::size_t size() const { return groups; }
};

// Nothing: one of the groups has more to it.
[[nodiscard]] std::optional<NewTasks> as_new_tasks(std::span<const StepGroup> groups);

}  // namespace drover::redis
