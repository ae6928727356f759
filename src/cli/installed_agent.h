// What is known of the presets' agents on this machine, without calling them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agents/preset.h"
#include "cli/environment.h"

namespace drover::cli {

struct InstalledAgent {
  const agents::Preset* preset = nullptr;
  std::string program{};                       // its path; empty: it is not in PATH
  std::vector<std::string> login_variables{};  // those by which it can log in that are set
  std::string login_file{};                    // "~/…", by which it can log in; empty: there is none

  // By which it most likely logs in; empty: nothing was found.
  [[nodiscard]] std::string login() const { return login_variables.empty() ? login_file : login_variables.front(); }
  [[nodiscard]] bool is_ready() const { return !program.empty() && !login().empty(); }
};

[[nodiscard]] InstalledAgent look_at(const agents::Preset& preset, const Environment& environment);
// Of every preset, in their order.
[[nodiscard]] std::vector<InstalledAgent> look_at_all(const Environment& environment);

// The path of a program, as a shell would find it; empty if it would not.
[[nodiscard]] std::string find_in_path(std::string_view program, const Environment& environment);
// What to do about an agent without a login.
[[nodiscard]] std::string how_to_log_in(const agents::Preset& preset);

}  // namespace drover::cli
