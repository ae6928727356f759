// What somebody wants to watch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/event_filter.h"
#include "drover/task.h"
#include "engine/token_document.h"
#include "server/live_frames.h"

namespace drover::server {

using WatchFilter = EventFilter;

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
