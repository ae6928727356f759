// drover dlq retry, delete, wait and escalate: verdicts on dead letters, one by one or by filter.
#include "base/clock.h"
#include "base/try.h"
#include "cli/bulk.h"
#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verbs/dlq.h"
#include "cli/who.h"

namespace drover::cli {
namespace {

// dlq retry, delete, wait and escalate.
struct DlqVerdictOptions {
  enum class What : std::uint8_t { kRetry, kDelete, kWait, kEscalate };

  What what = What::kRetry;
  BulkChoice choice;
  std::string reason;
  std::optional<std::string> payload;  // kRetry: JSON, @file, or - for stdin
  std::optional<JsonText> patch;       // kRetry
  std::optional<Millis> wait_for;      // kWait: one of these
  std::optional<Time> wait_until;
  std::string to;  // kEscalate
  Format format = Format::kAuto;
};

void define(Verb& verb, DlqVerdictOptions& options) {
  define_dlq_filter(verb, &options.choice.filter);
  define_bulk_choice(verb, &options.choice, "all dead letters");
  verb.value("--reason", "R", &options.reason, read_text, "why; kept in the event");
  verb.json(&options.format, R"(print {"state", "done", "skipped", "failed", "problems", "bulk_id"})");
}

void define_retry(Verb& verb, DlqVerdictOptions& options) {
  define(verb, options);
  verb.value("--payload", "JSON|@FILE|-", &options.payload, read_text,
             "replaces the old payload: JSON, a file or stdin");
  verb.value("--patch", "JSON", &options.patch, read_json, "a JSON Merge Patch for the old payload");
  verb.check([&options]() -> Status {
    if (options.payload && options.patch) return complaint("--payload and --patch", "give one of them");
    return {};
  });
}

void define_delete(Verb& verb, DlqVerdictOptions& options) {
  options.what = DlqVerdictOptions::What::kDelete;
  define(verb, options);
}

void define_wait(Verb& verb, DlqVerdictOptions& options) {
  options.what = DlqVerdictOptions::What::kWait;
  define(verb, options);
  verb.value("--for", "D", &options.wait_for, read_time_limit, "run again after this long");
  verb.value("--until", "T", &options.wait_until, parse_time, "run again at this time (RFC 3339)");
  verb.check([&options]() -> Status {
    if (options.wait_for.has_value() == options.wait_until.has_value())
      return complaint("--for or --until", "give one of them");
    return {};
  });
}

void define_escalate(Verb& verb, DlqVerdictOptions& options) {
  options.what = DlqVerdictOptions::What::kEscalate;
  define(verb, options);
  verb.value("--to", "WHO", &options.to, read_text, "who should look at it").required();
}

using What = DlqVerdictOptions::What;

BulkWords verdict_words(What what) {
  switch (what) {
    case What::kRetry:
      return words_of(BulkVerb::kRetry);
    case What::kDelete:
      return words_of(BulkVerb::kDelete);
    case What::kWait:
      return {"set to wait", "set to wait"};
    case What::kEscalate:
      return words_of(BulkVerb::kEscalate);
  }
  return {};
}

Result<BulkOrder> order_of(const DlqVerdictOptions& options) {
  BulkOrder order{.verdict = {.by = who(), .why = options.reason}};
  switch (options.what) {
    case What::kDelete:
      order.verb = BulkVerb::kDelete;
      return order;
    case What::kEscalate:
      order.verb = BulkVerb::kEscalate;
      order.to = options.to;
      return order;
    case What::kRetry:
    case What::kWait:
      break;
  }
  order.verb = BulkVerb::kRetry;
  RetryOrder& retry = order.retry.emplace();
  retry.run_at = options.wait_until;
  if (options.wait_for) retry.run_at = system_clock().wall() + *options.wait_for;
  if (options.payload) retry.payload = TRY(read_payload(*options.payload));
  retry.patch = options.patch;
  return order;
}

Status without_value(const Result<Task>& task) {
  if (!task) return std::unexpected(task.error());
  return {};
}

// One task by its id needs no operation, and may have a payload of any size.
Status judge_one(TaskQueue& queue, const TaskId& id, const BulkOrder& order) {
  if (order.verb == BulkVerb::kDelete) return queue.remove(id, order.verdict);
  if (order.verb == BulkVerb::kEscalate) {
    return without_value(queue.escalate(id, {.to = order.to, .verdict = order.verdict}));
  }
  RetryOrder retry = order.retry.value_or(RetryOrder{});
  retry.verdict = order.verdict;
  return without_value(queue.retry(id, retry));
}

int run(const DlqVerdictOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto order = order_of(options);
  if (!order) return context.fail(order.error());
  const BulkWords words = verdict_words(options.what);
  BulkChoice choice = options.choice;
  if (choice.is_one_task() && !choice.dry_run) {
    const TaskId& id = choice.ids.front();
    return report_one(id, judge_one((*opened)->queue(), id, *order), words, options.format, context);
  }
  // An escalated one is done.
  if (options.what == What::kEscalate && !choice.filter.escalated) choice.filter.escalated = false;
  return run_bulk(**opened, *order, choice, words, options.format, context);
}

}  // namespace

void add_dlq_verdicts(Verbs& dlq) {
  dlq.add<DlqVerdictOptions>(
      {.name = "retry",
       .summary = "Run failed tasks again, optionally with another payload",
       .footer =
           R"(With a filter, it counts the tasks and asks before it starts; scripts pass --yes. An operation on many tasks survives
this command: interrupted (exit 130), it goes on without it. See `drover bulk`.

Examples:
  drover dlq retry 01920f5e-7a3c-7def-8123-456789abcdef --payload @fixed.json
  drover dlq retry --fingerprint 3f2a9c41d07b --patch '{"model": "large"}' --reason 'needs more context'
  drover dlq retry --all --dry-run)"},
      define_retry, run);
  dlq.add<DlqVerdictOptions>(
      {.name = "delete",
       .summary = "Delete failed tasks with everything that belongs to them",
       .footer =
           R"(Their events remain and record who deleted them and why. Given an id, it deletes any finished task.

Examples:
  drover dlq delete --type demo --yes --reason 'a test')"},
      define_delete, run);
  dlq.add<DlqVerdictOptions>({.name = "wait",
                              .summary = "Run failed tasks again at a later time",
                              .footer =
                                  R"(Like `dlq retry`, but the tasks start no earlier than that time.

Examples:
  drover dlq wait --class quota_exhausted --for 6h
  drover dlq wait 01920f5e-7a3c-7def-8123-456789abcdef --until 2026-12-01T06:00:00Z)"},
                             define_wait, run);
  dlq.add<DlqVerdictOptions>(
      {.name = "escalate",
       .summary = "Assign failed tasks to somebody",
       .footer =
           R"(They stay failed until somebody retries or deletes them. A filter selects only tasks that are not assigned yet.

Examples:
  drover dlq escalate --fingerprint 3f2a9c41d07b --to ada --reason 'the schema changed')"},
      define_escalate, run);
}

}  // namespace drover::cli
