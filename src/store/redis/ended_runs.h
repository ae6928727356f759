// Runs that ended for good, of tasks that had nothing beside their record when they were claimed: by far the most
// frequent change. The client makes the whole of what is written; the function (lua/f_ends.lua) only looks whether
// anything but renewals has moved since the claim.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/redis/command.h"
#include "store/store.h"

namespace drover::redis {

struct EndedRun {
  // With the runs before and after it: it is sent once.
  struct Shared {
    std::string lane;
    std::string_view state;
    std::string gate;  // must not have moved; empty: none
    std::int64_t gate_revision = 0;

    bool operator==(const Shared&) const = default;
  };

  Shared shared;
  std::string id;
  std::string was;  // how the record began
  std::string record;
  std::string event;
  std::string place;
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

// Nothing: the group has more to it.
[[nodiscard]] std::optional<EndedRun> as_ended_run(const StepGroup& group);

// As the function takes them.
void add_to(Command& command, std::span<const EndedRun* const> runs);

}  // namespace drover::redis
