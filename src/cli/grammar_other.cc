// The verbs that need no store.
#include "cli/grammar.h"

namespace drover::cli {
namespace {

void add_completion(Verbs& verbs) {
  auto [verb, options] = verbs.add<CompletionOptions>("completion");
  verb.value("bash|zsh|fish", "", &options->shell, read_shell, "the shell that will read it").required();
}

void add_help(Verbs& verbs) {
  auto [verb, options] = verbs.add<HelpOptions>("help");
  verb.list("COMMAND", "", &options->path, read_text, "the command to explain").several();
}

}  // namespace

void add_other_verbs(Verbs& verbs) {
  add_completion(verbs);
  add_help(verbs);
}

}  // namespace drover::cli
