#include "store/redis/reply.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "store/redis/reply_error.h"

namespace drover::redis {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string describe(Reply::Kind kind) {
  switch (kind) {
    case Reply::Kind::kNil:
      return "nil";
    case Reply::Kind::kInteger:
      return "an integer";
    case Reply::Kind::kStatus:
      return "a status";
    case Reply::Kind::kError:
      return "an error";
    case Reply::Kind::kBulk:
      return "a text";
    case Reply::Kind::kArray:
      return "an array";
  }
  return {};
}

}  // namespace

std::unexpected<Error> Reply::unlike(std::string_view expected) const {
  if (is_error()) return std::unexpected(error_of(*this));
  std::string got = describe(kind_);
  if (const auto* text = std::get_if<std::string>(&value_)) got += " " + quoted_excerpt(*text);
  if (const auto* elements = std::get_if<std::vector<Reply>>(&value_)) got += fmt::format(" of {}", elements->size());
  return fail(ErrorCode::kInternal, fmt::format("Redis answered {} where {} was expected", got, expected),
              "redis.reply");
}

std::string_view Reply::error_text() const {
  return is_error() ? std::string_view(std::get<std::string>(value_)) : std::string_view();
}

Result<std::int64_t> Reply::as_integer() const {
  if (kind_ == Kind::kInteger) return std::get<std::int64_t>(value_);
  if (kind_ == Kind::kBulk || kind_ == Kind::kStatus) {
    if (const auto value = parse_integer(std::get<std::string>(value_))) return *value;
  }
  return unlike("an integer");
}

Result<std::string_view> Reply::as_text() const {
  if (kind_ != Kind::kBulk && kind_ != Kind::kStatus) return unlike("a text");
  return std::get<std::string>(value_);
}

Result<std::span<const Reply>> Reply::as_array() const {
  if (kind_ != Kind::kArray) return unlike("an array");
  return std::get<std::vector<Reply>>(value_);
}

Result<std::span<const Reply>> Reply::as_array_of(std::size_t size) const {
  const Result<std::span<const Reply>> elements = as_array();
  if (elements && elements->size() != size) return unlike(fmt::format("an array of {}", size));
  return elements;
}

Result<std::optional<std::int64_t>> Reply::as_maybe_integer() const {
  if (is_nil()) return std::nullopt;
  return as_integer();
}

Result<std::optional<std::string_view>> Reply::as_maybe_text() const {
  if (is_nil()) return std::nullopt;
  return as_text();
}

}  // namespace drover::redis
