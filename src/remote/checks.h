// What a caller in C++ can hand over but JSON cannot carry: it is refused here, as the server would refuse it.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "drover/bulk.h"
#include "drover/task_queue.h"

namespace drover {

// Errors are those of the engine: of a batch they name the place.
[[nodiscard]] Status check_group(std::span<const TaskSpec> group);
[[nodiscard]] Status check_edit_texts(const EditOrder& order);
[[nodiscard]] Status check_bulk_texts(const BulkOrder& order);
[[nodiscard]] Status check_settlement(const Settlement& item);
// kInvalidConfig if it is no JSON.
[[nodiscard]] Status check_document(const JsonText& document);
// kInvalidArgument if one is not UTF-8.
[[nodiscard]] Status check_texts(std::initializer_list<std::string_view> texts);

}  // namespace drover
