// Text that came from outside: UTF-8 checks, names, redaction of control characters.
#pragma once

#include <string>
#include <string_view>

namespace drover {

[[nodiscard]] bool is_utf8(std::string_view text);
// Bytes that are not UTF-8 become U+FFFD; everything else stays.
[[nodiscard]] std::string to_utf8(std::string_view bytes);
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
