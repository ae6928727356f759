// What the file in which an agent itself keeps a session says of its latest turn. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "agents/run_record.h"

namespace drover::agents {

// While its lines are read. Lines of earlier runs are not among them.
struct OwnTurn {
  bool is_done = false;  // it ended well, and nothing came after that
  std::string answer{};
  std::optional<TokenCounts> session_total{};
  std::map<std::string, Spent, std::less<>> requests{};  // by the id of the model's message
};

// A line that is not JSON says nothing: the agent may be killed while it writes.
[[nodiscard]] OwnTurn read_own_turn(const Preset& preset, std::string_view lines);

}  // namespace drover::agents
