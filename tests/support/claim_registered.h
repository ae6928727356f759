// A claim as a worker makes it: one that the queue does not know registers, and asks again.
#pragma once

#include "drover/task_queue.h"

namespace drover::test {

[[nodiscard]] inline Result<std::vector<ClaimedTask>> claim_registered(TaskQueue& queue, const ClaimRequest& request) {
  auto claimed = queue.claim(request);
  if (claimed || claimed.error().code != ErrorCode::kUnknownWorker) return claimed;
  const WorkerInfo worker{.id = request.worker_id, .version = "1", .serves = request.serves};
  if (const Status registered = queue.register_worker(worker); !registered) return std::unexpected(registered.error());
  return queue.claim(request);
}

}  // namespace drover::test
