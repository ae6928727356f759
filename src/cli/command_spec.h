// The command line's definition as plain data: what help and completion scripts are made from. parse.cc is its source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drover::cli {

struct FlagSpec {
  std::string long_name;   // "--queue"
  std::string short_name;  // "-f", or empty
  std::string value;       // what it takes: "Q"; "FILE" is completed as a file, "a|b" as one of these; empty: a switch
  std::string help;
  bool repeatable = false;
  bool common = false;  // every verb takes it
};

struct PositionalSpec {
  std::string name;  // "TYPE"; "FILE" and "a|b" as above
  std::string help;
  bool required = false;
};

struct CommandSpec {
  std::string name;
  std::string summary;
  std::string group;   // under which heading the verb stands
  std::string footer;  // what help adds: notes and examples
  std::vector<PositionalSpec> positionals;
  std::vector<FlagSpec> flags;
  std::vector<CommandSpec> commands;
  bool takes_command = false;  // after --
};

// The words of "a|b|c" when that is a list of choices; empty otherwise.
[[nodiscard]] std::vector<std::string_view> choices_of(std::string_view value);

// What completes a flag ("--queue") or argument ("QUEUE"): a word of `drover complete`, or empty.
[[nodiscard]] std::string_view store_word_of(std::string_view name);

// The help page of `root` or of the command that `path` leads to.
[[nodiscard]] std::string render_help(const CommandSpec& root, const std::vector<std::string>& path, int width);

}  // namespace drover::cli
