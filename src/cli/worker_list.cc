// drover worker list: who is there, and what they serve.
#include "base/clock.h"
#include "cli/listing.h"
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
  print(Listing<WorkerInfo>{.items = *workers,
                            .nothing = "no workers",
                            .name = [](const WorkerInfo& worker) { return worker.id; },
                            .table = [&] { return worker_table(*workers, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

}  // namespace drover::cli
