#pragma once

#include <string>
#include <string_view>

namespace drover {

// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view data);

}  // namespace drover
