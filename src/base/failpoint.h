// Named steps at which a test may let the process die or the power fail.
//
// failpoint("enqueue.before_commit") costs one relaxed load when nothing is armed. Two ways to arm:
// the environment, DROVER_FAILPOINT="NAME[:N]", which ends the process with SIGKILL at the N-th passage (1 by default);
// or a handler set by a test in the same process (it may throw).
#pragma once

#include <functional>
#include <string_view>

namespace drover {

void failpoint(std::string_view name);

// Replaces the handler; an empty function disarms. Not thread-safe: set it before threads start.
void set_failpoint_handler(std::function<void(std::string_view)> handler);

}  // namespace drover
