// The characters of HTTP (RFC 9110, section 5).
#pragma once

#include <algorithm>
#include <string_view>

namespace drover {

// Of a method or the name of a field.
[[nodiscard]] constexpr bool is_token(char byte) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         kMarks.find(byte) != std::string_view::npos;
}
[[nodiscard]] constexpr bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char byte) { return is_token(byte); });
}

// Of a field's value: no control character but the tab.
[[nodiscard]] constexpr bool is_text(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return (code >= 0x20 && code != 0x7f) || byte == '\t';
}

}  // namespace drover
