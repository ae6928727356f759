#pragma once

#include <string>
#include <string_view>

namespace drover {

// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view data);

// Whether two texts are equal, in a time that depends on their lengths alone.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace drover
