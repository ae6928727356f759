// What a task may start from. A task is not trusted: its word must name HEAD, a branch, a tag or a remote branch, or by
// its full id a commit that one of these reaches, and not the work of another task.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"

namespace drover {

// The refs that the word may mean, the likeliest first; kInvalidArgument says what is wrong with it.
[[nodiscard]] Result<std::vector<std::string>> refs_of_base(std::string_view base);

// Whether it is a commit's full id, as git writes it.
[[nodiscard]] bool is_commit_id(std::string_view base);
// Whether the branch, here or of a remote, is drover/ID: what a task has made.
[[nodiscard]] bool is_work_of_a_task(std::string_view ref);

}  // namespace drover
