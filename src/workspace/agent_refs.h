// The refs that an agent left, read file by file: asking git would let the agent's configuration run commands.
#pragma once

#include <string>
#include <vector>

#include "drover/error.h"

namespace drover::workspace {

// Where an agent's git keeps its refs. For a clone both are work/.git.
struct RefFolders {
  std::string own;     // HEAD
  std::string common;  // branches
};

struct AgentHead {
  std::string commit;
  std::string ref;  // "refs/heads/x"; empty when HEAD is detached
};

// Errors are kWrongState: whatever is there is not what git would write.
[[nodiscard]] Result<AgentHead> read_head(const RefFolders& folders);

// What every ref of a clone names, except for those of remotes: branches, tags, all stashes. Sorted, none twice.
[[nodiscard]] Result<std::vector<std::string>> read_tips(const std::string& git_dir);

// The lines of packed-refs that name a ref.
struct PackedRef {
  std::string object;
  std::string name;
};
[[nodiscard]] std::vector<PackedRef> read_packed_refs(const std::string& text);

}  // namespace drover::workspace
