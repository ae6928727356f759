// The processes beneath one process, and their end.
#pragma once

#include <sys/types.h>

#include <vector>

namespace drover {

// Every process whose chain of parents leads to `root`, itself not among them; zombies are. Read from /proc, which
// moves while it is read: a process that forks meanwhile may be missed, and is found by asking again.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t root);

// The direct children of this process.
[[nodiscard]] std::vector<pid_t> children_of_self();

// Freezes the processes beneath each root, so that none can fork away, then kills roots and all. One pass: whoever must
// be sure reaps and asks again until nothing is left.
void kill_trees(const std::vector<pid_t>& roots);

}  // namespace drover
