// TaskQueue over HTTP to a Drover server: the same verbs, the same answers, the same errors. What cannot be reached is
// kStoreUnavailable, as with any other store.
#pragma once

#include <memory>

#include "drover/task_queue.h"
#include "remote/remote_options.h"

namespace drover {

// kInvalidArgument: this is no such URL. Nothing is asked of the server yet.
[[nodiscard]] Result<std::unique_ptr<TaskQueue>> open_remote(RemoteOptions options);

}  // namespace drover
