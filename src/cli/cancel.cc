// drover cancel: a task and what depends on it.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/project.h"
#include "cli/verbs.h"

namespace drover::cli {
namespace {

std::string outcome_json(const TaskId& id, const CancelOutcome& outcome) {
  json::Writer writer;
  writer.begin_object().key("id").string(id.to_string()).key("state").string(name_of(outcome.state));
  writer.key("cancelled").number(outcome.cancelled).key("requested").number(outcome.requested).end_object();
  return std::move(writer).take();
}

}  // namespace

int run(const CancelOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto outcome = (*opened)->queue().cancel(options.id, options.reason);
  if (!outcome) return context.fail(outcome.error());
  if (options.format == Format::kJson) {
    context.out.line(outcome_json(options.id, *outcome));
    return kExitOk;
  }
  context.say(fmt::format("{} cancelled, {} asked to stop", outcome->cancelled, outcome->requested));
  context.out.line(name_of(outcome->state));
  return kExitOk;
}

}  // namespace drover::cli
