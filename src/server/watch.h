// What somebody wants to watch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task.h"
#include "engine/token_document.h"
#include "server/live_frames.h"

namespace drover::server {

struct WatchFilter {
  std::optional<std::string> type = {};
  std::optional<std::string> queue = {};
  std::optional<std::string> owner = {};
  std::optional<TaskId> task = {};
  std::vector<std::string> names = {};  // of events; empty: all
  bool tally = false;                   // events are counted, not told

  [[nodiscard]] bool admits(const Event& event) const {
    return (!type || event.type == *type) && (!queue || event.queue == *queue) && (!owner || event.owner == *owner) &&
           (!task || event.task == *task) && (names.empty() || std::ranges::find(names, event.name) != names.end());
  }
  // Names with commas between; what has no dot is of a task: "failed" is "task.failed".
  void add_names(std::string_view list);
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
