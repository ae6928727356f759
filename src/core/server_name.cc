#include "core/server_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace drover {

Status check_server_name(std::string_view name) {
  constexpr unsigned char kDelete = 0x7f;
  const auto is_control = [](unsigned char c) { return c < ' ' || c == kDelete; };
  const bool has_size = !name.empty() && name.size() <= kServerNameBytesMax;
  if (has_size && is_utf8(name) && std::ranges::none_of(name, is_control)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("expected 1 to {} bytes of text without control characters", kServerNameBytesMax));
}

Status check_server_colour(std::string_view colour) {
  if (std::ranges::find(kServerColours, colour) != kServerColours.end()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("expected a colour ({}), not {}", fmt::join(kServerColours, ", "), quoted_excerpt(colour)));
}

}  // namespace drover
