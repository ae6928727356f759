// drover worker: who is there and what they serve; sending them home.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/try.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "cli/who.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct WorkerListOptions {
  Format format = Format::kAuto;
};

struct WorkerDrainOptions {
  std::string id;
  bool all = false;
  bool wait = false;
  std::string reason;
  Format format = Format::kAuto;
};

void define(Verb& verb, WorkerListOptions& options) {
  verb.formats(&options.format, "print a JSON array of workers");
}

void define(Verb& verb, WorkerDrainOptions& options) {
  verb.value("WORKER", "", &options.id, read_name, "its id");
  verb.flag("--all", &options.all, true, "every worker that is registered");
  verb.value("--reason", "R", &options.reason, read_text, "why; shown to anyone who asks");
  verb.flag("--wait", &options.wait, true, "wait until they are gone");
  verb.json(&options.format, R"(print {"draining"})");
  verb.check([&options]() -> Status {
    if (options.all == !options.id.empty()) return complaint("WORKER", "give the id of one worker, or --all");
    return {};
  });
}

using WorkerIds = std::vector<std::string>;

// Those that are to drain.
Result<WorkerIds> chosen(TaskQueue& queue, const WorkerDrainOptions& options) {
  if (!options.all) return WorkerIds{options.id};
  const auto workers = TRY(queue.workers());
  WorkerIds ids;
  for (const WorkerInfo& worker : workers) ids.push_back(worker.id);
  return ids;
}

// With --all one that went meanwhile is no failure.
Result<WorkerIds> order_drain(TaskQueue& queue, const WorkerIds& ids, const WorkerDrainOptions& options) {
  WorkerIds told;
  for (const std::string& id : ids) {
    const Status ordered = queue.drain_worker({.worker_id = id, .why = options.reason, .by = who()});
    if (ordered) {
      told.push_back(id);
    } else if (!options.all || ordered.error().code != ErrorCode::kNotFound) {
      return std::unexpected(ordered.error());
    }
  }
  return told;
}

Result<WatchEnd> wait_until_gone(TaskQueue& queue, const WorkerIds& ids) {
  const Interrupts interrupts;
  return watch(queue, std::nullopt, [&]() -> Result<Seen> {
    const auto workers = TRY(queue.workers());
    const bool any_left = std::ranges::any_of(
        workers, [&](const WorkerInfo& worker) { return std::ranges::find(ids, worker.id) != ids.end(); });
    return any_left ? Seen::kNotYet : Seen::kDone;
  });
}

std::string ids_json(const WorkerIds& ids) {
  json::Writer writer;
  writer.begin_object().key("draining").begin_array();
  for (const std::string& id : ids) writer.string(id);
  writer.end_array().end_object();
  return std::move(writer).take();
}

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

int run(const WorkerDrainOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto ids = chosen(queue, options);
  if (!ids) return context.fail(ids.error());
  const auto told = order_drain(queue, *ids, options);
  if (!told) return context.fail(told.error());
  if (options.format == Format::kJson) context.out.line(ids_json(*told));
  if (told->empty()) context.say("no workers");
  for (const std::string& id : *told) context.say(fmt::format("{} is draining: it takes no more tasks", id));
  if (!options.wait) return kExitOk;
  const auto end = wait_until_gone(queue, *told);
  if (!end) return context.fail(end.error());
  return *end == WatchEnd::kInterrupted ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_worker(Verbs& verbs) {
  Verbs& worker = verbs.family({.name = "worker",
                                .summary = "List the workers, and drain them",
                                .footer =
                                    R"(Examples:
  drover worker list
  drover worker drain --all --reason upgrade --wait)"});
  worker.add<WorkerListOptions>({.name = "list",
                                 .summary = "List the workers, what they serve and what they run",
                                 .footer =
                                     R"(STATE is working, draining, or silent, which means no heartbeat for 30 seconds.

Piped, it prints tab-separated lines: id, version, running, capacity, registered_at, last_beat_at, working, draining or silent,
who told it to drain and why, what it serves.

Examples:
  drover worker list --json)"},
                                define, run);
  worker.add<WorkerDrainOptions>(
      {.name = "drain",
       .summary = "Tell a worker to finish the tasks it has, take no more and exit",
       .footer =
           R"(The worker hears of it at its next heartbeat, within a few seconds. It lets its tasks take as long as they need, then
exits with 0. If you send it a signal, it still stops within its drain time.

Examples:
  drover worker drain box:4711:019a8d5e-6f7a-7b3c-9d2e-1f0a2b3c4d5e
  drover worker drain --all --reason upgrade --wait)"},
      define, run);
}

}  // namespace drover::cli
