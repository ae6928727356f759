#include "base/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>
#include <variant>

#include "base/json_schema_node.h"
#include "base/text.h"

namespace drover::json {
namespace {

// Schemas asked in one validation. Alternatives inside alternatives can ask for far more than any value is worth.
constexpr int kStepsMax = 2'000'000;
constexpr int kRecursionMax = 1'000;
constexpr std::size_t kPathBytesMax = 300;

void write_meaning(const Value& value, Writer& out) {
  if (const Value::Number* number = value.as_number()) {
    out.raw(Decimal::parse(number->text).to_string());
  } else if (const Value::Array* items = value.as_array()) {
    out.begin_array();
    for (const Value& item : *items) write_meaning(item, out);
    out.end_array();
  } else if (const Value::Object* object = value.as_object()) {
    std::vector<const Value::Member*> members;
    for (const Value::Member& member : *object) members.push_back(&member);
    std::ranges::sort(members, {}, &Value::Member::first);
    out.begin_object();
    for (const Value::Member* member : members) write_meaning(member->second, out.key(member->first));
    out.end_object();
  } else {
    out.raw(dump(value));
  }
}

// RFC 6901; long names are cut.
std::string pointer_step(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, kPathBytesMax)) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return to_utf8(text);
}

std::uint8_t type_bits(const Value& value) {
  if (value.is_null()) return kTypeNull;
  if (value.as_bool() != nullptr) return kTypeBoolean;
  if (value.as_string() != nullptr) return kTypeString;
  if (value.as_array() != nullptr) return kTypeArray;
  if (value.as_object() != nullptr) return kTypeObject;
  const bool whole = Decimal::parse(value.as_number()->text).is_whole();
  return whole ? kTypeNumber | kTypeInteger : kTypeNumber;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view plural(std::size_t count) {
  return count == 1 ? "" : "s";
}

class Validator {
 public:
  explicit Validator(const std::vector<SchemaNode>& nodes) : nodes_(nodes) {}

  std::optional<SchemaError> run(const Value& value) {
    // What was cut short may look valid: a `not` that nobody answered.
    if (check(0, value) && !exhausted_) return std::nullopt;
    return std::move(error_);
  }

 private:
  using Step = std::variant<std::string_view, std::size_t>;

  // False: error_ says why. Once the bounds are passed everything is false.
  bool check(SchemaIndex index, const Value& value) {
    if (exhausted_) return false;
    if (--steps_left_ < 0 || depth_ >= kRecursionMax) {
      error_ = SchemaError{path(), "takes too much work to check against its schema"};
      exhausted_ = true;
      return false;
    }
    ++depth_;
    const SchemaNode& node = nodes_[index];
    const bool valid = check_itself(node, value) && check_parts(node, value) && check_in_place(node, value);
    --depth_;
    return valid;
  }

  bool complain(std::string what) {
    if (!exhausted_ && quiet_ == 0) error_ = SchemaError{path(), std::move(what)};
    return false;
  }

  [[nodiscard]] std::string path() const {
    std::string text;
    for (const Step& step : path_) {
      text += '/';
      if (const auto* name = std::get_if<std::string_view>(&step)) {
        text += pointer_step(*name);
      } else {
        text += std::to_string(std::get<std::size_t>(step));
      }
      if (text.size() > kPathBytesMax) return text + "...";
    }
    return text;
  }

  bool check_at(Step step, SchemaIndex index, const Value& value) {
    path_.push_back(step);
    const bool valid = check(index, value);
    path_.pop_back();
    return valid;
  }

  // As check(), where nobody asks why.
  bool matches(SchemaIndex index, const Value& value) {
    ++quiet_;
    const bool valid = check(index, value);
    --quiet_;
    return valid;
  }

  bool check_itself(const SchemaNode& node, const Value& value) {
    if (node.refuses_all) return complain("is not allowed");
    if (node.types != 0 && (node.types & type_bits(value)) == 0) {
      return complain(fmt::format("expected {}, found {}", fmt::join(node.type_names, " or "), found(value)));
    }
    if (node.constant || node.allowed) {
      const std::string meaning = meaning_of(value);
      if (node.constant && meaning != *node.constant) {
        return complain(fmt::format("expected {}, found {}", *node.constant, excerpt(meaning)));
      }
      if (node.allowed && !node.allowed->contains(meaning)) {
        return complain(fmt::format("expected one of {}, found {}",
                                    excerpt(fmt::format("{}", fmt::join(*node.allowed, ", "))), excerpt(meaning)));
      }
    }
    if (const std::string* text = value.as_string()) return check_text(node, *text);
    if (const Value::Number* number = value.as_number()) return check_number(node, *number);
    return true;
  }

  static std::string_view found(const Value& value) {
    const bool fraction = value.as_number() != nullptr && (type_bits(value) & kTypeInteger) == 0;
    return fraction ? "number with a fraction" : value.kind_name();
  }

  static std::string excerpt(std::string_view text) {
    constexpr std::size_t kBytesMax = 120;
    if (text.size() <= kBytesMax) return std::string(text);
    return to_utf8(text.substr(0, kBytesMax)) + "...";
  }

  bool check_text(const SchemaNode& node, const std::string& text) {
    if (node.min_length || node.max_length) {
      const std::size_t length = code_points(text);
      if (node.min_length && length < *node.min_length) {
        return complain(
            fmt::format("has {} character{}; at least {} are needed", length, plural(length), *node.min_length));
      }
      if (node.max_length && length > *node.max_length) {
        return complain(fmt::format("has {} characters; at most {} are allowed", length, *node.max_length));
      }
    }
    if (node.pattern && !re2::RE2::PartialMatch(text, *node.pattern)) {
      return complain(fmt::format("{} does not match the pattern {}", quoted_excerpt(text), node.pattern->pattern()));
    }
    return true;
  }

  bool check_number(const SchemaNode& node, const Value::Number& number) {
    const bool bounded = node.minimum || node.maximum || node.exclusive_minimum || node.exclusive_maximum;
    if (!bounded && !node.multiple_of) return true;
    const Decimal value = Decimal::parse(number.text);
    const auto out_of = [&](std::string_view rule, const Decimal& bound) {
      return complain(fmt::format("expected a number {} {}, found {}", rule, bound.to_string(), excerpt(number.text)));
    };
    if (node.minimum && value < *node.minimum) return out_of("of at least", *node.minimum);
    if (node.maximum && value > *node.maximum) return out_of("of at most", *node.maximum);
    if (node.exclusive_minimum && value <= *node.exclusive_minimum) return out_of("above", *node.exclusive_minimum);
    if (node.exclusive_maximum && value >= *node.exclusive_maximum) return out_of("below", *node.exclusive_maximum);
    if (node.multiple_of && !value.is_multiple_of(*node.multiple_of))
      return out_of("that is a multiple of", *node.multiple_of);
    return true;
  }

  bool check_parts(const SchemaNode& node, const Value& value) {
    if (const Value::Array* items = value.as_array()) return check_items(node, *items);
    if (const Value::Object* object = value.as_object()) return check_members(node, *object);
    return true;
  }

  bool check_items(const SchemaNode& node, const Value::Array& items) {
    if (node.min_items && items.size() < *node.min_items) {
      return complain(
          fmt::format("has {} item{}; at least {} are needed", items.size(), plural(items.size()), *node.min_items));
    }
    if (node.max_items && items.size() > *node.max_items) {
      return complain(fmt::format("has {} items; at most {} are allowed", items.size(), *node.max_items));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::optional<SchemaIndex> schema = i < node.prefix_items.size() ? node.prefix_items[i] : node.items;
      if (schema && !check_at(i, *schema, items[i])) return false;
    }
    return !node.unique_items || check_unique(items);
  }

  bool check_unique(const Value::Array& items) {
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto [first, is_new] = seen.emplace(meaning_of(items[i]), i);
      if (!is_new) return complain(fmt::format("items {} and {} are equal", first->second, i));
    }
    return true;
  }

  bool check_members(const SchemaNode& node, const Value::Object& object) {
    if (!check_required(node, object)) return false;
    if (node.properties.empty() && !node.additional) return true;
    for (const auto& [name, value] : object) {
      const auto property = node.properties.find(name);
      const std::optional<SchemaIndex> schema =
          property != node.properties.end() ? std::optional(property->second) : node.additional;
      if (schema && !check_at(std::string_view(name), *schema, value)) return false;
    }
    return true;
  }

  bool check_required(const SchemaNode& node, const Value::Object& object) {
    if (node.required.empty()) return true;
    std::vector<std::string_view> names(object.size());
    std::ranges::transform(object, names.begin(),
                           [](const Value::Member& member) { return std::string_view(member.first); });
    std::ranges::sort(names);
    for (const std::string& name : node.required) {
      if (!std::ranges::binary_search(names, std::string_view(name))) {
        return complain(fmt::format("{} is missing", quoted_excerpt(name)));
      }
    }
    return true;
  }

  bool check_in_place(const SchemaNode& node, const Value& value) {
    if (node.ref && !check(*node.ref, value)) return false;
    for (const SchemaIndex index : node.all_of) {
      if (!check(index, value)) return false;
    }
    if (node.negated && matches(*node.negated, value)) return complain("matches a schema that it must not match");
    if (!node.any_of.empty() && !check_any(node.any_of, value)) return false;
    return node.one_of.empty() || check_one(node.one_of, value);
  }

  // A lone alternative says itself what is wrong.
  bool check_any(const std::vector<SchemaIndex>& schemas, const Value& value) {
    if (schemas.size() == 1) return check(schemas.front(), value);
    if (std::ranges::any_of(schemas, [&](SchemaIndex index) { return matches(index, value); })) return true;
    return complain(fmt::format("matches none of {} alternatives", schemas.size()));
  }

  bool check_one(const std::vector<SchemaIndex>& schemas, const Value& value) {
    if (schemas.size() == 1) return check(schemas.front(), value);
    const auto matched = std::ranges::count_if(schemas, [&](SchemaIndex index) { return matches(index, value); });
    if (matched == 1) return true;
    if (matched == 0) return complain(fmt::format("matches none of {} alternatives", schemas.size()));
    return complain(fmt::format("matches {} of {} alternatives; exactly one is allowed", matched, schemas.size()));
  }

  const std::vector<SchemaNode>& nodes_;
  std::vector<Step> path_;
  SchemaError error_;
  int steps_left_ = kStepsMax;
  int depth_ = 0;
  int quiet_ = 0;
  bool exhausted_ = false;
};

}  // namespace

std::string to_string(const SchemaError& error) {
  return error.path.empty() ? error.what : fmt::format("{}: {}", error.path, error.what);
}

std::string meaning_of(const Value& value) {
  Writer out;
  write_meaning(value, out);
  return std::move(out).take();
}

std::optional<SchemaError> Schema::validate(const Value& value) const {
  return Validator(program_->nodes).run(value);
}

}  // namespace drover::json
