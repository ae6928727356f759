// What the verbs of workers check.
#pragma once

#include <span>
#include <string_view>

#include "drover/task_queue.h"

namespace drover {

[[nodiscard]] Status check_worker_id(std::string_view id);
// Their names could be those of a queue and a type.
[[nodiscard]] Status check_serves(std::span<const Serve> serves);

}  // namespace drover
