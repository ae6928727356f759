// Values of drover.yaml that are more than a scalar: counts, priorities, and whatever a parser of ours takes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/try.h"
#include "core/spec_check.h"
#include "policy/config_node.h"

namespace drover {

[[nodiscard]] inline Result<int> count_of(const ConfigNode& node, Bounds bounds) {
  const auto value = TRY(node.whole_number(bounds));
  return static_cast<int>(value);
}

// Applies a parser that names no field to a text.
template <class Parser>
[[nodiscard]] auto parsed(const ConfigNode& node, Parser parser) -> decltype(parser(std::string_view{})) {
  const auto text = TRY(node.text());
  auto value = parser(text);
  if (!value) return node.error(value.error());
  return value;
}

// As parsed(), for parsers whose answer is the value or nothing; `choices` says what there is.
template <class Parser>
[[nodiscard]] auto one_of(const ConfigNode& node, Parser parser, std::string_view choices)
    -> Result<typename decltype(parser(std::string_view{}))::value_type> {
  const auto text = TRY(node.text());
  const auto value = parser(text);
  if (!value) return node.error(fmt::format("expected {}, not {}", choices, quoted_excerpt(text)));
  return *value;
}

[[nodiscard]] inline Result<std::vector<std::string>> texts_of(const ConfigNode& node) {
  const auto items = TRY(node.items());
  std::vector<std::string> texts;
  for (const ConfigNode& item : items) {
    auto text = TRY(item.text());
    if (text.contains('\0')) return item.error("contains a NUL character");
    texts.push_back(std::move(text));
  }
  return texts;
}

[[nodiscard]] inline Result<std::vector<std::string>> argv_of(const ConfigNode& node) {
  auto argv = texts_of(node);
  if (argv && (argv->empty() || argv->front().empty())) return node.error("the program to run is missing");
  return argv;
}

[[nodiscard]] inline Result<int> priority_of(const ConfigNode& node) {
  if (node.is_string()) return parsed(node, parse_priority);
  return count_of(node, kPriorityBounds);
}

}  // namespace drover
