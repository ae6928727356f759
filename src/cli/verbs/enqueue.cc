// drover enqueue: one task from flags, or a batch from a file, all or nothing.
#include "base/clock.h"
#include "base/try.h"
#include "cli/await_task.h"
#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verb.h"
#include "core/task_json.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct EnqueueOptions {
  TaskArguments task;
  std::optional<std::string> batch;  // a file, or - for stdin; then `task` is empty
  bool child = false;
  bool wait = false;
  WaitLimits limits;
  Format format = Format::kAuto;
};

void define(Verb& verb, EnqueueOptions& options) {
  verb.value("TYPE", "", &options.task.spec.type, read_name, "what kind of work it is");
  define_task(verb, &options.task);
  verb.value("--batch", "FILE", &options.batch, read_text,
             "NDJSON, one task object per line, all or nothing; - is stdin");
  verb.flag("--child", &options.child, true, "inside a task: add it as a child of this task, through its door");
  verb.flag("--wait", &options.wait, true, "wait for the end; exit 0 completed, 10 failed, 11 cancelled");
  define_wait_limits(verb, "--wait-timeout", &options.limits);
  verb.json(&options.format, R"(print {"id", "state", "deduplicated"})");
  verb.check([&options]() -> Status {
    const bool has_task = options.task != TaskArguments{};
    if (options.batch && has_task)
      return complaint("--batch",
                       "the lines of the batch describe the tasks; leave out TYPE and the options of a task");
    if (!options.batch && options.task.spec.type.empty())
      return fail(ErrorCode::kInvalidArgument, "TYPE is missing; give one, or --batch FILE");
    if (options.child && options.wait)
      return complaint("--wait", "a child is waited for with `drover wait --children`; leave it out");
    if (!options.wait && options.limits != WaitLimits{})
      return complaint("--wait-timeout and --quiet", "add --wait, or leave them out");
    return {};
  });
}

Result<Batch> tasks_of(const EnqueueOptions& options, const Context& context) {
  Batch batch;
  if (options.batch) {
    batch = TRY(read_batch(*options.batch));
  } else {
    batch.tasks.push_back(TRY(read_task(options.task)));
  }
  continue_own_trace(context.environment, batch.tasks);
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
      context.say("stopped waiting; the tasks go on");
      return exit_code_of_giving_up(*end);
    }
    exit_code = worse_of(exit_code, exit_code_of_fate(task.state));
  }
  return exit_code;
}

int add_children(const EnqueueOptions& options, Context& context) {
  if (!context.prefixes.empty()) {
    return context.fail({ErrorCode::kInvalidArgument, "--after: type the whole id; a task cannot look for others", {}});
  }
  const auto children = tasks_of(options, context);
  if (!children) return context.fail(children.error());
  const auto url = context.door();
  if (!url) return context.fail(url.error());
  const auto enqueued = spawn_at_door(*url, children->tasks);
  if (!enqueued) return context.fail(options.batch ? at_line(*children, enqueued.error()) : enqueued.error());
  print(*enqueued, options.format, context.out);
  return kExitOk;
}

int run(const EnqueueOptions& options, Context& context) {
  if (options.child) return add_children(options, context);
  const auto opened = open_chosen_store(context);  // before the tasks are read: it finds out which ids are meant
  if (!opened) return context.fail(opened.error());
  const auto batch = tasks_of(options, context);
  if (!batch) return context.fail(batch.error());
  TaskQueue& queue = (*opened)->queue();
  const auto enqueued = queue.enqueue(batch->tasks);
  if (!enqueued) return context.fail(options.batch ? at_line(*batch, enqueued.error()) : enqueued.error());
  print(*enqueued, options.format, context.out);
  return options.wait ? wait_for_all(**opened, *enqueued, options.limits, context) : kExitOk;
}

}  // namespace

void add_enqueue(Verbs& verbs) {
  verbs.add<EnqueueOptions>(
      {.name = "enqueue",
       .summary = "Store a task, or a batch of them",
       .footer =
           R"(Prints the id of each task. A batch line is a task object; "ref": "a" names it for "depends_on": ["@a"] in other lines.

Examples:
  drover enqueue review --prompt 'Review the last commit' --priority high
  drover enqueue deploy --payload @deploy.json --after 01920f5e-7a3c-7def-8123-456789abcdef
  drover enqueue deploy --lock production --dedupe keep_latest --dedupe-key site
  drover enqueue part --child --payload '{"page": 3}'
  drover enqueue sync --delay 10m --retry fixed:30s --max-attempts 5 --request-id nightly-42
  printf '%s\n' '{"type":"build","ref":"b"}' '{"type":"test","depends_on":["@b"]}' | drover enqueue --batch -)"},
      define, run);
}

}  // namespace drover::cli
