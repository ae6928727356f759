#include "cli/completion_script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/parse.h"
#include "support/temp_dir.h"

namespace drover::cli {
namespace {

struct Ran {
  int exit_code;
  std::string output;
};

Ran run_shell(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  Ran ran{0, {}};
  std::array<char, 4096> buffer;
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    ran.output.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

bool have(const std::string& program) {
  return run_shell("command -v " + program).exit_code == 0;
}

class CompletionTest : public testing::Test {
 protected:
  std::string write(Shell shell, const std::string& name) {
    std::ofstream(dir_.file(name)) << completion_script(shell, describe_command_line());
    return dir_.file(name);
  }
  // At colons, which are words of their own.
  static std::vector<std::string> split_as_bash_does(const std::string& word) {
    std::vector<std::string> parts{""};
    for (const char c : word) {
      if (c == ':' && !parts.back().empty()) parts.emplace_back();
      parts.back() += c;
      if (c == ':') parts.emplace_back();
    }
    if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
    return parts;
  }
  // What bash offers for these words, the last of which is being typed.
  std::vector<std::string> offers(const std::vector<std::string>& words) {
    const std::string script = write(Shell::kBash, "drover.bash");
    std::string line = fmt::format("source {}; COMP_LINE='{}'; COMP_WORDS=(", script, fmt::join(words, " "));
    for (const std::string& word : words) {
      for (const std::string& part : split_as_bash_does(word)) line += fmt::format("'{}' ", part);
    }
    line += ");COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _drover; printf '%s\\n' \"${COMPREPLY[@]}\"";
    std::ofstream(dir_.file("ask.bash")) << line << "\n";
    std::istringstream output(run_shell("bash " + dir_.file("ask.bash")).output);
    std::vector<std::string> found;
    for (std::string word; std::getline(output, word);) {
      if (!word.empty()) found.push_back(word);
    }
    return found;
  }

  test::TempDir dir_;
};

using Words = std::vector<std::string>;

TEST_F(CompletionTest, BashCompletesCommandsFlagsAndValues) {
  EXPECT_EQ(offers({"drover", "enq"}), (Words{"enqueue"}));
  EXPECT_EQ(offers({"drover", "config", ""})[0], "apply");
  EXPECT_EQ(offers({"drover", "enqueue", "--idle"}), (Words{"--idle-timeout"}));
  EXPECT_EQ(offers({"drover", "list", "--color", "a"}), (Words{"auto", "always"}));
  EXPECT_EQ(offers({"drover", "list", "--color", "=", "n"}), (Words{"never"}));
  EXPECT_EQ(offers({"drover", "completion", "z"}), (Words{"zsh"}));
  EXPECT_EQ(offers({"drover", "--store", "memory:", "li"}), (Words{"list"}));
  // The value of a flag is no command, and what it may be is not known.
  EXPECT_EQ(offers({"drover", "enqueue", "t", "--queue", "list", "--pri"}), (Words{"--priority"}));
  EXPECT_EQ(offers({"drover", "enqueue", "--lock", ""}), Words{});
  EXPECT_EQ(offers({"drover", "work", "--type", "t", "--", "--"}), Words{});
}

// Stands in for drover: knows two queues, a task, two gates and three states.
std::string with_names(const test::TempDir& dir) {
  const std::string program = dir.file("drover");
  std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = complete ] || exit 1\n"
                            "case $2 in queue) echo eng; echo ops ;; task) echo 0199-a ;; "
                            "gate) echo provider:anthropic; echo provider:openai ;; "
                            "state) echo failed; echo cancelled; echo completed ;; *) exit 1 ;; esac\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return program;
}

TEST_F(CompletionTest, BashAsksTheStoreForNames) {
  const std::string drover = with_names(dir_);
  EXPECT_EQ(offers({drover, "enqueue", "t", "--queue", ""}), (Words{"eng", "ops"}));
  EXPECT_EQ(offers({drover, "queue", "pause", "o"}), (Words{"ops"}));
  EXPECT_EQ(offers({drover, "show", "0"}), (Words{"0199-a"}));
  EXPECT_EQ(offers({drover, "list", "--type", ""}), Words{}) << "a store that does not answer has no names";
}

// Bash replaces what follows the last colon, and nothing before it.
TEST_F(CompletionTest, BashGoesOnAfterAColon) {
  const std::string drover = with_names(dir_);
  EXPECT_EQ(offers({drover, "gate", "close", "prov"}), (Words{"provider:anthropic", "provider:openai"}));
  EXPECT_EQ(offers({drover, "gate", "close", "provider:"}), (Words{"anthropic", "openai"}));
  EXPECT_EQ(offers({drover, "gate", "close", "provider:an"}), (Words{"anthropic"}));
  EXPECT_EQ(offers({drover, "--store", "redis://h:1", "queue", "pause", "o"}), (Words{"ops"}));
  EXPECT_EQ(offers({drover, "gate", "close", "provider:anthropic", "--rea"}), (Words{"--reason"}));
}

TEST_F(CompletionTest, BashGoesOnAfterAComma) {
  const std::string drover = with_names(dir_);
  EXPECT_EQ(offers({drover, "list", "--state", "fa"}), (Words{"failed"}));
  EXPECT_EQ(offers({drover, "list", "--state", "failed,c"}), (Words{"failed,cancelled", "failed,completed"}));
}

TEST_F(CompletionTest, EveryNamedValueIsCompleted) {
  for (const char* flag : {"--state", "--class", "--fingerprint"}) {
    EXPECT_FALSE(store_word_of(flag).empty()) << flag;
    EXPECT_TRUE(parse_command_line(std::vector<std::string>{"complete", std::string(store_word_of(flag))})) << flag;
  }
}

TEST_F(CompletionTest, BashScriptParses) {
  const Ran ran = run_shell("bash -n " + write(Shell::kBash, "drover.bash"));
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

TEST_F(CompletionTest, ZshScriptParses) {
  ASSERT_TRUE(have("zsh")) << "./dev test installs it";
  const Ran ran = run_shell("zsh -n " + write(Shell::kZsh, "_drover"));
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

TEST_F(CompletionTest, FishCompletesCommandsAndFlags) {
  ASSERT_TRUE(have("fish")) << "./dev test installs it";
  with_names(dir_);
  const std::string script = write(Shell::kFish, "drover.fish");
  const auto complete = [&](const std::string& line) {
    return run_shell(fmt::format("HOME={0} PATH={0}:$PATH fish -N -c 'source {1}; complete -C \"{2}\"'",
                                 dir_.path().string(), script, line));
  };
  EXPECT_TRUE(complete("drover enq").output.starts_with("enqueue\t"));
  EXPECT_TRUE(complete("drover config app").output.starts_with("apply\t"));
  EXPECT_TRUE(complete("drover enqueue --idle").output.starts_with("--idle-timeout\t"));
  EXPECT_TRUE(complete("drover list --color al").output.starts_with("always\t"));
  EXPECT_EQ(complete("drover worker list --idle").output, "");
  EXPECT_TRUE(complete("drover queue pause e").output.starts_with("eng")) << "it asks the store for names";
  EXPECT_TRUE(complete("drover gate close provider:an").output.starts_with("provider:anthropic"));
  EXPECT_TRUE(complete("drover list --state fa").output.starts_with("failed"));
  EXPECT_TRUE(complete("drover list --state failed,ca").output.starts_with("failed,cancelled"));
}

TEST_F(CompletionTest, EveryCommandAndFlagIsInEveryScript) {
  const CommandSpec root = describe_command_line();
  for (const Shell shell : {Shell::kBash, Shell::kZsh, Shell::kFish}) {
    const std::string script = completion_script(shell, root);
    for (const CommandSpec& verb : root.commands) {
      EXPECT_TRUE(script.contains(verb.name)) << verb.name;
      for (const FlagSpec& flag : verb.flags) EXPECT_TRUE(script.contains(flag.long_name.substr(2))) << flag.long_name;
    }
  }
}

}  // namespace
}  // namespace drover::cli
