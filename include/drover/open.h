// Opens a queue by its URL, for programs that use Drover as a library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "drover/task_queue.h"

namespace drover {

// Whether this process also does what time does to tasks (due, deadlines, lost leases, retention), in a thread that
// ends with the queue. Any number of processes may; where a `drover up` or `drover work` runs on the store, none needs
// to.
enum class Upkeep : std::uint8_t { kNone, kBackground };

// `sqlite:PATH`, `memory:`, `redis://HOST:PORT`, or a Drover server, `http(s)://HOST:PORT` or `unix:PATH`, which knows
// the caller by a token and does the upkeep itself. The store closes when the last copy of the pointer goes.
[[nodiscard]] Result<std::shared_ptr<TaskQueue>> open_task_queue(const std::string& url, Upkeep upkeep,
                                                                 const std::string& token = {});

}  // namespace drover
