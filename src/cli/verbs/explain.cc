// drover explain: why a task is not running, and what will release it.
#include "cli/gate_view.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "core/gate_json.h"

namespace drover::cli {
namespace {

struct ExplainOptions {
  TaskId id;
  Format format = Format::kAuto;
};

void define(Verb& verb, ExplainOptions& options) {
  verb.task_id(&options.id);
  verb.json(&options.format, "print the explanation as JSON");
}

int run(const ExplainOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto explanation = (*opened)->queue().explain(options.id);
  if (!explanation) return context.fail(explanation.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*explanation));
  } else {
    context.out.write(explanation_text(*explanation, context.out.look()));
  }
  return kExitOk;
}

}  // namespace

void add_explain(Verbs& verbs) {
  verbs.add<ExplainOptions>(
      {.name = "explain",
       .summary = "Say why a task is not running, and what will release it",
       .footer =
           R"(Piped, it prints one tab-separated line: reason, gate, when it will be released, the explanation.

Examples:
  drover explain 01920f5e-7a3c-7def-8123-456789abcdef
  drover explain 01920f5e-7a3c-7def-8123-456789abcdef --json | jq .gate)"},
      define, run);
}

}  // namespace drover::cli
