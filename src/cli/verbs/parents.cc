// drover parents: from inside a task, what the tasks that it depends on produced.
#include "cli/verb.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct ParentsOptions {
  std::string parent;
};

void define(Verb& verb, ParentsOptions& options) {
  verb.value("REF", "", &options.parent, read_text, "the ref or the id of one parent: print its result");
}

int run(const ParentsOptions& options, Context& context) {
  const auto url = context.door();
  if (!url) return context.fail(url.error());
  if (!options.parent.empty()) {
    const auto result = parent_result_at_door(*url, options.parent);
    if (!result) return context.fail(result.error());
    context.out.line(*result);
    return kExitOk;
  }
  const auto parents = parents_at_door(*url);
  if (!parents) return context.fail(parents.error());
  for (const std::string& line : *parents) context.out.line(line);
  return kExitOk;
}

}  // namespace

void add_parents(Verbs& verbs) {
  verbs.add<ParentsOptions>(
      {.name = "parents",
       .summary = "Read the results of a task's parents from inside it",
       .footer =
           R"(Works inside a task, through the socket in DROVER_URL. Prints one line of JSON for each task that this one depends on,
in the order of depends_on, with the members id, ref, type, state, result and error. Children that the task has waited for are among them.

Examples:
  drover parents
  drover parents plan)"},
      define, run);
}

}  // namespace drover::cli
