// Bulk operations as JSON: what is asked for, what is told of them, and their filter.
#pragma once

#include <string>
#include <string_view>

#include "drover/bulk.h"

namespace drover {

// {"type": "eng", "state": ["pending"]}: the parameters of a list of tasks, by the same names.
[[nodiscard]] std::string to_json(const TaskFilter& filter);
[[nodiscard]] Status read_json(std::string_view json, TaskFilter& out);

enum class BulkMode : std::uint8_t { kStart, kDryRun };
struct BulkRequest {
  BulkOrder order;
  BulkMode mode = BulkMode::kStart;
};
[[nodiscard]] std::string to_json(const BulkRequest& request);
[[nodiscard]] Status read_json(std::string_view json, BulkRequest& out);

[[nodiscard]] std::string to_json(const BulkPreview& preview);
[[nodiscard]] Status read_json(std::string_view json, BulkPreview& out);

[[nodiscard]] std::string to_json(const BulkOperation& operation);
[[nodiscard]] Status read_json(std::string_view json, BulkOperation& out);

[[nodiscard]] Status read_json(std::string_view json, BulkId& out);
[[nodiscard]] Status read_json(std::string_view json, BulkVerb& out);
[[nodiscard]] Status read_json(std::string_view json, BulkState& out);
[[nodiscard]] Status read_json(std::string_view json, BulkProblem& out);

}  // namespace drover
