// How many items a caller may ask for at once.
#pragma once

#include "drover/error.h"

namespace drover {

inline constexpr int kPageMax = 1'000;

[[nodiscard]] Status check_page_limit(int limit);

}  // namespace drover
