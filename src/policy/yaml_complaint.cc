#include "policy/yaml_complaint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace drover {
namespace {

// By yaml-cpp's own words.
const auto kComplaints = std::to_array<std::pair<std::string_view, std::string_view>>({
    {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a [ is not closed"},
    {YAML::ErrorMsg::END_OF_MAP_FLOW, "a { is not closed"},
    {YAML::ErrorMsg::FLOW_END, "a bracket closes nothing"},
    {YAML::ErrorMsg::EOF_IN_SCALAR, "a quote is not closed"},
    {YAML::ErrorMsg::MAP_VALUE, "unexpected \":\"; check the indentation, and put text that holds \": \" in quotes"},
    {YAML::ErrorMsg::MAP_KEY, "unexpected \"?\"; put the text in quotes"},
    {YAML::ErrorMsg::BLOCK_ENTRY, "unexpected \"-\"; the items of a list begin on lines of their own"},
    {YAML::ErrorMsg::END_OF_MAP, "this does not belong to the mapping above; check the indentation"},
    {YAML::ErrorMsg::END_OF_SEQ, "this does not belong to the list above; check the indentation"},
    {YAML::ErrorMsg::UNKNOWN_TOKEN, "text that begins with this character must be in quotes"},
    {YAML::ErrorMsg::UNKNOWN_ANCHOR, "text that begins with * refers to an anchor, but no anchor has that name"},
    {YAML::ErrorMsg::TAB_IN_INDENTATION, "tab character; indent with spaces"},
});

std::string_view line_at(std::string_view text, int line) {
  for (int i = 0; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool is_indented_with_tab(std::string_view line) {
  return line.substr(0, line.find_first_not_of(" \t")).contains('\t');
}

}  // namespace

std::string yaml_complaint(std::string_view text, const YAML::Exception& problem) {
  if (is_indented_with_tab(line_at(text, problem.mark.line))) return "tab character; indent with spaces";
  const auto known = std::ranges::find(kComplaints, problem.msg, &std::pair<std::string_view, std::string_view>::first);
  return known != kComplaints.end() ? std::string(known->second) : fmt::format("not valid YAML: {}", problem.msg);
}

}  // namespace drover
