// What the verbs of workers check.
#pragma once

#include <string_view>

#include "drover/error.h"

namespace drover {

[[nodiscard]] Status check_worker_id(std::string_view id);

}  // namespace drover
