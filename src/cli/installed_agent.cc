#include "cli/installed_agent.h"

#include <fmt/format.h>

#include <ranges>

#include "worker/runner_profile.h"

namespace drover::cli {

std::string find_in_path(std::string_view program, const Environment& environment) {
  if (program.contains('/')) return finds_program(std::string(program), "") ? std::string(program) : "";
  const std::string* path = environment.find("PATH");
  const std::string_view folders = path != nullptr ? std::string_view(*path) : std::string_view();
  for (const auto part : std::views::split(folders, ':')) {
    std::string file = fmt::format("{}/{}", std::string_view(part.begin(), part.end()), program);
    if (finds_program(file, "")) return file;
  }
  return {};
}

InstalledAgent look_at(const agents::Preset& preset, const Environment& environment) {
  InstalledAgent agent{.preset = &preset, .program = find_in_path(preset.program, environment)};
  for (const std::string_view name : preset.login_variables) {
    if (environment.find(name) != nullptr) agent.login_variables.emplace_back(name);
  }
  const std::string* home = environment.find("HOME");
  for (const std::string_view name : preset.login_files) {
    std::error_code error;
    if (home == nullptr || !std::filesystem::exists(std::filesystem::path(*home) / name, error)) continue;
    agent.login_file = fmt::format("~/{}", name);
    break;
  }
  return agent;
}

std::vector<InstalledAgent> look_at_all(const Environment& environment) {
  std::vector<InstalledAgent> all;
  for (const agents::Preset& preset : agents::presets()) all.push_back(look_at(preset, environment));
  return all;
}

std::string how_to_log_in(const agents::Preset& preset) {
  return fmt::format("start `{}` once and log in, or set {}", preset.program, preset.login_variables.front());
}

}  // namespace drover::cli
