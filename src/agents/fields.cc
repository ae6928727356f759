#include "agents/fields.h"

#include <algorithm>
#include <charconv>

namespace drover::agents {
namespace {

constexpr std::int64_t kCountMax = 1'000'000'000'000'000;  // sums of a few of them fit

}  // namespace

std::string_view text_of(const json::Value& object, std::string_view key) {
  const std::string* text = child_of(object, key).as_string();
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::optional<std::int64_t> int_of(const json::Value& object, std::string_view key) {
  return child_of(object, key).as_int();
}

std::int64_t count_of(const json::Value& object, std::string_view key) {
  return std::clamp<std::int64_t>(int_of(object, key).value_or(0), 0, kCountMax);
}

std::optional<double> number_of(const json::Value& object, std::string_view key) {
  const json::Value::Number* number = child_of(object, key).as_number();
  if (number == nullptr) return std::nullopt;
  double value = 0;
  const auto [stop, error] = std::from_chars(number->text.data(), number->text.data() + number->text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

bool is_true(const json::Value& object, std::string_view key) {
  const bool* flag = child_of(object, key).as_bool();
  return flag != nullptr && *flag;
}

const json::Value& child_of(const json::Value& object, std::string_view key) {
  static const json::Value kNothing;
  const json::Value* child = object.find(key);
  return child != nullptr ? *child : kNothing;
}

const json::Value::Array& array_of(const json::Value& object, std::string_view key) {
  static const json::Value::Array kNone;
  const json::Value::Array* items = child_of(object, key).as_array();
  return items != nullptr ? *items : kNone;
}

const json::Value::Object& members_of(const json::Value& object) {
  static const json::Value::Object kNone;
  const json::Value::Object* members = object.as_object();
  return members != nullptr ? *members : kNone;
}

std::string as_text(const json::Value& value) {
  if (const std::string* text = value.as_string()) return *text;
  return value.is_null() ? std::string() : json::dump(value);
}

std::string content_text(const json::Value& content) {
  const json::Value::Array* parts = content.as_array();
  if (parts == nullptr) return as_text(content);
  std::string text;
  for (const json::Value& part : *parts) text += text_of(part, "text");
  return text;
}

}  // namespace drover::agents
