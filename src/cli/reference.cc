#include "cli/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace drover::cli {
namespace {

constexpr int kMarkdownWidth = 120;

// ---- man

// Text as roff takes it: a backslash, and a dot or quote that begins a line, are not commands.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) escaped += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string man_entry(std::string_view term, std::string_view help) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(term), roff(help));
}

std::string man_flags(const CommandSpec& command) {
  std::string text;
  for (const FlagSpec& flag : command.flags) {
    text += ".TP\n";
    if (!flag.short_name.empty()) text += fmt::format("\\fB{}\\fR, ", roff(flag.short_name));
    text += fmt::format("\\fB{}\\fR", roff(flag.long_name));
    if (!flag.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(flag.value));
    text += fmt::format("{}\n{}\n", flag.repeatable ? " ..." : "", roff(flag.help));
  }
  return text;
}

std::string man_synopsis(const CommandSpec& command, std::string_view name) {
  std::string text = fmt::format(".SH SYNOPSIS\n\\fB{}\\fR", roff(name));
  if (!command.commands.empty()) text += " \\fICOMMAND\\fR";
  for (const PositionalSpec& positional : command.positionals) {
    const std::string argument = fmt::format("\\fI{}\\fR", roff(positional.name));
    text += positional.required ? " " + argument : fmt::format(" [{}]", argument);
  }
  text += " [\\fIOPTIONS\\fR]";
  if (command.takes_command) text += " [\\-\\- \\fIARGV\\fR...]";
  return text + "\n";
}

std::string man_commands(const CommandSpec& command, std::string_view prefix) {
  if (command.commands.empty()) return {};
  std::string text = ".SH COMMANDS\n";
  for (const CommandSpec& child : command.commands) {
    text += man_entry(fmt::format("{}{}(1)", prefix, child.name), child.summary);
  }
  return text;
}

const CommandSpec& command_at(const CommandSpec& root, const std::vector<std::string>& path) {
  const CommandSpec* command = &root;
  for (const std::string& name : path) {
    const auto found = std::ranges::find(command->commands, name, &CommandSpec::name);
    CHECK_MSG(found != command->commands.end(), name);
    command = &*found;
  }
  return *command;
}

// ---- Markdown

std::string code_block(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return fmt::format("```\n{}\n```\n", text);
}

// The options that every command takes stand once, in the first block.
CommandSpec without_common_flags(CommandSpec command) {
  std::erase_if(command.flags, &FlagSpec::common);
  for (CommandSpec& child : command.commands) child = without_common_flags(std::move(child));
  return command;
}

void append_sections(std::string& page, const CommandSpec& root, const std::vector<std::string>& path) {
  const CommandSpec& command = command_at(root, path);
  if (command.commands.empty()) {
    page +=
        fmt::format("\n### drover {}\n\n{}", fmt::join(path, " "), code_block(render_help(root, path, kMarkdownWidth)));
  }
  for (const CommandSpec& child : command.commands) {
    std::vector<std::string> below = path;
    below.push_back(child.name);
    append_sections(page, root, below);
  }
}

}  // namespace

std::string render_man_page(const CommandSpec& root, const std::vector<std::string>& path) {
  const CommandSpec& command = command_at(root, path);
  const std::string dashed = path.empty() ? root.name : fmt::format("{}-{}", root.name, fmt::join(path, "-"));
  const std::string spaced = path.empty() ? root.name : fmt::format("{} {}", root.name, fmt::join(path, " "));
  std::string page = fmt::format(".TH {} 1 \"\" \"Drover\" \"Drover manual\"\n.SH NAME\n{} \\- {}\n", roff(dashed),
                                 roff(dashed), roff(command.summary));
  page += man_synopsis(command, spaced);
  page += man_commands(command, dashed + "-");
  if (!command.positionals.empty()) page += ".SH ARGUMENTS\n";
  for (const PositionalSpec& positional : command.positionals) page += man_entry(positional.name, positional.help);
  page += ".SH OPTIONS\n" + man_flags(command);
  if (!command.footer.empty()) page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.footer));
  if (!path.empty()) page += ".SH SEE ALSO\n.BR drover (1)\n";
  return page;
}

std::string render_markdown(const CommandSpec& root) {
  std::string page = R"(# The command line

Made from the same source as `drover help`, by `drover help --format markdown`. Data goes to stdout, messages to stderr;
every command that reads takes `--json`. On a terminal, lists are tables; in a pipe they are tab-separated lines without a
header.

)";
  page += code_block(render_help(root, {}, kMarkdownWidth));
  const CommandSpec plain = without_common_flags(root);
  std::string group;
  for (const CommandSpec& command : plain.commands) {
    if (command.group != group) page += fmt::format("\n## {}\n", command.group);
    group = command.group;
    append_sections(page, plain, {command.name});
  }
  return page;
}

}  // namespace drover::cli
