// A value of drover.yaml and where it stands, so that every complaint names its file, line and path.
//
// Plain scalars are null, true, false, a number as in JSON, or else a string; quoted ones are strings.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "core/spec_check.h"
#include "drover/error.h"
#include "drover/time.h"

namespace drover {

// What becomes of a key that this version does not know.
enum class UnknownKeys : std::uint8_t { kRefused, kIgnored };

class ConfigNode {
 public:
  using Member = std::function<Status(const std::string& key, const ConfigNode& value)>;

  // The one document in the text; an empty text is an empty mapping.
  [[nodiscard]] static Result<ConfigNode> parse(std::string_view text, std::string_view file_name,
                                                UnknownKeys unknown_keys = UnknownKeys::kRefused);

  // Each is kInvalidConfig when the value is of another kind.
  [[nodiscard]] Result<std::string> text() const;
  [[nodiscard]] Result<std::string> name() const;
  [[nodiscard]] Result<bool> boolean() const;
  [[nodiscard]] Result<std::int64_t> whole_number(Bounds bounds) const;
  [[nodiscard]] Result<double> number(double min, double max) const;
  [[nodiscard]] Result<Millis> time_limit() const;
  // A number of bytes, or one with its unit: 65536, "64KiB", "4GiB".
  [[nodiscard]] Result<std::int64_t> bytes(Bounds bounds) const;
  // Visits every member of a mapping until one fails; null is an empty mapping. No key comes twice.
  [[nodiscard]] Status members(const Member& member) const;
  [[nodiscard]] Result<std::vector<ConfigNode>> items() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_mapping() const { return node_.IsMap() || node_.IsNull(); }
  // What stands here, object keys sorted. Requires a value that was read: its shape bounds the work.
  [[nodiscard]] json::Value to_json() const;

  // As to_json(), of a value of any shape: its size and depth are checked.
  [[nodiscard]] Result<json::Value> any_value() const;
  // What stands at the end of the path, or as near to it as there is something.
  [[nodiscard]] ConfigNode at(std::span<const std::string> path) const;

  // "drover.yaml:12: types.eng.retry: " and the complaint.
  [[nodiscard]] std::unexpected<Error> error(std::string_view complaint) const;
  [[nodiscard]] std::unexpected<Error> error(const Error& cause) const { return error(cause.message); }
  // "expected WHAT, not ..."
  [[nodiscard]] std::unexpected<Error> expected(std::string_view what) const;
  // This member's key is unknown: a complaint with the known word that is nearest to it, or all of them if none is
  // near. Where unknown keys are ignored, the member is noted and that is all.
  template <class Range>
  [[nodiscard]] Status unknown(std::string_view kind, std::string_view key, const Range& known) const {
    const std::string_view nearest = closest_word(key, known);
    const std::string hint = nearest.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                                             : fmt::format("did you mean \"{}\"?", nearest);
    return unknown_key(fmt::format("unknown {} {} ({})", kind, quoted_excerpt(key), hint));
  }
  // The same, in the caller's words.
  [[nodiscard]] Status unknown_key(std::string_view complaint) const;
  // The paths of all members of this document that were ignored, in the order of reading.
  [[nodiscard]] const std::vector<std::string>& ignored() const { return source_->ignored; }

 private:
  // What all nodes of a document share.
  struct Source {
    std::string file;
    UnknownKeys unknown_keys;
    std::vector<std::string> ignored = {};
  };

  ConfigNode(YAML::Node node, int line, std::string path, std::shared_ptr<Source> source)
      : node_(std::move(node)), line_(line), path_(std::move(path)), source_(std::move(source)) {}

  // What a scalar stands for; null when this is none.
  [[nodiscard]] json::Value scalar() const;
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] Result<json::Value> any_value(int depth, int& values_left) const;

  YAML::Node node_;
  int line_;  // from 1: of its key, or of itself in a list
  std::string path_;
  std::shared_ptr<Source> source_;
};

// Reads a mapping into a struct by a table of its fields.
template <class T>
struct ConfigField {
  std::string_view name;
  Status (*read)(T&, const ConfigNode&);
};

template <class T, class Fields>
[[nodiscard]] Status read_fields(const ConfigNode& mapping, const Fields& fields, T& target) {
  return mapping.members([&](const std::string& key, const ConfigNode& value) -> Status {
    const auto field = std::ranges::find(fields, key, &ConfigField<T>::name);
    if (field == std::ranges::end(fields)) {
      return value.unknown("field", key, std::views::transform(fields, &ConfigField<T>::name));
    }
    return field->read(target, value);
  });
}

// Puts what was read in its place, or hands on why it could not be read.
template <class T, class Target>
[[nodiscard]] Status put(Result<T> read, Target& target) {
  if (!read) return std::unexpected(std::move(read.error()));
  target = std::move(*read);
  return {};
}

}  // namespace drover
