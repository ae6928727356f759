#include "base/json.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/json_scanner.h"

namespace drover::json {
namespace {

// Turns tokens into values. The scanner checks the grammar and bounds the depth, so recursion is safe. Once it fails,
// next() stays false, every loop here ends, and document() drops what was made so far.
class Builder {
 public:
  Builder(std::string_view text, std::size_t depth_max, std::size_t keys_max) : scanner_(text, depth_max, keys_max) {}

  Result<Value> document() {
    Value value;
    if (next()) value = this->value();
    const bool more = next();  // the end, or what is wrong
    CHECK(!more);
    if (scanner_.failed()) return std::unexpected(scanner_.error());
    return value;
  }

 private:
  bool next() { return scanner_.next(token_); }

  // The value that begins with the current token.
  Value value() {
    switch (token_.kind) {
      case TokenKind::kBeginObject:
        return object();
      case TokenKind::kBeginArray:
        return array();
      case TokenKind::kString:
        return unescape(token_);
      case TokenKind::kNumber:
        return Value::Number{std::string(token_.raw)};
      case TokenKind::kTrue:
        return true;
      case TokenKind::kFalse:
        return false;
      case TokenKind::kNull:
        return {};
      case TokenKind::kEndObject:
      case TokenKind::kEndArray:
      case TokenKind::kComma:
      case TokenKind::kColon:
      case TokenKind::kKey:
        break;
    }
    CHECK_MSG(false, "no value begins with this token");
  }

  Value array() {
    Value::Array items;
    while (next() && token_.kind != TokenKind::kEndArray) {
      if (token_.kind != TokenKind::kComma) items.push_back(value());
    }
    return items;
  }

  Value object() {
    Value::Object members;
    while (next() && token_.kind != TokenKind::kEndObject) {
      if (token_.kind != TokenKind::kKey) continue;
      std::string key = unescape(token_);
      if (next() && next()) members.emplace_back(std::move(key), value());  // past the colon
    }
    return members;
  }

  Scanner scanner_;
  Token token_;
};

}  // namespace

const Value* Value::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  const auto member = std::ranges::find(*object, key, &Member::first);
  return member == object->end() ? nullptr : &member->second;
}

std::optional<std::int64_t> Value::as_int() const {
  const Number* number = as_number();
  if (number == nullptr) return std::nullopt;
  const char* end = number->text.data() + number->text.size();
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(number->text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string_view Value::kind_name() const {
  struct Namer {
    std::string_view operator()(const Null&) const { return "null"; }
    std::string_view operator()(bool) const { return "boolean"; }
    std::string_view operator()(const Number&) const { return "number"; }
    std::string_view operator()(const std::string&) const { return "string"; }
    std::string_view operator()(const Array&) const { return "array"; }
    std::string_view operator()(const Object&) const { return "object"; }
  };
  return std::visit(Namer{}, data_);
}

std::string_view Value::kind_phrase() const {
  struct Namer {
    std::string_view operator()(const Null&) const { return "null"; }
    std::string_view operator()(bool) const { return "a boolean"; }
    std::string_view operator()(const Number&) const { return "a number"; }
    std::string_view operator()(const std::string&) const { return "a string"; }
    std::string_view operator()(const Array&) const { return "an array"; }
    std::string_view operator()(const Object&) const { return "an object"; }
  };
  return std::visit(Namer{}, data_);
}

Result<Value> parse(std::string_view text, std::size_t depth_max, std::size_t keys_max) {
  return Builder(text, depth_max, keys_max).document();
}

Result<std::string> compact(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Scanner scanner(text);
  for (Token token; scanner.next(token);) out.append(token.raw);
  if (scanner.failed()) return std::unexpected(scanner.error());
  return out;
}

}  // namespace drover::json
