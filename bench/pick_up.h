// From the answer to an enqueue until a worker in another process begins.
#pragma once

#include <string>
#include <string_view>

#include "bench_store.h"
#include "drover/task_queue.h"
#include "figures.h"

namespace drover::bench {

// `address` is where the other process finds the queue: a store's, or a server's URL.
[[nodiscard]] Figure pick_up_by_twin(std::string_view name, Backend backend, const std::string& address,
                                     TaskQueue& producer, int count);

}  // namespace drover::bench
