// drover edit: what may still change of a task that waits.
#include <fmt/format.h>

#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verbs.h"
#include "core/task_json.h"

namespace drover::cli {

int run(const EditOptions& options, Context& context) {
  EditOrder order = options.order;
  if (options.payload) {
    auto payload = read_payload(*options.payload);
    if (!payload) return context.fail(payload.error());
    order.payload = *std::move(payload);
  }
  if (!options.tags.empty()) order.tags = options.tags;
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto task = (*opened)->queue().edit(options.id, order);
  if (!task) return context.fail(task.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*task));
    return kExitOk;
  }
  context.say(fmt::format("changed task {}", options.id.to_string()));
  context.out.line(name_of(task->state));
  return kExitOk;
}

}  // namespace drover::cli
