#include "cli/verify_guess.h"

#include <algorithm>
#include <cctype>
#include <ranges>
#include <string_view>

#include "base/json.h"
#include "cli/files.h"
#include "cli/installed_agent.h"

namespace drover::cli {
namespace {

constexpr ReadLimit kHintFileLimit{1 << 20, ErrorCode::kLimitExceeded};

template <class Holds>
bool has_line(std::string_view text, Holds holds) {
  return std::ranges::any_of(std::views::split(text, '\n'),
                             [&](const auto line) { return holds(std::string_view(line.begin(), line.end())); });
}

bool has_line_starting(std::string_view text, std::string_view start) {
  return has_line(text, [&](std::string_view line) { return line.starts_with(start); });
}

// "test: deps", but neither "test := x" nor "tests: deps".
bool has_target_test(std::string_view text) {
  return has_line(text, [](std::string_view line) {
    if (!line.starts_with("test")) return false;
    line.remove_prefix(4);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line.starts_with(':') && !line.starts_with(":=") && !line.starts_with("::=");
  });
}

// A word of its usage, a branch of its `case`, or a function.
bool knows_command_test(std::string_view text) {
  return has_line(text, [](std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with("test")) return false;
    line.remove_prefix(4);
    return line.empty() || line.starts_with(')') || line.starts_with('(') || line.starts_with("  ") ||
           line.starts_with(" [");
  });
}

// `npm init` writes one that only fails.
bool has_npm_test(std::string_view text) {
  const auto package = json::parse(text);
  const json::Value* scripts = package ? package->find("scripts") : nullptr;
  const json::Value* test = scripts != nullptr ? scripts->find("test") : nullptr;
  const std::string* command = test != nullptr ? test->as_string() : nullptr;
  return command != nullptr && !command->empty() && !command->contains("no test specified");
}

bool is_crate(std::string_view text) {
  return has_line_starting(text, "[package]") || has_line_starting(text, "[workspace]");
}

bool is_go_module(std::string_view text) {
  return has_line_starting(text, "module ");
}

bool sets_up_pytest(std::string_view text) {
  return has_line_starting(text, "[tool.pytest") || has_line_starting(text, "[pytest]");
}

bool always(std::string_view /*text*/) {
  return true;
}

bool never(std::string_view /*text*/) {
  return false;
}

struct Hint {
  std::string_view file;
  std::string_view command;
  bool (*speaks_for)(std::string_view text);  // what the file says makes the command likely
  bool (*declares)(std::string_view text);    // and certain
};

// What a project made for itself first, then what its language brings.
constexpr Hint kHints[] = {
    {"dev", "./dev test", knows_command_test, knows_command_test},
    {"Makefile", "make test", has_target_test, has_target_test},
    {"makefile", "make test", has_target_test, has_target_test},
    {"GNUmakefile", "make test", has_target_test, has_target_test},
    {"justfile", "just test", has_target_test, has_target_test},
    {"package.json", "npm test", has_npm_test, has_npm_test},
    {"Cargo.toml", "cargo test", is_crate, is_crate},
    {"go.mod", "go test ./...", is_go_module, is_go_module},
    {"gradlew", "./gradlew test", always, always},
    {"pytest.ini", "pytest", always, always},
    {"pyproject.toml", "pytest", always, sets_up_pytest},
    {"setup.py", "pytest", always, never},
};

std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  for (const auto word : std::views::split(command, ' ')) words.emplace_back(word.begin(), word.end());
  return words;
}

bool is_there(std::string_view program, const std::filesystem::path& folder, const Environment& environment) {
  const bool is_here = program.starts_with("./");
  return !find_in_path(is_here ? (folder / program).string() : std::string(program), environment).empty();
}

}  // namespace

std::optional<VerifyGuess> guess_verify(const std::filesystem::path& folder, const Environment& environment) {
  std::optional<VerifyGuess> unsure;
  for (const Hint& hint : kHints) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(folder / hint.file, error)) continue;
    const auto text = read_input((folder / hint.file).string(), kHintFileLimit);
    if (!text || !hint.speaks_for(*text)) continue;
    VerifyGuess guess{.argv = words_of(hint.command)};
    guess.is_sure = hint.declares(*text) && is_there(guess.argv.front(), folder, environment);
    if (guess.is_sure) return guess;
    if (!unsure) unsure = std::move(guess);
  }
  return unsure;
}

}  // namespace drover::cli
