// What goes to those who watch, as text: the same frames over a WebSocket and as server-sent events.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/task.h"
#include "net/websocket.h"

namespace drover::server {

enum class LiveTransport : std::uint8_t { kWebSocket, kEventStream };
// kOrchestrator: the names and shapes that programs written for an older queue expect.
enum class EventNames : std::uint8_t { kDrover, kOrchestrator };

struct LiveFrame {
  std::string_view kind;  // "snapshot", "events", "tally", "watching", "gap", "bye"
  std::string body;       // one JSON object in one line
  // Where a watcher may go on from once it has this frame; 0: nowhere yet.
  std::int64_t resume_at = 0;
};

enum class FrameOf : std::uint8_t {
  kEvents,
  kTally,  // how many of each name and state
};

// Collects what one frame of events brings.
class EventsFrame {
 public:
  EventsFrame(FrameOf what, EventNames names) : what_(what), names_(names) {}

  void add(const Event& event);
  // The same, of an event whose JSON is there already: `json` is asked for it only if it is told.
  template <class Json>
  void add(const Event& event, Json json) {
    if (what_ == FrameOf::kEvents && names_ == EventNames::kDrover) return add_text(json());
    add(event);
  }
  [[nodiscard]] bool is_empty() const { return list_.empty() && tally_.empty(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  // Everything up to `seq` was looked at.
  [[nodiscard]] LiveFrame finish(std::int64_t seq) &&;

 private:
  void add_text(const std::string& json);

  FrameOf what_;
  EventNames names_;
  std::string list_;
  std::map<std::pair<std::string, TaskState>, std::int64_t> tally_;
};

// From here on something else is watched.
[[nodiscard]] LiveFrame watching_frame(std::int64_t seq);

// `tasks` as JSON, with commas between. `seq` is from before any of them was read.
[[nodiscard]] LiveFrame snapshot_frame(std::int64_t seq, std::string_view tasks, bool has_more);
// Events after `after` are gone; those after `seq` come next.
[[nodiscard]] LiveFrame gap_frame(std::int64_t after, std::int64_t seq);

[[nodiscard]] std::string format_live(LiveTransport transport, const LiveFrame& frame);
// The last word to a watcher: why it ends. What resumes it is the last frame's number.
[[nodiscard]] std::string format_goodbye(LiveTransport transport, CloseCode code, std::string_view reason);

}  // namespace drover::server
