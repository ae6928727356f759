#include "agents/preset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "core/names.h"
#include "core/spec_check.h"

namespace drover::agents {

// One file each.
Preset claude_preset();
Preset codex_preset();
Preset gemini_preset();
Preset opencode_preset();
Preset letta_preset();

namespace {

constexpr Names<kPermissionsCount> kPermissionsNames{"bypass", "edits", "read_only"};

const auto& table() {
  static const std::array kTable{
      claude_preset(), codex_preset(), gemini_preset(), opencode_preset(), letta_preset(),
  };
  return kTable;
}

// A value that may come from a task stands alone in the command line.
Status check_value(std::string_view name, const std::optional<std::string>& value) {
  if (!value) return {};
  const Status good = check_word(*value);
  return good ? good : at_field(name, good.error());
}

Status check_file(const Preset& preset, std::string_view what, std::string_view file, bool taken) {
  if (file.empty() || taken) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} has no option for {}", preset.name, what));
}

Status check_call(const Preset& preset, const AgentCall& call) {
  const std::optional<std::string> title = call.title.empty() ? std::nullopt : std::optional(call.title);
  const std::array checks{
      check_value("model", call.model),
      check_value("session", call.new_session),
      check_value("session", call.resume_session),
      check_value("agent", call.agent),
      check_value("title", title),
      check_file(preset, "a system prompt in a file", call.system_prompt_file, preset.takes_system_prompt_file),
      check_file(preset, "an MCP configuration in a file", call.mcp_config_file, preset.takes_mcp_config_file),
  };
  const auto refused = std::ranges::find_if_not(checks, [](const Status& check) { return check.has_value(); });
  return refused != checks.end() ? *refused : Status();
}

}  // namespace

std::string_view name_of(Permissions permissions) {
  return name_in(kPermissionsNames, permissions);
}

std::optional<Permissions> parse_permissions(std::string_view name) {
  return value_in<Permissions>(kPermissionsNames, name);
}

std::span<const Preset> presets() {
  return table();
}

const Preset* find_preset(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &Preset::name);
  return found != table().end() ? &*found : nullptr;
}

Result<const Preset*> preset_named(std::string_view name) {
  if (const Preset* found = find_preset(name)) return found;
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  const std::string_view closest = closest_word(name, names);
  const std::string hint = closest.empty() ? "" : fmt::format("; did you mean {}?", closest);
  return fail(ErrorCode::kInvalidArgument, fmt::format("there is no preset {}{} Presets: {}", quoted_excerpt(name),
                                                       hint.empty() ? "." : hint, fmt::join(names, ", ")));
}

Result<std::vector<std::string>> call_argv(const Preset& preset, const AgentCall& call) {
  const Status checked = check_call(preset, call);
  if (!checked) return std::unexpected(checked.error());
  Arguments arguments{std::string(call.program.empty() ? preset.program : std::string_view(call.program))};
  preset.add_arguments(call, arguments);
  return std::move(arguments.values);
}

}  // namespace drover::agents
