// What Redis answered, as a value.
//
// A reply of another shape than the caller expects is an Error, never a crash; an error reply becomes the Error that
// reply_error.h gives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/error.h"

namespace drover::redis {

class Reply {
 public:
  enum class Kind : std::uint8_t { kNil, kInteger, kStatus, kError, kBulk, kArray };

  Reply() = default;  // nil
  [[nodiscard]] static Reply integer(std::int64_t value) { return {Kind::kInteger, value}; }
  [[nodiscard]] static Reply status(std::string text) { return {Kind::kStatus, std::move(text)}; }
  [[nodiscard]] static Reply error(std::string text) { return {Kind::kError, std::move(text)}; }
  [[nodiscard]] static Reply bulk(std::string text) { return {Kind::kBulk, std::move(text)}; }
  [[nodiscard]] static Reply array(std::vector<Reply> elements) { return {Kind::kArray, std::move(elements)}; }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_nil() const { return kind_ == Kind::kNil; }
  [[nodiscard]] bool is_error() const { return kind_ == Kind::kError; }
  // The text of an error reply, whose first word is its code; empty for every other reply.
  [[nodiscard]] std::string_view error_text() const;

  // Views live as long as the reply.
  [[nodiscard]] Result<std::int64_t> as_integer() const;   // an integer, or a text that is one
  [[nodiscard]] Result<std::string_view> as_text() const;  // a bulk or a status
  [[nodiscard]] Result<std::span<const Reply>> as_array() const;
  [[nodiscard]] Result<std::span<const Reply>> as_array_of(std::size_t size) const;
  // Nil is nothing.
  [[nodiscard]] Result<std::optional<std::int64_t>> as_maybe_integer() const;
  [[nodiscard]] Result<std::optional<std::string_view>> as_maybe_text() const;

  bool operator==(const Reply&) const = default;

 private:
  using Value = std::variant<std::int64_t, std::string, std::vector<Reply>>;
  Reply(Kind kind, Value value) : kind_(kind), value_(std::move(value)) {}
  [[nodiscard]] std::unexpected<Error> unlike(std::string_view expected) const;

  Kind kind_ = Kind::kNil;
  Value value_;
};

}  // namespace drover::redis
