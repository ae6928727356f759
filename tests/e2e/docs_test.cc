// The console blocks of the documentation are real sessions: their commands run, and print what stands there.
//
// In a ```console block a line that starts with "$ " is a command, one that starts with "> " goes on with it,
// everything else is its output, stdout and stderr together. All blocks of a page are one shell in an empty folder.
// <id>, <print> (a fingerprint), <token> (its id), <time> and <ago> stand for what differs each time. Blocks about
// building (./dev, git) are left to the reader, and so are those marked ```console later, whose commands are still to
// come. claude, codex and gemini are there; tests/agents/as_documented.txt says what they do.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr Millis kSessionMax{120'000};

struct Step {
  std::string command;
  std::string output;  // as the page shows it
};

bool is_about_building(const std::string& command) {
  return command.starts_with("./dev") || command.starts_with("git clone ");
}

std::vector<Step> session_of(const std::string& page) {
  std::vector<Step> steps;
  std::ifstream in(page);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      steps.push_back({line.substr(2), {}});
    } else if (inside && !steps.empty() && steps.back().output.empty() && line.starts_with(">")) {
      steps.back().command += "\n" + line.substr(std::min<std::size_t>(2, line.size()));
    } else if (inside && !steps.empty()) {
      steps.back().output += line + "\n";
    }
  }
  std::erase_if(steps, [](const Step& step) { return is_about_building(step.command); });
  return steps;
}

std::string marker(std::size_t number) {
  return fmt::format("==== step {} ====\n", number);
}

std::string script_of(const std::vector<Step>& steps) {
  std::string script = "exec 2>&1\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    script += fmt::format("printf '%s' '{}'\n{}\n", marker(i), steps[i].command);
  }
  return script + fmt::format("printf '%s' '{}'\n", marker(steps.size()));
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::regex pattern_of(const std::string& output) {
  static const std::regex special(R"([.^$|()\[\]{}*+?\\])");
  std::string pattern = std::regex_replace(output, special, R"(\$&)");
  pattern = replace_all(std::move(pattern), "<id>", "[0-9a-f-]{36}");
  pattern = replace_all(std::move(pattern), "<print>", "[0-9a-f]{12}");
  pattern = replace_all(std::move(pattern), "<token>", "[0-9A-Za-z]{8}");
  pattern = replace_all(std::move(pattern), "<time>", "[0-9][0-9T:. Z+-]+");
  pattern = replace_all(std::move(pattern), "<ago>", "[^)\\n]*");
  return std::regex(pattern);
}

std::string part_between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return "(the session did not get here)";
  const std::size_t end = text.find(to, begin);
  return text.substr(begin + from.size(), end == std::string::npos ? end : end - begin - from.size());
}

bool is_installed(const std::string& program) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
    if (std::filesystem::exists(folder + program)) return true;
  }
  return false;
}

// Its session runs on the store that the other tests use, too: Redis, or through a server.
constexpr const char* kOnEveryStore = "docs/guide/pipelines.md";

// README.md, and every page under docs/ with a session in it.
std::vector<std::string> pages() {
  const std::filesystem::path root(DROVER_SOURCE_DIR);
  std::vector<std::string> found;
  if (!session_of((root / "README.md").string()).empty()) found.emplace_back("README.md");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md" || session_of(entry.path().string()).empty()) continue;
    found.push_back(std::filesystem::relative(entry.path(), root).string());
  }
  std::erase(found, kOnEveryStore);
  return found;
}

class DocsTest : public E2eTest, public testing::WithParamInterface<std::string> {
 protected:
  void install_agents() const {
    for (const char* name : {"claude", "codex", "gemini"}) {
      const std::string file = fmt::format("home/{}", name);
      sandbox.write_file(file,
                         fmt::format("#!/bin/sh\nFAKE_AGENT_SCRIPT={0}/as_documented.txt exec {0}/fake_agent.py {1} "
                                     "\"$@\"\n",
                                     DROVER_SOURCE_DIR "/tests/agents", name));
      std::filesystem::permissions(sandbox.file(file), std::filesystem::perms::owner_all);
    }
  }
};

TEST_P(DocsTest, SessionsAreReal) {
  const std::vector<Step> steps = session_of(std::string(DROVER_SOURCE_DIR) + "/" + GetParam());
  const std::string script = script_of(steps);
  for (const std::string program : {"curl", "sqlite3", "git"}) {
    if (script.find(program + " ") == std::string::npos) continue;
    ASSERT_TRUE(is_installed(program)) << "./dev test installs " << program;
  }
  std::filesystem::create_symlink(DROVER_BIN, sandbox.file("home/drover"));
  install_agents();
  std::filesystem::create_directory(sandbox.folder() / "empty");
  if (GetParam() != kOnEveryStore) sandbox.set("DROVER_STORE", "sqlite:" + sandbox.store_path());
  for (const auto& [name, value] : {std::pair{"PATH", sandbox.file("home") + ":/usr/local/bin:/usr/bin:/bin"},
                                    {"ANTHROPIC_API_KEY", "sk-of-the-docs"},
                                    {"OPENAI_API_KEY", "sk-of-the-docs"},
                                    {"GEMINI_API_KEY", "sk-of-the-docs"},
                                    {"TMPDIR", ""}}) {
    sandbox.set(name, value);
  }
  const Outcome outcome = run_to_end({.argv = {"/bin/bash", "-c", script},
                                      .environment = sandbox.environment(),
                                      .folder = sandbox.folder() / "empty",
                                      .input = {}},
                                     kSessionMax);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string printed = part_between(outcome.out, marker(i), marker(i + 1));
    EXPECT_TRUE(std::regex_match(printed, pattern_of(steps[i].output)))
        << GetParam() << ": $ " << steps[i].command << "\nthe page says:\n"
        << steps[i].output << "it printed:\n"
        << printed;
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& page) {
  return std::regex_replace(page.param, std::regex("[^A-Za-z0-9]"), "_");
}

INSTANTIATE_TEST_SUITE_P(Pages, DocsTest, testing::ValuesIn(pages()), test_name);
INSTANTIATE_TEST_SUITE_P(OnEveryStore, DocsTest, testing::Values(kOnEveryStore), test_name);

}  // namespace
}  // namespace drover::e2e
