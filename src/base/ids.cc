#include "drover/ids.h"

#include <cstring>
#include <span>

namespace drover {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// The value of a hex digit, or -1.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool decode_hex(std::string_view hex, std::span<std::uint8_t> out) {
  if (hex.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) {
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15]);
  }
}

// The groups of the canonical form 8-4-4-4-12, in bytes.
constexpr std::array<std::size_t, 5> kUuidGroups{4, 2, 2, 2, 6};
constexpr std::size_t kUuidChars = 36;

// The finisher of splitmix64: each bit of the input changes about half of the output.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace

std::optional<TaskId> TaskId::parse(std::string_view text) {
  if (text.size() != kUuidChars) return std::nullopt;
  Bytes bytes{};
  std::span<std::uint8_t> rest(bytes);
  for (const std::size_t group : kUuidGroups) {
    if (!decode_hex(text.substr(0, group * 2), rest.first(group))) return std::nullopt;
    text.remove_prefix(group * 2);
    rest = rest.subspan(group);
    if (rest.empty()) break;
    if (text.front() != '-') return std::nullopt;
    text.remove_prefix(1);
  }
  const TaskId id(bytes);
  if (id.is_nil()) return std::nullopt;
  return id;
}

std::string TaskId::to_string() const {
  std::string text;
  text.reserve(kUuidChars);
  std::span<const std::uint8_t> rest(bytes_);
  for (const std::size_t group : kUuidGroups) {
    if (!text.empty()) text.push_back('-');
    append_hex(text, rest.first(group));
    rest = rest.subspan(group);
  }
  return text;
}

std::optional<LeaseId> LeaseId::parse(std::string_view hex) {
  Bytes bytes{};
  if (!decode_hex(hex, bytes)) return std::nullopt;
  return LeaseId(bytes);
}

std::string LeaseId::to_string() const {
  std::string text;
  text.reserve(bytes_.size() * 2);
  append_hex(text, bytes_);
  return text;
}

}  // namespace drover

// Half by half, as ids made in the same millisecond share most of their first one.
std::size_t std::hash<drover::TaskId>::operator()(const drover::TaskId& id) const noexcept {
  std::uint64_t half[2];
  std::memcpy(half, id.bytes().data(), sizeof half);
  return drover::mix(drover::mix(half[0]) ^ half[1]);
}
