// What a task may start from. A task is not trusted: its word must name HEAD, a branch, a tag or a remote branch, and
// not the work of another task.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"

namespace drover {

// The refs that the word may mean, the likeliest first; kInvalidArgument says what is wrong with it.
[[nodiscard]] Result<std::vector<std::string>> refs_of_base(std::string_view base);

}  // namespace drover
