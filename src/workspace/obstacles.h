// What git would leave out of a commit without a word: found by looking at every file ourselves.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "drover/error.h"

namespace drover::workspace {

struct Obstacle {
  std::string path;  // from the top of the tree
  std::string why;
  bool always = false;  // also where git ignores the path
};

// A .git at the top: the agent's own, which is not looked at, or in the way.
enum class TopGit : std::uint8_t { kExpected, kObstacle };

// `submodules`: the folders that the commit has as links to other repositories.
[[nodiscard]] Result<std::vector<Obstacle>> find_obstacles(const std::string& work, TopGit top_git,
                                                           const std::set<std::string>& submodules);

}  // namespace drover::workspace
