// drover help, which --help leads to.
#include <fmt/format.h>

#include <algorithm>

#include "cli/parse.h"
#include "cli/reference.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

enum class HelpFormat : std::uint8_t { kText, kMan, kMarkdown };

// --help and `help`: the path of the command that it is about, empty for drover itself.
struct HelpOptions {
  std::vector<std::string> path;
  HelpFormat format = HelpFormat::kText;
};

void define(Verb& verb, HelpOptions& options) {
  verb.list("COMMAND", "", &options.path, read_text, "the command to explain").several();
  verb.choice("--format", "text|man|markdown", &options.format,
              "a page for the terminal, a man page, or all commands as Markdown");
}

bool leads_somewhere(const CommandSpec& root, const std::vector<std::string>& path) {
  const CommandSpec* command = &root;
  for (const std::string& name : path) {
    const auto found = std::ranges::find(command->commands, name, &CommandSpec::name);
    if (found == command->commands.end()) return false;
    command = &*found;
  }
  return true;
}

int run(const HelpOptions& options, Context& context) {
  const CommandSpec root = describe_command_line();
  if (!leads_somewhere(root, options.path)) {
    context.say(fmt::format("there is no command \"{}\"; try: drover help", fmt::join(options.path, " ")));
    return kExitUsage;
  }
  switch (options.format) {
    case HelpFormat::kText:
      context.out.write(render_help(root, options.path, context.out.look().width));
      break;
    case HelpFormat::kMan:
      context.out.write(render_man_page(root, options.path));
      break;
    case HelpFormat::kMarkdown:
      context.out.write(render_markdown(root));
      break;
  }
  return kExitOk;
}

}  // namespace

void add_help(Verbs& verbs) {
  verbs.add<HelpOptions>({.name = "help",
                          .summary = "Explain a command",
                          .footer =
                              R"(Examples:
  drover help enqueue
  drover help enqueue --format man | man -l -)"},
                         define, run);
}

}  // namespace drover::cli
