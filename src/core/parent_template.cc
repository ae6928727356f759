#include "core/parent_template.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "base/try.h"

namespace drover {
namespace {

constexpr std::string_view kBegin = "{{parents.";
constexpr std::string_view kEnd = "}}";
constexpr std::string_view kResult = ".result";

std::unexpected<Error> cannot_fill(std::string_view whole, std::string_view why) {
  return fail(ErrorCode::kInvalidPayload, fmt::format("{}: {}", quoted_excerpt(whole), why));
}

struct Place {
  std::string_view whole;  // with its braces
  std::string_view parent;
  std::string_view path;
};

// A ref may have dots itself: it ends where ".result" ends the name or goes on with a path.
Result<Place> parse_place(std::string_view whole) {
  const std::string_view inner = whole.substr(kBegin.size(), whole.size() - kBegin.size() - kEnd.size());
  for (std::size_t at = inner.find(kResult); at != std::string_view::npos; at = inner.find(kResult, at + 1)) {
    const std::string_view behind = inner.substr(at + kResult.size());
    if (at == 0 || (!behind.empty() && behind.front() != '.')) continue;
    return Place{whole, inner.substr(0, at), behind.empty() ? behind : behind.substr(1)};
  }
  return cannot_fill(whole, "expected {{parents.REF.result}} or {{parents.REF.result.PATH}}");
}

const json::Value* step_into(const json::Value& value, std::string_view key) {
  const json::Value::Array* items = value.as_array();
  if (items == nullptr) return value.find(key);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool is_index = error == std::errc{} && end == key.data() + key.size() && index < items->size();
  return is_index ? &(*items)[index] : nullptr;
}

Result<std::string> value_at(const Place& place, const ParentLookup& lookup) {
  const auto found = lookup(place.parent);
  if (!found) return cannot_fill(place.whole, found.error().message);
  const auto result = TRY(json::parse(*found));
  const json::Value* value = &result;
  std::string_view path = place.path;
  if (place.whole.ends_with(".}}"))
    return cannot_fill(place.whole, "its path ends with a dot: name a member, or drop it");
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view key = path.substr(0, dot);
    value = step_into(*value, key);
    if (value == nullptr) return cannot_fill(place.whole, fmt::format("the result has no {}", quoted_excerpt(key)));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value->as_string() != nullptr ? *value->as_string() : json::dump(*value);
}

std::unexpected<Error> too_long(std::size_t bytes_max) {
  return fail(ErrorCode::kInvalidPayload,
              fmt::format("with the results of its parents it has more than {} bytes", bytes_max));
}

class JsonFiller {
 public:
  JsonFiller(const ParentLookup& lookup, std::size_t bytes_max) : lookup_(lookup), bytes_max_(bytes_max) {}

  Status fill(const json::Value& value) {
    if (const std::string* text = value.as_string()) {
      const auto filled = TRY(fill_text(*text, lookup_, bytes_max_));
      out_.string(filled);
    } else if (const json::Value::Array* items = value.as_array()) {
      out_.begin_array();
      for (const json::Value& item : *items) TRY(fill(item));
      out_.end_array();
    } else if (const json::Value::Object* members = value.as_object()) {
      out_.begin_object();
      for (const auto& [key, member] : *members) {
        out_.key(key);
        TRY(fill(member));
      }
      out_.end_object();
    } else {
      out_.raw(json::dump(value));
    }
    return {};
  }
  [[nodiscard]] JsonText take() { return std::move(out_).take(); }

 private:
  const ParentLookup& lookup_;
  const std::size_t bytes_max_;
  json::Writer out_;
};

}  // namespace

bool has_parent_template(std::string_view text) {
  return text.find(kBegin) != std::string_view::npos;
}

Result<std::string> fill_text(std::string_view text, const ParentLookup& lookup, std::size_t bytes_max) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find(kBegin), text.size());
    filled += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) break;
    const std::size_t end = text.find(kEnd);
    if (end == std::string_view::npos) return cannot_fill(text, "it has no end: }} is missing");
    const auto place = TRY(parse_place(text.substr(0, end + kEnd.size())));
    const auto value = TRY(value_at(place, lookup));
    filled += value;
    text.remove_prefix(end + kEnd.size());
    if (filled.size() > bytes_max) return too_long(bytes_max);
  }
  return filled;
}

Result<JsonText> fill_json(const JsonText& document, const ParentLookup& lookup, std::size_t bytes_max) {
  const auto value = TRY(json::parse(document));
  JsonFiller filler(lookup, bytes_max);
  TRY(filler.fill(value));
  JsonText filled = filler.take();
  if (filled.size() > bytes_max) return too_long(bytes_max);
  return filled;
}

}  // namespace drover
