// What a store was given and must still have. A store counts it apart from the things themselves, so that somebody who
// deletes one is found out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

struct Inventory {
  struct Document {
    std::int64_t version = 0;  // the last that was stored; 0: none ever
    bool is_there = false;
  };

  Document policy;
  Document access_tokens;
  std::int64_t first_event = 1;  // that retention has left
  std::int64_t last_event = 0;
  std::optional<std::int64_t> first_event_there;  // none: there is no event
};

// What is gone, each with a code of its own: policy_missing, access_tokens_missing, events_missing.
[[nodiscard]] std::vector<Finding> find_missing(const Inventory& inventory);

}  // namespace drover
