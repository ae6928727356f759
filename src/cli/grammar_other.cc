// The verbs that need no store.
#include "cli/grammar.h"

namespace drover::cli {
namespace {

void add_completion(Verbs& verbs) {
  auto [verb, options] = verbs.add<CompletionOptions>("completion");
  verb.value("bash|zsh|fish", "", &options->shell, read_shell, "a shell").required();
}

void add_complete(Verbs& verbs) {
  auto [verb, options] = verbs.add<CompleteOptions>("complete");
  verb.value("task|type|queue|owner|tag|gate|worker|token|state|class|fingerprint", "", &options->what, read_store_word,
             "a kind of name")
      .required();
}

void add_help(Verbs& verbs) {
  auto [verb, options] = verbs.add<HelpOptions>("help");
  verb.list("COMMAND", "", &options->path, read_text, "the command to explain").several();
  verb.value("--format", "text|man|markdown", &options->format, read_help_format,
             "a page for the terminal, for man, or all commands for the web");
}

}  // namespace

void add_other_verbs(Verbs& verbs) {
  add_completion(verbs);
  add_complete(verbs);
  add_help(verbs);
}

}  // namespace drover::cli
