// What somebody wants to watch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drover/task.h"
#include "engine/token_document.h"
#include "server/live_frames.h"

namespace drover::server {

struct WatchFilter {
  std::optional<std::string> type = {};
  std::optional<std::string> queue = {};
  std::optional<std::string> owner = {};
  std::optional<TaskId> task = {};

  [[nodiscard]] bool admits(const Event& event) const {
    return (!type || event.type == *type) && (!queue || event.queue == *queue) && (!owner || event.owner == *owner) &&
           (!task || event.task == *task);
  }
};

struct Watch {
  LiveTransport transport = LiveTransport::kWebSocket;
  std::string head;  // the answer after which frames flow
  Principal principal;
  WatchFilter filter = {};
  EventNames names = EventNames::kDrover;
  std::optional<std::int64_t> after = {};  // go on from there; absent: from now
  bool wants_snapshot = true;              // before what happens from now on, and after a gap
};

}  // namespace drover::server
