// Which events somebody wants to see.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/ids.h"
#include "drover/task.h"

namespace drover {

// Every name that an event may have; docs/reference/events.md says what each tells.
[[nodiscard]] std::span<const std::string_view> event_names();
// "task.failed", or "failed" for short. kInvalidArgument for a name that no event has.
[[nodiscard]] Result<std::string> parse_event_name(std::string_view text);

struct EventFilter {
  std::optional<std::string> type = {};
  std::optional<std::string> queue = {};
  std::optional<std::string> owner = {};
  std::optional<TaskId> task = {};
  std::vector<std::string> names = {};  // any of these; empty: all

  [[nodiscard]] bool admits(const Event& event) const;
  [[nodiscard]] bool narrows() const { return type || queue || owner || task || !names.empty(); }
};

}  // namespace drover
