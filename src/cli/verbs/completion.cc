// drover completion: a script for a shell.
#include "cli/completion_script.h"
#include "cli/parse.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

struct CompletionOptions {
  Shell shell = Shell::kBash;
};

void define(Verb& verb, CompletionOptions& options) {
  verb.choice("bash|zsh|fish", "", &options.shell, "a shell").required();
}

int run(const CompletionOptions& options, Context& context) {
  context.out.write(completion_script(options.shell, describe_command_line()));
  return kExitOk;
}

}  // namespace

void add_completion(Verbs& verbs) {
  verbs.add<CompletionOptions>({.name = "completion",
                                .summary = "Print a completion script for your shell",
                                .footer =
                                    R"(Examples:
  source <(drover completion bash)
  drover completion zsh > "${fpath[1]}/_drover"
  drover completion fish > ~/.config/fish/completions/drover.fish)"},
                               define, run);
}

}  // namespace drover::cli
