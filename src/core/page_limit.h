// How many items a caller may ask for at once.
#pragma once

#include "drover/error.h"

namespace drover {

// kInvalidArgument unless it is between 1 and kPageMax.
[[nodiscard]] Status check_page_limit(int limit);

}  // namespace drover
