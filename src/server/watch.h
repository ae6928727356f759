// What somebody wants to watch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_filter.h"
#include "drover/task.h"
#include "engine/token_document.h"
#include "server/live_frames.h"

namespace drover::server {

struct WatchFilter : EventFilter {
  bool tally = false;  // events are counted, not told

  // Names with commas between, in full or short. kInvalidArgument names one that no event has.
  [[nodiscard]] Status add_names(std::string_view list);
};
// What a watcher says to watch something else: {"type", "queue", "owner", "task", "name", "tally"}.
[[nodiscard]] Status read_json(std::string_view json, WatchFilter& out);

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
