// drover explain: why a task is not running, and what will release it.
#include "cli/gate_view.h"
#include "cli/project.h"
#include "cli/verbs.h"
#include "core/gate_json.h"

namespace drover::cli {

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

}  // namespace drover::cli
