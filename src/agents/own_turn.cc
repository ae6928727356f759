#include "agents/own_turn.h"

#include <algorithm>

#include "agents/preset.h"

namespace drover::agents {

OwnTurn read_own_turn(const Preset& preset, std::string_view lines) {
  OwnTurn turn;
  if (preset.own_file.read_line == nullptr) return turn;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    if (const auto value = json::parse(line); value && line.size() <= kAgentLineBytesMax)
      preset.own_file.read_line(*value, turn);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return turn;
}

}  // namespace drover::agents
