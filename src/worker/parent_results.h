// What the parents of a running task produced, as the task may read it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/worker.h"

namespace drover {

// In the order of depends_on.
[[nodiscard]] Result<std::vector<ParentResult>> read_parents(TaskQueue& queue, const Task& task);

// A result that is larger than this, or that comes after so much in all, is left out of the list.
inline constexpr std::size_t kParentResultBytesMax = 64 * 1024;
inline constexpr std::size_t kParentResultsBytesMax = 1024 * 1024;

// An array of objects: id, ref, type, state, result, error, truncated, expired.
[[nodiscard]] std::string to_json(std::span<const ParentResult> parents);

// The parent with this id or ref. kNotFound: there is none; kInvalidArgument: several have the ref.
[[nodiscard]] Result<ParentResult> find_parent(std::span<const ParentResult> parents, std::string_view id_or_ref);

}  // namespace drover
