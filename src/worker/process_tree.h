// The processes beneath one process, and their end.
#pragma once

#include <sys/types.h>

#include <set>
#include <string_view>
#include <vector>

namespace drover {

// Every process whose chain of parents leads to `root`, itself not among them; zombies are. Read from /proc, which
// moves while it is read: a process that forks meanwhile may be missed, and is found by asking again.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t root);

// The direct children of this process, but for the spared ones.
[[nodiscard]] std::vector<pid_t> children_of_self(const std::set<pid_t>& spared);

// Freezes these children and all that is beneath them, so that none can fork away, then kills them. Whole process
// groups are signalled too: that reaches a process that forks faster than /proc can be read. The children must have
// left this process's session. One pass: whoever must be sure reaps and asks again until nothing is left.
void kill_children_of_self(const std::set<pid_t>& spared);

// The same for processes that are nobody's children here, found by a variable ("NAME=value") that they were started
// with. Those of other users are not seen, nor those that cleared it and whose parent is gone.
[[nodiscard]] bool any_with_variable(std::string_view variable);
// One pass; whether there were any.
[[nodiscard]] bool kill_with_variable(std::string_view variable);

}  // namespace drover
