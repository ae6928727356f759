// Texts of tasks as an agent may see them. They are data that other agents, programs and strangers wrote: bounded, and
// without the characters that steer a terminal or hide what stands there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"

namespace drover::mcp {

inline constexpr std::size_t kResultBytesMax = 16 * 1024;
inline constexpr std::size_t kLogBytesMax = 8 * 1024;
inline constexpr std::size_t kShortTextBytesMax = 1024;

// Without control characters but line feeds and tabs, and without those that turn the direction of writing.
[[nodiscard]] std::string clean_text(std::string_view text);
// Every string and key in it cleaned.
[[nodiscard]] json::Value clean_value(const json::Value& value);

// Whole characters, at most so many bytes, from the beginning or from the end.
[[nodiscard]] std::string_view first_bytes(std::string_view text, std::size_t bytes_max);
[[nodiscard]] std::string_view last_bytes(std::string_view text, std::size_t bytes_max);

// A text of a task: clean, cut, and with a note if something was left out.
[[nodiscard]] std::string short_text(std::string_view text, std::size_t bytes_max = kShortTextBytesMax);

}  // namespace drover::mcp
