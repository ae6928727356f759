#include "cli/display_text.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace drover::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "…";
constexpr char kEscape = '\x1b';

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks that matter in practice, sorted: marks that join the character before them, and format characters.
constexpr std::array kZeroWidth = std::to_array<Range>({
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},   {0x06D6, 0x06DC},
    {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D}, {0x0E31, 0x0E31},   {0x0E34, 0x0E3A},
    {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},   {0x2060, 0x2064},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF},
});

// East Asian Wide and Fullwidth, and the emoji that terminals draw two columns wide.
constexpr std::array kWide = std::to_array<Range>({
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},   {0x23F3, 0x23F3},
    {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},
    {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},   {0x26FA, 0x26FA},
    {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},
    {0x274E, 0x274E},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},
    {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18DFF}, {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF},
    {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C},
    {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4},
    {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E},
    {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F},
    {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D7}, {0x1F6DC, 0x1F6DF}, {0x1F6EB, 0x1F6EC},
    {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
});

bool contains(std::span<const Range> ranges, char32_t c) {
  const auto* const after = std::ranges::upper_bound(ranges, c, {}, &Range::first).base();
  return after != ranges.data() && c <= (after - 1)->last;
}

char32_t decode(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  switch (character.size()) {
    case 1:
      return byte(0);
    case 2:
      return static_cast<char32_t>((byte(0) & 0x1F) << 6 | (byte(1) & 0x3F));
    case 3:
      return static_cast<char32_t>((byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F));
    default:
      return static_cast<char32_t>((byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
                                   (byte(3) & 0x3F));
  }
}

std::size_t character_width(std::string_view character) {
  const char32_t c = decode(character);
  if (c < 0x300) return 1;
  if (contains(kZeroWidth, c)) return 0;
  return contains(kWide, c) ? 2 : 1;
}

// The next character or broken byte of a text, and the columns it takes.
struct Glyph {
  std::size_t bytes;
  std::size_t width;
};

Glyph next_glyph(std::string_view text) {
  const Utf8Step step = utf8_step(text);
  return {step.bytes, step.valid ? character_width(text.substr(0, step.bytes)) : 1};
}

// The longest beginning that fits, and its columns.
Glyph prefix_within(std::string_view text, std::size_t width) {
  Glyph prefix{0, 0};
  while (prefix.bytes < text.size()) {
    const Glyph glyph = next_glyph(text.substr(prefix.bytes));
    if (prefix.width + glyph.width > width) break;
    prefix.bytes += glyph.bytes;
    prefix.width += glyph.width;
  }
  return prefix;
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool is_between(char c, char first, char last) {
  return c >= first && c <= last;
}

// Bytes of the escape sequence that `text` starts with (ESC first): CSI ends at its final byte, OSC and its kin at BEL
// or ESC \, and everything else is two bytes long.
std::size_t escape_sequence_bytes(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {
    std::size_t i = 2;
    while (i < text.size() && !is_between(text[i], '@', '~')) ++i;
    return std::min(i + 1, text.size());
  }
  if (std::string_view("]PX^_").contains(text[1])) {
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == kEscape) return std::min(i + 2, text.size());
    }
    return text.size();
  }
  return 2;
}

bool is_space(char c) {
  return c == ' ' || is_between(c, '\t', '\r');
}

// DEL, and C1 as U+0080 to U+009F: some terminals take the latter for escape sequences.
bool is_control(std::string_view character) {
  const char32_t c = decode(character);
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

// U+202A to U+202E and U+2066 to U+2069 turn the reading direction around and make text look like another.
bool is_direction_override(std::string_view character) {
  const char32_t c = decode(character);
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Appends what comes first in `text` in its harmless form; returns how many bytes it was.
std::size_t append_harmless(std::string_view text, std::string& out) {
  if (text[0] == kEscape) return escape_sequence_bytes(text);
  const Utf8Step step = utf8_step(text);
  const std::string_view character = text.substr(0, step.bytes);
  const bool shown = step.valid && !is_control(character) && !is_direction_override(character);
  out += shown ? character : kReplacement;
  return step.bytes;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Glyph glyph = next_glyph(text);
    width += glyph.width;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  const Glyph whole = prefix_within(text, width);
  if (whole.bytes == text.size()) return std::string(text);
  if (width == 0) return {};
  const Glyph kept = prefix_within(text, width - 1);
  std::string cut(text.substr(0, kept.bytes));
  return cut.append(kEllipsis);
}

std::string fit_left(std::string_view text, std::size_t width) {
  std::string cut = cut_to_width(text, width);
  return cut.append(width - display_width(cut), ' ');
}

std::string fit_right(std::string_view text, std::size_t width) {
  std::string cut = cut_to_width(text, width);
  return cut.insert(0, width - display_width(cut), ' ');
}

std::string wrapped(std::string_view text, std::size_t column, std::size_t width) {
  std::string lines;
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    const std::size_t word_width = display_width(word);
    if (at > column && at + 1 + word_width > width) {
      lines.append("\n").append(column, ' ');
      at = column;
    }
    if (at > column) lines += ' ';
    at += word_width + (at > column ? 1 : 0);
    lines += word;
  }
  return lines;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    if (!is_space(text[0])) {
      text.remove_prefix(append_harmless(text, line));
      continue;
    }
    if (!line.empty() && line.back() != ' ') line += ' ';
    text.remove_prefix(1);
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string harmless(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const bool kept = text[0] == '\n' || text[0] == '\t' || text.starts_with("\r\n");
    if (kept) {
      shown += text[0];
      text.remove_prefix(1);
    } else {
      text.remove_prefix(append_harmless(text, shown));
    }
  }
  return shown;
}

std::string tsv_field(std::string_view text) {
  std::string field;
  field.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '\t':
        field += "\\t";
        break;
      case '\n':
        field += "\\n";
        break;
      case '\r':
        field += "\\r";
        break;
      case '\\':
        field += "\\\\";
        break;
      default:
        field += c;
    }
  }
  return field;
}

}  // namespace drover::cli
