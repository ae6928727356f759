#include "policy/config_node.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/try.h"
#include "policy/yaml_complaint.h"

namespace drover {
namespace {

constexpr std::size_t kDocumentBytesMax = 1 << 20;
// Of a value of any shape. Deeper ones would not fit into the stored document, many more are an alias gone wild.
constexpr int kAnyDepthMax = json::kDepthMax - 8;
constexpr int kAnyValuesMax = 20'000;

struct SizeUnit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<SizeUnit, 5> kSizeUnits{{
    {"B", 1},
    {"KiB", 1LL << 10},
    {"MiB", 1LL << 20},
    {"GiB", 1LL << 30},
    {"TiB", 1LL << 40},
}};

std::unexpected<Error> invalid(std::string_view file, int line, std::string_view complaint) {
  return fail(ErrorCode::kInvalidConfig, fmt::format("{}:{}: {}", file, line, complaint));
}

int line_of(const YAML::Mark& mark) {
  return mark.line + 1;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, count);
  const auto unit = std::ranges::find(kSizeUnits, std::string_view(after, end), &SizeUnit::name);
  if (error != std::errc{} || unit == kSizeUnits.end() || count < 0) return std::nullopt;
  if (count > std::numeric_limits<std::int64_t>::max() / unit->bytes) return std::nullopt;
  return count * unit->bytes;
}

// By the core schema of YAML, but with the numbers of JSON: nobody means 010 or 0x10 here.
json::Value plain_scalar(const std::string& text) {
  if (text == "null" || text == "~" || text.empty()) return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  auto value = json::parse(text);
  if (value && value->as_number() != nullptr) return std::move(*value);
  return text;
}

// Notes where the latest document begins to say something.
class Beginning final : public YAML::EventHandler {
 public:
  std::optional<YAML::Mark> at;

  void OnDocumentStart(const YAML::Mark& /*mark*/) override { at.reset(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    note(mark);
  }
  void OnMapEnd() override {}

 private:
  void note(const YAML::Mark& mark) {
    if (!at) at = mark;
  }
};

// Looks at two documents at most: after a bracket that closes nothing yaml-cpp finds documents without end.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginning beginning;
  if (!parser.HandleNextDocument(beginning) || !parser.HandleNextDocument(beginning)) return std::nullopt;
  return beginning.at;
}

}  // namespace

Result<ConfigNode> ConfigNode::parse(std::string_view text, std::string_view file_name, UnknownKeys unknown_keys) {
  auto source = std::make_shared<Source>(std::string(file_name), unknown_keys);
  const std::string& file = source->file;
  if (text.size() > kDocumentBytesMax) {
    return invalid(file, 1, fmt::format("larger than {} bytes", kDocumentBytesMax));
  }
  if (!is_utf8(text)) return invalid(file, 1, "not UTF-8");
  try {
    const std::string document(text);
    const YAML::Node node = YAML::Load(document);
    if (const auto second = second_document(document)) {
      return invalid(file, line_of(*second), "a second document; one is allowed");
    }
    if (node.IsNull()) return ConfigNode(YAML::Node(), 1, "", std::move(source));
    return ConfigNode(node, line_of(node.Mark()), "", std::move(source));
  } catch (const YAML::Exception& problem) {
    return invalid(file, line_of(problem.mark), yaml_complaint(text, problem));
  }
}

std::unexpected<Error> ConfigNode::error(std::string_view complaint) const {
  if (path_.empty()) return invalid(source_->file, line_, complaint);
  return invalid(source_->file, line_, fmt::format("{}: {}", path_, complaint));
}

Status ConfigNode::unknown_key(std::string_view complaint) const {
  if (source_->unknown_keys == UnknownKeys::kRefused) return error(complaint);
  source_->ignored.push_back(path_);
  return {};
}

std::unexpected<Error> ConfigNode::expected(std::string_view what) const {
  if (node_.IsMap()) return error(fmt::format("expected {}, not a mapping", what));
  if (node_.IsSequence()) return error(fmt::format("expected {}, not a list", what));
  const json::Value value = scalar();
  if (const std::string* text = value.as_string()) {
    return error(fmt::format("expected {}, not {}", what, quoted_excerpt(*text)));
  }
  return error(fmt::format("expected {}, not {}", what, json::dump(value)));
}

json::Value ConfigNode::scalar() const {
  if (!node_.IsScalar()) return {};
  // yaml-cpp marks plain scalars with "?".
  if (node_.Tag() == "?") return plain_scalar(node_.Scalar());
  return node_.Scalar();
}

bool ConfigNode::is_string() const {
  return scalar().as_string() != nullptr;
}

Result<std::string> ConfigNode::text() const {
  const json::Value value = scalar();
  if (const std::string* text = value.as_string()) return *text;
  return expected(node_.IsScalar() ? "a string (in quotes)" : "a string");
}

Result<std::string> ConfigNode::name() const {
  auto value = text();
  if (!value) return value;
  if (const auto status = check_name(*value); !status) return error(status.error());
  return value;
}

Result<bool> ConfigNode::boolean() const {
  const json::Value value = scalar();
  if (const bool* boolean = value.as_bool()) return *boolean;
  return expected("true or false");
}

Result<std::int64_t> ConfigNode::whole_number(Bounds bounds) const {
  const auto value = scalar().as_int();
  if (!value) return expected(fmt::format("a whole number from {} to {}", bounds.min, bounds.max));
  if (const auto status = check_bounds(*value, bounds); !status) return error(status.error());
  return *value;
}

Result<double> ConfigNode::number(double min, double max) const {
  const json::Value value = scalar();
  if (const auto* number = value.as_number()) {
    double parsed = 0;
    const char* const end = number->text.data() + number->text.size();
    const auto result = std::from_chars(number->text.data(), end, parsed);
    if (result.ec == std::errc{} && parsed >= min && parsed <= max) return parsed;
  }
  return expected(fmt::format("a number from {} to {}", min, max));
}

Result<Millis> ConfigNode::time_limit() const {
  const json::Value value = scalar();
  const std::string* text = value.as_string();
  if (text == nullptr) return expected("a duration with its unit, like 30s or 5m");
  const auto duration = parse_duration(*text);
  if (!duration) return error(duration.error());
  if (const auto status = check_time_limit(*duration); !status) return error(status.error());
  return *duration;
}

Result<std::int64_t> ConfigNode::bytes(Bounds bounds) const {
  const json::Value value = scalar();
  const std::string* text = value.as_string();
  const auto count = text != nullptr ? parse_bytes(*text) : value.as_int();
  if (!count) return expected("a number of bytes, or one with its unit, like 64KiB or 4GiB");
  if (const auto status = check_bounds(*count, bounds); !status) return error(status.error());
  return *count;
}

std::string ConfigNode::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Status ConfigNode::members(const Member& member) const {
  if (node_.IsNull()) return {};
  if (!node_.IsMap()) return expected("a mapping");
  std::set<std::string, std::less<>> seen;
  for (const auto& entry : node_) {
    const YAML::Node& key = entry.first;
    const int line = line_of(key.Mark());
    if (!key.IsScalar()) return ConfigNode(key, line, path_, source_).error("a key must be a word");
    const std::string& name = key.Scalar();
    const ConfigNode child(entry.second, line, path_of(name), source_);
    if (!seen.insert(name).second) return child.error("is given twice");
    TRY(member(name, child));
  }
  return {};
}

Result<std::vector<ConfigNode>> ConfigNode::items() const {
  if (!node_.IsSequence()) return expected("a list");
  std::vector<ConfigNode> items;
  for (const YAML::Node& item : node_) {
    items.push_back(ConfigNode(item, line_of(item.Mark()), path_of(fmt::format("{}", items.size())), source_));
  }
  return items;
}

Result<json::Value> ConfigNode::any_value() const {
  int values_left = kAnyValuesMax;
  return any_value(0, values_left);
}

Result<json::Value> ConfigNode::any_value(int depth, int& values_left) const {
  if (depth > kAnyDepthMax) return error(fmt::format("nested deeper than {}", kAnyDepthMax));
  if (--values_left < 0) return error(fmt::format("more than {} values", kAnyValuesMax));
  if (node_.IsMap()) {
    json::Value::Object object;
    const Status read = members([&](const std::string& key, const ConfigNode& member) -> Status {
      return put(member.any_value(depth + 1, values_left), object.emplace_back(key, json::Value()).second);
    });
    if (!read) return std::unexpected(read.error());
    std::ranges::sort(object, {}, &json::Value::Member::first);
    return object;
  }
  if (!node_.IsSequence()) return scalar();
  const auto children = TRY(items());
  json::Value::Array array;
  for (const ConfigNode& child : children) {
    TRY(put(child.any_value(depth + 1, values_left), array.emplace_back()));
  }
  return array;
}

ConfigNode ConfigNode::at(std::span<const std::string> path) const {
  if (path.empty()) return *this;
  std::optional<ConfigNode> next;
  if (node_.IsMap()) {
    (void)members([&](const std::string& key, const ConfigNode& member) -> Status {
      if (key == path.front()) next = member;
      return {};
    });
  } else if (const auto children = items()) {
    std::size_t index = 0;
    std::from_chars(path.front().data(), path.front().data() + path.front().size(), index);
    if (index < children->size()) next = (*children)[index];
  }
  return next ? next->at(path.subspan(1)) : *this;
}

json::Value ConfigNode::to_json() const {
  if (node_.IsMap()) {
    json::Value::Object object;
    for (const auto& entry : node_) {
      object.emplace_back(entry.first.Scalar(), ConfigNode(entry.second, line_, path_, source_).to_json());
    }
    std::ranges::sort(object, {}, &json::Value::Member::first);
    return object;
  }
  if (node_.IsSequence()) {
    json::Value::Array array;
    for (const YAML::Node& item : node_) array.push_back(ConfigNode(item, line_, path_, source_).to_json());
    return array;
  }
  return scalar();
}

}  // namespace drover
