#include "cli/completion_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace drover::cli {
namespace {

// A command with its whole name: "drover config apply".
struct Node {
  std::string path;
  const CommandSpec* command;
};

void collect(const CommandSpec& command, const std::string& path, std::vector<Node>& nodes) {
  nodes.push_back({path, &command});
  for (const CommandSpec& child : command.commands) collect(child, path + " " + child.name, nodes);
}

std::vector<Node> all_commands(const CommandSpec& root) {
  std::vector<Node> nodes;
  collect(root, root.name, nodes);
  return nodes;
}

std::vector<std::string> names_of(const FlagSpec& flag) {
  std::vector<std::string> names{flag.long_name};
  if (!flag.short_name.empty()) names.push_back(flag.short_name);
  return names;
}

// In single quotes, as sh, zsh and (but for the escape inside) fish read them.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

bool takes_file(std::string_view value) {
  return value == "FILE";
}

// The words a first positional may be, if they are few.
std::vector<std::string_view> positional_choices(const CommandSpec& command) {
  return command.positionals.empty() ? std::vector<std::string_view>{} : choices_of(command.positionals.front().name);
}

bool positional_is_file(const CommandSpec& command) {
  return !command.positionals.empty() && takes_file(command.positionals.front().name);
}

std::string_view positional_store_word(const CommandSpec& command) {
  return command.positionals.empty() ? std::string_view{} : store_word_of(command.positionals.front().name);
}

// Whether its value is a list with commas.
bool takes_several(std::string_view flag) {
  return flag == "--state";
}

// ---- bash

constexpr std::string_view kBashHead = R"(# drover completion for bash:  source <(drover completion bash)
)";

constexpr std::string_view kBashMain = R"(
_drover() {
  local cur command=drover flag= word words lead rest=$COMP_LINE last=-1 i
  local -a line=()
  COMPREPLY=()
  for ((i = 0; i <= COMP_CWORD; i++)); do # bash splits words at colons, too
    word=${COMP_WORDS[i]}
    lead=$rest
    rest=${rest#"${rest%%[![:space:]]*}"}
    if [[ $lead == "$rest" && $last -ge 0 && ($word == :* || ${line[last]} == *:) ]]; then
      line[last]+=$word
    else
      line[++last]=$word
    fi
    rest=${rest#"$word"}
  done
  cur=${line[last]}
  for ((i = 1; i < last; i++)); do
    word=${line[i]}
    if [[ $word == -- ]]; then # the rest is another program's
      compopt -o default 2>/dev/null
      return 0
    elif [[ $word == = ]]; then # bash splits --flag=value in three
      continue
    elif [[ -n $flag ]]; then
      flag=
    elif _drover_takes_value "$command $word"; then
      flag=$word
    elif _drover_is_command "$command $word"; then
      command+=" $word"
    fi
  done
  [[ $cur == = ]] && cur=
  words=$(_drover_words "$command${flag:+ $flag}")
  if [[ $words == *FILE* ]]; then
    compopt -o default 2>/dev/null
    words=${words//FILE/}
  fi
  if [[ $words == *@* ]]; then # names that the store knows
    word=${words#*@}
    word=${word%% *}
    words=${words/@$word/$("${COMP_WORDS[0]}" complete "$word" 2>/dev/null)}
  fi
  lead=
  [[ $flag == --state && $cur == *,* ]] && lead=${cur%,*},
  if [[ -z $flag || -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$lead" -W "$words" -- "${cur#"$lead"}")
  fi
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then # it replaces only what follows the colon
    lead=${cur%"${cur##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$lead"}")
  fi
}

complete -F _drover drover
)";

// A shell function that succeeds when its argument is one of these.
std::string bash_predicate(std::string_view name, const std::vector<std::string>& members) {
  std::string patterns;
  for (const std::string& member : members)
    patterns += fmt::format("{}{}", patterns.empty() ? "" : " | ", shell_quoted(member));
  return fmt::format("\n{}() {{\n  case $1 in\n    {}) return 0 ;;\n  esac\n  return 1\n}}\n", name, patterns);
}

std::string bash_words(const CommandSpec& command) {
  std::vector<std::string> words;
  for (const CommandSpec& child : command.commands) words.push_back(child.name);
  for (const std::string_view choice : positional_choices(command)) words.emplace_back(choice);
  if (positional_is_file(command)) words.emplace_back("FILE");
  if (const std::string_view word = positional_store_word(command); !word.empty())
    words.push_back(fmt::format("@{}", word));
  for (const FlagSpec& flag : command.flags) std::ranges::copy(names_of(flag), std::back_inserter(words));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash_value_words(const FlagSpec& flag) {
  if (takes_file(flag.value)) return "FILE";
  if (const std::string_view word = store_word_of(flag.long_name); !word.empty()) return fmt::format("@{}", word);
  return fmt::format("{}", fmt::join(choices_of(flag.value), " "));
}

std::string bash_script(const std::vector<Node>& nodes) {
  std::vector<std::string> commands;
  std::vector<std::string> valued;
  std::string cases;
  for (const Node& node : nodes) {
    commands.push_back(node.path);
    cases += fmt::format("    {}) echo {} ;;\n", shell_quoted(node.path), shell_quoted(bash_words(*node.command)));
    for (const FlagSpec& flag : node.command->flags) {
      if (flag.value.empty()) continue;
      for (const std::string& name : names_of(flag)) {
        valued.push_back(node.path + " " + name);
        const std::string words = bash_value_words(flag);
        if (words.empty()) continue;
        cases += fmt::format("    {}) echo {} ;;\n", shell_quoted(valued.back()), shell_quoted(words));
      }
    }
  }
  return fmt::format("{}{}{}\n_drover_words() {{\n  case $1 in\n{}  esac\n}}\n{}", kBashHead,
                     bash_predicate("_drover_is_command", commands), bash_predicate("_drover_takes_value", valued),
                     cases, kBashMain);
}

// ---- zsh

// Text inside [...] or between colons of an _arguments specification.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("[]:\\").contains(c)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// ":name:action" for the value of a flag or an argument, empty for a switch.
std::string zsh_value(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  if (const std::string_view word = store_word_of(name); !word.empty())
    return fmt::format(":{0}:{{{1} -- $(drover complete {0} 2>/dev/null)}}", word,
                       takes_several(name) ? "_sequence compadd" : "compadd");
  const std::vector<std::string_view> choices = choices_of(value);
  if (!choices.empty()) return fmt::format(":value:({})", fmt::join(choices, " "));
  return fmt::format(":{}:{}", zsh_text(value), takes_file(value) ? "_files" : "");
}

std::string zsh_function_name(std::string path) {
  std::ranges::replace(path, ' ', '_');
  return "_" + path;
}

std::string zsh_flag(const FlagSpec& flag) {
  std::string lines;
  const std::vector<std::string> names = names_of(flag);
  const std::string exclusion = flag.repeatable ? "*" : fmt::format("({})", fmt::join(names, " "));
  for (const std::string& name : names) {
    lines += fmt::format(" \\\n    {}", shell_quoted(fmt::format("{}{}[{}]{}", exclusion, name, zsh_text(flag.help),
                                                                 zsh_value(flag.long_name, flag.value))));
  }
  return lines;
}

std::string zsh_leaf(const Node& node) {
  std::string text = fmt::format("\n{}() {{\n  _arguments -s", zsh_function_name(node.path));
  for (const FlagSpec& flag : node.command->flags) text += zsh_flag(flag);
  for (std::size_t i = 0; i < node.command->positionals.size(); ++i) {
    const std::string& name = node.command->positionals[i].name;
    text += fmt::format(" \\\n    {}", shell_quoted(fmt::format("{}{}", i + 1, zsh_value(name, name))));
  }
  return text + "\n}\n";
}

std::string zsh_branch(const Node& node) {
  std::string text = fmt::format("\n{}() {{\n  local line state\n  local -a commands=(", zsh_function_name(node.path));
  for (const CommandSpec& child : node.command->commands) {
    text += fmt::format("\n    {}", shell_quoted(fmt::format("{}:{}", child.name, zsh_text(child.summary))));
  }
  text += "\n  )\n  _arguments -C -s";
  for (const FlagSpec& flag : node.command->flags) text += zsh_flag(flag);
  text += " \\\n    '1: :->command' \\\n    '*:: :->arguments'\n  case $state in\n";
  text += "    command) _describe command commands ;;\n    arguments)\n      case $line[1] in\n";
  for (const CommandSpec& child : node.command->commands) {
    text += fmt::format("        {}) {} ;;\n", child.name, zsh_function_name(node.path + " " + child.name));
  }
  return text + "      esac ;;\n  esac\n}\n";
}

std::string zsh_script(const std::vector<Node>& nodes) {
  std::string text = "#compdef drover\n# drover completion for zsh:  drover completion zsh > \"${fpath[1]}/_drover\"\n";
  for (const Node& node : nodes) text += node.command->commands.empty() ? zsh_leaf(node) : zsh_branch(node);
  return text + "\nif [[ $funcstack[1] == _drover ]]; then\n  _drover \"$@\"\nelse\n  compdef _drover drover\nfi\n";
}

// ---- fish

constexpr std::string_view kFishMain = R"(
function __drover_at --description 'Whether the words so far name this command'
    set -l command drover
    set -l words (commandline -opc)
    set -l in_value 0
    for word in $words[2..-1]
        if test $in_value = 1
            set in_value 0
        else if contains -- "$command $word" $__drover_valued
            set in_value 1
        else if contains -- "$command $word" $__drover_commands
            set command "$command $word"
        end
    end
    test "$command" = "$argv"
end

complete -c drover -f
)";

std::string fish_text(std::string_view text) {
  std::string escaped = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped + "'";
}

// The names that the store knows, asked for when they are needed.
std::string fish_names(std::string_view name, std::string_view word) {
  const std::string ask = fmt::format("drover complete {} 2>/dev/null", word);
  return fish_text(takes_several(name) ? fmt::format("(__fish_complete_list , \"{}\")", ask)
                                       : fmt::format("({})", ask));
}

std::string fish_flag(const std::string& condition, const FlagSpec& flag) {
  std::string line = fmt::format("complete -c drover -n {} -l {}", condition, flag.long_name.substr(2));
  if (!flag.short_name.empty()) line += fmt::format(" -s {}", flag.short_name.substr(1));
  if (!flag.value.empty()) line += takes_file(flag.value) ? " -r -F" : " -x";
  const std::vector<std::string_view> choices = choices_of(flag.value);
  const std::string_view word = store_word_of(flag.long_name);
  if (!choices.empty()) line += fmt::format(" -a {}", fish_text(fmt::format("{}", fmt::join(choices, " "))));
  if (!word.empty()) line += " -a " + fish_names(flag.long_name, word);
  return fmt::format("{} -d {}\n", line, fish_text(flag.help));
}

std::string fish_command(const Node& node) {
  const std::string condition = fish_text("__drover_at " + node.path);
  std::string text;
  for (const CommandSpec& child : node.command->commands) {
    text += fmt::format("complete -c drover -n {} -a {} -d {}\n", condition, child.name, fish_text(child.summary));
  }
  for (const std::string_view choice : positional_choices(*node.command)) {
    text += fmt::format("complete -c drover -n {} -a {}\n", condition, choice);
  }
  if (positional_is_file(*node.command)) text += fmt::format("complete -c drover -n {} -F\n", condition);
  if (const std::string_view word = positional_store_word(*node.command); !word.empty())
    text += fmt::format("complete -c drover -n {} -a {}\n", condition, fish_names("", word));
  for (const FlagSpec& flag : node.command->flags) text += fish_flag(condition, flag);
  return text;
}

std::string fish_script(const std::vector<Node>& nodes) {
  std::string commands;
  std::string valued;
  std::string completions;
  for (const Node& node : nodes) {
    commands += " " + fish_text(node.path);
    for (const FlagSpec& flag : node.command->flags) {
      if (flag.value.empty()) continue;
      for (const std::string& name : names_of(flag)) valued += " " + fish_text(node.path + " " + name);
    }
    completions += fish_command(node);
  }
  return fmt::format(
      "# drover completion for fish:  drover completion fish > ~/.config/fish/completions/drover.fish\n"
      "set -g __drover_commands{}\nset -g __drover_valued{}\n{}{}",
      commands, valued, kFishMain, completions);
}

}  // namespace

std::string completion_script(Shell shell, const CommandSpec& root) {
  const std::vector<Node> nodes = all_commands(root);
  switch (shell) {
    case Shell::kBash:
      return bash_script(nodes);
    case Shell::kZsh:
      return zsh_script(nodes);
    case Shell::kFish:
      return fish_script(nodes);
  }
  return {};
}

}  // namespace drover::cli
