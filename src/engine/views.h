// The document of the saved views.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/task_queue.h"

namespace drover {

// By owner; of those without one under the empty name.
using ViewDocument = std::map<std::string, std::map<std::string, SavedView>>;

[[nodiscard]] Result<ViewDocument> parse_views(std::string_view text);

}  // namespace drover
