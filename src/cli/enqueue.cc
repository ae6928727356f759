// drover enqueue: one task from flags, or a batch from a file, all or nothing.
#include "base/clock.h"
#include "cli/await_task.h"
#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verbs.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

Result<Batch> tasks_of(const EnqueueOptions& options) {
  if (options.batch) return read_batch(*options.batch);
  auto task = read_task(options.task);
  if (!task) return std::unexpected(task.error());
  Batch batch;
  batch.tasks.push_back(*std::move(task));
  return batch;
}

void print(const std::vector<Enqueued>& enqueued, Format format, Output& out) {
  std::string text;
  for (const Enqueued& task : enqueued) {
    text += format == Format::kJson ? to_json(task) : task.id.to_string();
    text += '\n';
  }
  out.write(text);
}

// The worst fate decides: failed, then cancelled.
int worse_of(int a, int b) {
  if (a == kExitTaskFailed || b == kExitTaskFailed) return kExitTaskFailed;
  return std::max(a, b);
}

// The limit is that of all of them together.
int wait_for_all(OpenedQueue& opened, const std::vector<Enqueued>& enqueued, const WaitLimits& limits,
                 Context& context) {
  int exit_code = kExitOk;
  const MonoTime started = system_clock().mono();
  const UpkeepThread upkeep(opened);  // time goes on although no worker may be there
  const Interrupts interrupts;
  for (const Enqueued& one : enqueued) {
    Task task;
    WaitLimits rest = limits;
    if (limits.timeout) rest.timeout = std::max(Millis{0}, *limits.timeout - (system_clock().mono() - started));
    const auto end = await_task(opened.queue(), one.id, rest, context, task);
    if (!end) return context.fail(end.error());
    if (*end != WatchEnd::kDone) {
      context.say("no longer waiting; what was enqueued goes on");
      return exit_code_of_giving_up(*end);
    }
    exit_code = worse_of(exit_code, exit_code_of_fate(task.state));
  }
  return exit_code;
}

}  // namespace

int run(const EnqueueOptions& options, Context& context) {
  auto batch = tasks_of(options);
  if (!batch) return context.fail(batch.error());
  continue_own_trace(context.environment, batch->tasks);
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto enqueued = queue.enqueue(batch->tasks);
  if (!enqueued) return context.fail(options.batch ? at_line(*batch, enqueued.error()) : enqueued.error());
  print(*enqueued, options.format, context.out);
  return options.wait ? wait_for_all(**opened, *enqueued, options.limits, context) : kExitOk;
}

}  // namespace drover::cli
