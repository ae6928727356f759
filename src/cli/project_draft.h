// The drover.yaml that `drover init` writes for a folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/installed_agent.h"
#include "cli/verify_guess.h"

namespace drover::cli {

// The type of the example.
inline constexpr std::string_view kExampleType = "shout";

struct DraftRunner {
  std::string type;
  InstalledAgent agent;
};

struct ProjectDraft {
  std::vector<DraftRunner> runners{};  // none: the file has a command as an example
  std::optional<VerifyGuess> verify{};
  std::string repository{};  // the folder, if it is one of git
  bool has_commit = false;   // in it: without one there is nothing to clone

  [[nodiscard]] bool has_clones() const { return !repository.empty() && has_commit; }
};

// One type for each agent whose program is there: `fix` for the first that is ready, else for the first, and
// `fix-PRESET` for each of the others.
[[nodiscard]] std::vector<DraftRunner> draft_runners(std::vector<InstalledAgent> agents);

// Passes parse_document, whatever was found.
[[nodiscard]] std::string draft_yaml(const ProjectDraft& draft);
// The commands that lead from the file to a first result.
[[nodiscard]] std::vector<std::string> next_commands(const ProjectDraft& draft);

}  // namespace drover::cli
