#include "mcp/clean_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace drover::mcp {
namespace {

constexpr bool is_continuation(char byte) {
  return (static_cast<std::uint8_t>(byte) & 0xC0U) == 0x80U;
}

// Of a whole character in UTF-8.
bool is_unwanted(std::string_view character) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(character[at]); };
  if (character.size() == 1) {
    return (byte(0) < 0x20 && byte(0) != '\n' && byte(0) != '\t') || byte(0) == 0x7F;
  }
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;  // U+0080 to U+009F
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;  // U+2066 to U+2069
}

}  // namespace

std::string clean_text(std::string_view text) {
  const std::string valid = to_utf8(text);
  std::string clean;
  clean.reserve(valid.size());
  for (std::size_t at = 0; at < valid.size();) {
    std::size_t end = at + 1;
    while (end < valid.size() && is_continuation(valid[end])) ++end;
    const std::string_view character = std::string_view(valid).substr(at, end - at);
    if (!is_unwanted(character)) clean += character;
    at = end;
  }
  return clean;
}

json::Value clean_value(const json::Value& value) {
  if (const std::string* text = value.as_string()) return clean_text(*text);
  if (const json::Value::Array* items = value.as_array()) {
    json::Value::Array clean;
    for (const json::Value& item : *items) clean.push_back(clean_value(item));
    return clean;
  }
  if (const json::Value::Object* members = value.as_object()) {
    json::Value::Object clean;
    for (const auto& [key, member] : *members) {
      std::string name = clean_text(key);
      // Two keys may have differed in nothing else.
      while (std::ranges::find(clean, name, &json::Value::Member::first) != clean.end()) name += '_';
      clean.emplace_back(std::move(name), clean_value(member));
    }
    return clean;
  }
  return value;
}

std::string_view first_bytes(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && is_continuation(text[end])) --end;
  return text.substr(0, end);
}

std::string_view last_bytes(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t begin = text.size() - bytes_max;
  while (begin < text.size() && is_continuation(text[begin])) ++begin;
  return text.substr(begin);
}

std::string short_text(std::string_view text, std::size_t bytes_max) {
  const std::string clean = clean_text(text);
  if (clean.size() <= bytes_max) return clean;
  const std::string_view first = first_bytes(clean, bytes_max);
  return fmt::format("{}… [{} more bytes]", first, clean.size() - first.size());
}

}  // namespace drover::mcp
