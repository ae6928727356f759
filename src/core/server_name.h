// What people tell servers apart by, in the dashboard.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "drover/error.h"

namespace drover {

inline constexpr std::size_t kServerNameBytesMax = 64;
// Each has enough contrast to text in both themes of the dashboard.
inline constexpr std::array<std::string_view, 9> kServerColours{"grey", "red",  "orange", "yellow", "green",
                                                                "teal", "blue", "purple", "pink"};

struct ServerName {
  std::optional<std::string> name = {};
  std::optional<std::string> colour = {};  // one of kServerColours

  bool operator==(const ServerName&) const = default;
};

// kInvalidArgument: empty, too long, not UTF-8, or with control characters.
[[nodiscard]] Status check_server_name(std::string_view name);
// kInvalidArgument names those that there are.
[[nodiscard]] Status check_server_colour(std::string_view colour);

}  // namespace drover
