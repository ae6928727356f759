// The commands of the README work as they stand there.
//
// In a ```console block a line that starts with "$ " is a command, one that starts with "> " goes on with it,
// everything else is output. All blocks are one session in an empty folder. Left out is what a reader does before there
// is a `drover` (./dev, git, cd, sudo); what does not end by itself (drover up, drover work) runs in the background.
#include <fmt/format.h>

#include <fstream>
#include <regex>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

std::vector<std::string> console_commands(const std::string& file) {
  std::vector<std::string> commands;
  std::ifstream in(file);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      commands.push_back(line.substr(2));
    } else if (inside && line.starts_with("> ") && !commands.empty()) {
      commands.back() += "\n" + line.substr(2);
    }
  }
  return commands;
}

bool is_about_building(const std::string& command) {
  static const std::regex pattern(R"(^(\./dev|git|cd|sudo)\b)");
  return std::regex_search(command, pattern);
}

bool goes_on_for_ever(const std::string& command) {
  static const std::regex pattern(R"(^drover (up|work)\b)");
  return std::regex_search(command, pattern) && command.find("--until-empty") == std::string::npos;
}

TEST(ReadmeTest, CommandsWork) {
  const std::string readme = std::string(DROVER_SOURCE_DIR) + "/README.md";
  if (!std::filesystem::exists(readme)) GTEST_SKIP() << "there is no README yet";
  std::string script = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
  int count = 0;
  for (const std::string& command : console_commands(readme)) {
    if (is_about_building(command)) continue;
    ++count;
    script += fmt::format("echo >&2 {}\n{}{}\n", json::quote("$ " + command.substr(0, command.find('\n'))), command,
                          goes_on_for_ever(command) ? " &" : "");
  }
  ASSERT_GT(count, 0) << "no command in " << readme;

  Sandbox sandbox;
  std::filesystem::create_symlink(DROVER_BIN, sandbox.file("home/drover"));
  sandbox.write_file("readme.sh", script);
  std::filesystem::create_directory(sandbox.folder() / "project");
  const Outcome outcome =
      run_to_end({.argv = {"/bin/bash", sandbox.file("readme.sh")},
                  .environment = {"PATH=" + sandbox.file("home") + ":/usr/local/bin:/usr/bin:/bin",
                                  "HOME=" + sandbox.file("home"), "XDG_STATE_HOME=" + sandbox.file("state"),
                                  "LANG=C.UTF-8", "DROVER_STORE=sqlite:" + sandbox.store_path()},
                  .folder = sandbox.folder() / "project",
                  .input = {}},
                 Millis{120'000});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
}

}  // namespace
}  // namespace drover::e2e
