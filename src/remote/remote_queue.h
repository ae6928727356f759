// TaskQueue over HTTP to a Drover server: the same verbs, the same answers, the same errors. What cannot be reached is
// kStoreUnavailable, as with any other store.
#pragma once

#include <memory>
#include <string>

#include "drover/task_queue.h"

namespace drover {

struct RemoteOptions {
  std::string url;         // of a server, or of several in front of one store: see server_url.h
  std::string token{};     // shown with every request
  Millis timeout{10'000};  // of a call that does not wait
};

// kInvalidArgument: this is no such URL. Nothing is asked of the server yet.
[[nodiscard]] Result<std::unique_ptr<TaskQueue>> open_remote(RemoteOptions options);

}  // namespace drover
