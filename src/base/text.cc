#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/json.h"

namespace drover {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t kNameCharsMax = 128;
constexpr std::size_t kExcerptBytesMax = 60;

// What may follow a lead byte: how many bytes in all, and the bounds of the second one, which rule out overlong
// forms, surrogates and values past U+10FFFF (Unicode, table 3-7). Zero bytes: no sequence begins so.
struct Lead {
  std::size_t bytes;
  unsigned char second_min;
  unsigned char second_max;
};

constexpr Lead lead_of(unsigned char c) {
  if (c < 0x80) return {1, 0, 0};
  if (c < 0xC2) return {0, 0, 0};
  if (c < 0xE0) return {2, 0x80, 0xBF};
  if (c == 0xE0) return {3, 0xA0, 0xBF};
  if (c == 0xED) return {3, 0x80, 0x9F};
  if (c < 0xF0) return {3, 0x80, 0xBF};
  if (c == 0xF0) return {4, 0x90, 0xBF};
  if (c < 0xF4) return {4, 0x80, 0xBF};
  if (c == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.:@-").contains(c);
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  if (text.empty()) return {0, false};
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.bytes == 0) return {1, false};
  unsigned char min = lead.second_min;
  unsigned char max = lead.second_max;
  for (std::size_t i = 1; i < lead.bytes; ++i) {
    const auto c = static_cast<unsigned char>(i < text.size() ? text[i] : 0);
    if (c < min || c > max) return {i, false};
    min = 0x80;
    max = 0xBF;
  }
  return {lead.bytes, true};
}

bool is_utf8(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  for (;;) {
    const auto other = std::ranges::find_if_not(text, is_ascii);
    if (other == text.end()) return true;
    text.remove_prefix(static_cast<std::size_t>(other - text.begin()));
    const Utf8Step step = utf8_step(text);
    if (!step.valid) return false;
    text.remove_prefix(step.bytes);
  }
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    text.append(step.valid ? bytes.substr(0, step.bytes) : kReplacement);
    bytes.remove_prefix(step.bytes);
  }
  return text;
}

std::string quoted_excerpt(std::string_view text) {
  if (text.size() <= kExcerptBytesMax) return json::quote(text);
  std::size_t cut = kExcerptBytesMax;
  // Not in the middle of a character.
  while (cut > kExcerptBytesMax - 4 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return json::quote(text.substr(0, cut)) + "...";
}

std::string counted(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameCharsMax && std::ranges::all_of(text, is_name_char);
}

// Levenshtein, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace drover
