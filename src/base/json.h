// JSON that keeps what it is given: key order and the text of every number survive a round trip exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_scanner.h"
#include "drover/error.h"

namespace drover::json {

// A parsed document. Numbers keep their text; objects keep their order and have no key twice.
class Value {
 public:
  struct Null {
    bool operator==(const Null&) const = default;
  };
  struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
  };
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;

  Value() = default;
  Value(bool value) : data_(value) {}                                  // NOLINT(google-explicit-constructor)
  Value(Number value) : data_(std::move(value)) {}                     // NOLINT
  Value(std::string value) : data_(std::move(value)) {}                // NOLINT
  Value(const char* value) : data_(std::string(value)) {}              // NOLINT
  Value(std::int64_t value) : data_(Number{std::to_string(value)}) {}  // NOLINT
  Value(int value) : Value(std::int64_t{value}) {}                     // NOLINT
  Value(Array value) : data_(std::move(value)) {}                      // NOLINT
  Value(Object value) : data_(std::move(value)) {}                     // NOLINT

  [[nodiscard]] bool is_null() const { return std::holds_alternative<Null>(data_); }
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const Number* as_number() const { return std::get_if<Number>(&data_); }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&data_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&data_); }
  // The member of that name, or null when this is no object or has none.
  [[nodiscard]] const Value* find(std::string_view key) const;
  // A number whose text is a whole number within 64 bits ("1e3" and "1.0" are not).
  [[nodiscard]] std::optional<std::int64_t> as_int() const;
  // "null", "boolean", "number", "string", "array" or "object": for messages.
  [[nodiscard]] std::string_view kind_name() const;
  // The same in a sentence: "an array", "null".
  [[nodiscard]] std::string_view kind_phrase() const;

  bool operator==(const Value&) const = default;

 private:
  std::variant<Null, bool, Number, std::string, Array, Object> data_ = Null{};
};

// Strict RFC 8259 in UTF-8: one value, no lone surrogates, no duplicate keys, at most depth_max levels and
// keys_max keys in one object.
// Errors are kInvalidJson and name line and column.
[[nodiscard]] Result<Value> parse(std::string_view text, std::size_t depth_max = kDepthMax,
                                  std::size_t keys_max = kKeysMax);

// Checks as parse does, and takes out white space outside strings; every other byte stays as it was.
[[nodiscard]] Result<std::string> compact(std::string_view text);

[[nodiscard]] std::string dump(const Value& value);
// Two-space indentation, for people.
[[nodiscard]] std::string dump_pretty(const Value& value);
// The text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string quote(std::string_view text);

// Writes one document front to back; commas and quotes take care of themselves. Wrong use is a bug and aborts; keys
// are the caller's to keep distinct.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);
  Writer& string(std::string_view text);
  Writer& string_or_null(std::string_view text);  // null if it is empty
  Writer& number(std::int64_t value);
  Writer& boolean(bool value);
  Writer& null();
  // A finished JSON value, put in as it is.
  Writer& raw(std::string_view value);
  [[nodiscard]] std::string take() &&;

 private:
  enum class Kind : std::uint8_t { kObject, kArray };
  struct Level {
    Kind kind;
    bool has_items;
  };

  Writer& begin(Kind kind, char bracket);
  Writer& end(Kind kind, char bracket);
  void before_value();
  void separate();

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace drover::json
