// drover worker list: who is there, and what they serve.
#include "base/clock.h"
#include "base/json.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verbs.h"
#include "core/task_json.h"

namespace drover::cli {

int run(const WorkerListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto workers = (*opened)->queue().workers();
  if (!workers) return context.fail(workers.error());
  if (options.format == Format::kJson) {
    json::Writer writer;
    writer.begin_array();
    for (const WorkerInfo& worker : *workers) writer.raw(to_json(worker));
    writer.end_array();
    context.out.line(std::move(writer).take());
  } else if (workers->empty()) {
    context.say("no workers");
  } else {
    context.out.write(worker_table(*workers, system_clock().wall()).render(context.out.look()));
  }
  return kExitOk;
}

}  // namespace drover::cli
