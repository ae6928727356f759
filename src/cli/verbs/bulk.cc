// drover bulk: operations on many tasks, while they run and after.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/bulk.h"
#include "cli/display_text.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/table.h"
#include "cli/task_view.h"
#include "cli/who.h"
#include "core/task_filter.h"
#include "wire/bulk.h"
#include "wire/write.h"

namespace drover::cli {
namespace {

struct BulkListOptions {
  Format format = Format::kAuto;
};

struct BulkShowOptions {
  std::string id;
  Format format = Format::kAuto;
};

struct BulkStopOptions {
  std::string id;
  std::string reason;
  Format format = Format::kAuto;
};

void define(Verb& verb, BulkListOptions& options) {
  verb.formats(&options.format, "print a JSON array of operations");
}

void define_id(Verb& verb, std::string* id) {
  verb.value("ID", "", id, read_text, "the operation, or the beginning of its id").required();
}

void define_show(Verb& verb, BulkShowOptions& options) {
  define_id(verb, &options.id);
  verb.json(&options.format, "print the operation as JSON");
}

void define_wait(Verb& verb, BulkShowOptions& options) {
  define_id(verb, &options.id);
  verb.json(&options.format, R"(print {"state", "done", "skipped", "failed", "problems", "bulk_id"})");
}

void define_stop(Verb& verb, BulkStopOptions& options) {
  define_id(verb, &options.id);
  verb.value("--reason", "R", &options.reason, read_text, "why; kept with the operation");
  verb.json(&options.format, "print the operation as JSON");
}

// By its id, or by what only its id begins with.
Result<BulkOperation> find_operation(TaskQueue& queue, const std::string& text) {
  if (const auto id = BulkId::parse(text)) return queue.bulk_operation(*id);
  if (text.size() < kIdPrefixMin) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is too short: give at least {} characters of the id",
                                                         quoted_excerpt(text), kIdPrefixMin));
  }
  auto operations = TRY(queue.bulk_operations());
  std::erase_if(operations, [&](const BulkOperation& one) { return !one.id.to_string().starts_with(text); });
  if (operations.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no bulk operation {}", quoted_excerpt(text)));
  }
  if (operations.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} bulk operations begin with {}", operations.size(), quoted_excerpt(text)));
  }
  return std::move(operations.front());
}

std::string what_of(const BulkOperation& operation) {
  return operation.order.filter ? to_json(*operation.order.filter) : "ids";
}

std::string progress_of(const BulkOperation& operation) {
  const std::int64_t seen = operation.done + operation.skipped + operation.failed;
  return fmt::format("{}/{}{}", seen, operation.total, operation.total_is_exact ? "" : "+");
}

Table operation_table(const std::vector<BulkOperation>& operations, Time now) {
  Table table({{"ID"}, {"VERB"}, {"STATE"}, {"PROGRESS"}, {"STARTED"}, {"BY"}, {"TASKS", Fit::kElastic}});
  for (const BulkOperation& operation : operations) {
    table.add({operation.id.to_string(), std::string(name_of(operation.order.verb)),
               std::string(name_of(operation.state)), progress_of(operation),
               Cell(coarse_duration(now - operation.started_at), format_time(operation.started_at)),
               operation.order.verdict.by, what_of(operation)});
  }
  return table;
}

std::string page_of(const BulkOperation& operation) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<9} {}\n", name, one_line(value));
  };
  const BulkOrder& order = operation.order;
  line("id", operation.id.to_string());
  line("verb", std::string(name_of(order.verb)));
  line("tasks", what_of(operation));
  if (order.edit) line("edit", to_json(*order.edit));
  line("to", order.to);
  line("by", order.verdict.by);
  line("why", order.verdict.why);
  line("state", std::string(name_of(operation.state)));
  line("total", fmt::format("{}{}", operation.total_is_exact ? "" : "at least ", operation.total));
  line("done", std::to_string(operation.done));
  line("skipped", std::to_string(operation.skipped));
  line("failed", std::to_string(operation.failed));
  line("started", format_time(operation.started_at));
  if (operation.ended_at) line("ended", format_time(*operation.ended_at));
  if (operation.state == BulkState::kStopped) {
    line("stopped", fmt::format("by {}: {}", operation.stopped.by, operation.stopped.why));
  }
  for (const BulkProblem& problem : operation.problems) {
    line("problem", fmt::format("{}: {} ({})", problem.id.to_string(), problem.message, error_info(problem.code).name));
  }
  return text;
}

int run(const BulkListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto operations = (*opened)->queue().bulk_operations();
  if (!operations) return context.fail(operations.error());
  print(Listing<BulkOperation>{.items = *operations,
                               .nothing = "no bulk operations",
                               .name = [](const BulkOperation& operation) { return operation.id.to_string(); },
                               .table = [&] { return operation_table(*operations, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int show(const BulkOperation& operation, Format format, Context& context) {
  context.out.write(format == Format::kJson ? to_json(operation) + "\n" : page_of(operation));
  return kExitOk;
}

int run_show(const BulkShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto operation = find_operation((*opened)->queue(), options.id);
  return operation ? show(*operation, options.format, context) : context.fail(operation.error());
}

int run_wait(const BulkShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  auto operation = find_operation((*opened)->queue(), options.id);
  if (!operation) return context.fail(operation.error());
  const BulkWords words = words_of(operation->order.verb);
  return await_bulk(**opened, *std::move(operation), words, options.format, context);
}

int run_stop(const BulkStopOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto operation = find_operation(queue, options.id);
  if (!operation) return context.fail(operation.error());
  const auto stopped = queue.stop_bulk(operation->id, {.by = who(), .why = options.reason});
  return stopped ? show(*stopped, options.format, context) : context.fail(stopped.error());
}

}  // namespace

void add_bulk(Verbs& verbs) {
  Verbs& bulk = verbs.family(
      {.name = "bulk",
       .summary = "Operations on many tasks: see how far they have come, and stop them",
       .footer =
           R"(`drover cancel`, `retry`, `edit` and the verdicts of `drover dlq` start one when they are given several ids or a
filter. Any worker or server carries it out, and goes on with it when another one died.

Examples:
  drover bulk list
  drover bulk stop 0197b7d4)"});
  bulk.add<BulkListOptions>(
      {.name = "list",
       .summary = "List the operations that run, and the last that ended, newest first",
       .footer =
           R"(Piped, it prints tab-separated lines: id, verb, state, progress, started_at, by, tasks.

Examples:
  drover bulk list
  drover bulk list --json | jq '.[] | {id, done, total}')"},
      define, run);
  bulk.add<BulkShowOptions>({.name = "show",
                             .summary = "Show one operation: what it does, how far it has come, what it had to skip",
                             .footer =
                                 R"(Examples:
  drover bulk show 0197b7d4)"},
                            define_show, run_show);
  bulk.add<BulkShowOptions>(
      {.name = "wait",
       .summary = "Wait until an operation has ended",
       .footer =
           R"(Shows a progress bar on a terminal. If no worker or server runs, this command carries the operation out itself.

Examples:
  drover bulk wait 0197b7d4)"},
      define_wait, run_wait);
  bulk.add<BulkStopOptions>({.name = "stop",
                             .summary = "Stop an operation",
                             .footer =
                                 R"(It changes no further task; what it has done stays done.

Examples:
  drover bulk stop 0197b7d4 --reason 'the wrong filter')"},
                            define_stop, run_stop);
}

}  // namespace drover::cli
