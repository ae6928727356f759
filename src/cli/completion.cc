// drover completion, help and --version: what needs no store.
#include <fmt/format.h>

#include <algorithm>

#include "cli/completion_script.h"
#include "cli/parse.h"
#include "cli/reference.h"
#include "cli/verbs.h"

namespace drover::cli {
namespace {

bool leads_somewhere(const CommandSpec& root, const std::vector<std::string>& path) {
  const CommandSpec* command = &root;
  for (const std::string& name : path) {
    const auto found = std::ranges::find(command->commands, name, &CommandSpec::name);
    if (found == command->commands.end()) return false;
    command = &*found;
  }
  return true;
}

}  // namespace

int run(const CompletionOptions& options, Context& context) {
  context.out.write(completion_script(options.shell, describe_command_line()));
  return kExitOk;
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

int run(const VersionOptions& /*options*/, Context& context) {
  context.out.line("drover " DROVER_VERSION);
  return kExitOk;
}

}  // namespace drover::cli
