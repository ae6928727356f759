#include "cli/project_draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "cli/display_text.h"

namespace drover::cli {
namespace {

constexpr std::string_view kFirstType = "fix";

// "    key: value       # why", with the reasons one beneath the other.
void add(std::string& text, std::string_view setting, std::string_view why = {}) {
  text += why.empty() ? fmt::format("{}\n", setting) : fmt::format("{:<39} # {}\n", setting, one_line(why));
}

std::string heading(const ProjectDraft& draft) {
  std::string text =
      "# What Drover runs in this folder. `drover init` wrote it from what it found here; change what you like.\n#\n";
  for (const std::string& command : next_commands(draft)) text += fmt::format("#   {}\n", command);
  text += "#\n# After each change, read the file and run `drover trust` again.\n\n";
  return text;
}

void add_types(std::string& text, const ProjectDraft& draft) {
  const bool is_shared = draft.runners.size() > 1;
  text += "# The rules for each type of task. Every process that uses the same store obeys them.\ntypes:\n";
  for (const auto& [type, agent] : draft.runners) {
    add(text, fmt::format("  {}:", type));
    if (is_shared) add(text, "    queue: agents");
    if (const std::string_view provider = agent.preset->provider; !provider.empty())
      add(text, fmt::format("    provider: {}", provider), "when it asks to wait, every type that names it waits");
    add(text, "    max_attempts: 3");
    add(text, "    timeout: 45m", "a run that takes longer is stopped, and tried again");
    add(text, "    idle_timeout: 10m", "so is one in which nothing happens for this long");
  }
  if (!is_shared || draft.has_clones()) return;
  text += "\nqueues:\n";
  add(text, "  agents: {permits: 1}", "one agent at a time, since all of them work in this folder");
}

void add_login(std::string& text, const InstalledAgent& agent) {
  const std::string first(agent.preset->login_variables.front());
  if (!agent.login_variables.empty()) {
    add(text, fmt::format("      env: [{}]", fmt::join(agent.login_variables, ", ")),
        "variables that it gets; Drover hides their values");
  } else if (!agent.login_file.empty()) {
    add(text, fmt::format("      # env: [{}]", first),
        fmt::format("not needed: it is logged in by {}", agent.login_file));
  } else {
    add(text, fmt::format("      # env: [{}]", first), "no login was found: " + how_to_log_in(*agent.preset));
  }
}

void add_verify(std::string& text, const VerifyGuess& verify) {
  add(text,
      fmt::format("      {}verify: {{argv: [{}], timeout: 10m}}", verify.is_sure ? "" : "# ",
                  fmt::join(verify.argv, ", ")),
      "a run completes only if this succeeds");
}

void add_runners(std::string& text, const ProjectDraft& draft) {
  text +=
      "\n# What workers in this folder may run. This part stays in the file: no store has it.\nlocal:\n  runners:\n";
  for (const auto& [type, agent] : draft.runners) {
    add(text, fmt::format("    {}:", type));
    add(text, fmt::format("      preset: {}", agent.preset->name), agent.program);
    add_login(text, agent);
    add(text, "      permissions: bypass", "it acts without asking; or edits (in its folder only), or read_only");
    add(text, "      concurrency: 1",
        draft.has_clones() ? "how many at once; each has a clone of its own"
                           : "two agents in one folder get in each other's way");
    if (draft.verify) add_verify(text, *draft.verify);
    if (!draft.repository.empty()) {
      add(text, fmt::format("      {}workspace: {{kind: clone, repo: here}}", draft.has_clones() ? "" : "# "),
          draft.has_clones() ? "its work comes back as branch drover/ID"
                             : "a clone for each task, once the repository has a commit");
    }
  }
  if (draft.repository.empty()) return;
  add(text,
      fmt::format("  {}repos: {{here: {{path: {}}}}}", draft.has_clones() ? "" : "# ", json::quote(draft.repository)),
      "what is cloned, as far as it is committed");
}

// Nothing of it needs an agent, and it shows all that there is to learn.
std::string example() {
  return fmt::format(
      R"(# No coding agent was found in PATH, so this is an example that runs a command: it gets the prompt on stdin, and what it
# prints is the result. Install Claude Code, Codex, Gemini CLI, opencode or Letta Code, and run `drover init --force`.
types:
  {0}:
    timeout: 1m

# What workers in this folder may run. This part stays in the file: no store has it.
local:
  runners:
    {0}: {{argv: [tr, a-z, A-Z]}}
)",
      kExampleType);
}

}  // namespace

std::vector<DraftRunner> draft_runners(std::vector<InstalledAgent> agents) {
  std::erase_if(agents, [](const InstalledAgent& agent) { return agent.program.empty(); });
  std::ranges::stable_partition(agents, &InstalledAgent::is_ready);
  std::vector<DraftRunner> runners;
  for (InstalledAgent& agent : agents) {
    std::string type = runners.empty() ? std::string(kFirstType) : fmt::format("{}-{}", kFirstType, agent.preset->name);
    runners.push_back({.type = std::move(type), .agent = std::move(agent)});
  }
  return runners;
}

std::string draft_yaml(const ProjectDraft& draft) {
  std::string text = heading(draft);
  if (draft.runners.empty()) return text + example();
  add_types(text, draft);
  add_runners(text, draft);
  return text;
}

std::vector<std::string> next_commands(const ProjectDraft& draft) {
  if (draft.runners.empty())
    return {"drover trust", "drover up", fmt::format("drover run {} --prompt 'hello'", kExampleType)};
  const std::string& type = draft.runners.front().type;
  return {"drover trust", fmt::format("drover runner test {}", type), "drover up",
          fmt::format("drover run {} --prompt 'Fix the failing tests'", type)};
}

}  // namespace drover::cli
