// Text that came from outside: UTF-8 checks, names, excerpts for errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover {

// What a text begins with: one well-formed UTF-8 sequence, or bytes that are the start of none.
struct Utf8Step {
  std::size_t bytes;  // 0 only for the empty text
  bool valid;
};
[[nodiscard]] Utf8Step utf8_step(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);
// Bytes that are not UTF-8 become U+FFFD (one for a cut-off character); everything else stays.
[[nodiscard]] std::string to_utf8(std::string_view bytes);
// The text in double quotes for an error: control characters escaped, cut when long.
[[nodiscard]] std::string quoted_excerpt(std::string_view text);
// "1 task", "2 tasks".
[[nodiscard]] std::string counted(std::int64_t n, std::string_view noun);
// [A-Za-z0-9_.:@-]{1,128}: types, queues, owners, tags, request ids.
[[nodiscard]] bool is_name(std::string_view text);
// The suggestion for a mistyped word among the known ones, or empty.
template <class Range>
[[nodiscard]] std::string_view closest_word(std::string_view word, const Range& known);
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// ---- implementation
template <class Range>
std::string_view closest_word(std::string_view word, const Range& known) {
  std::string_view best;
  std::size_t best_distance = 3;  // further away is no typing error
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace drover
