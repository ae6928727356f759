// drover dlq retry, delete, wait and escalate: verdicts on dead letters, one by one or by filter.
//
// By filter: page by page, one task per step. What is done does not match any more, so that the same command goes on
// where an interrupted one stopped.
#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <numeric>

#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/progress_bar.h"
#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verbs/dlq.h"
#include "cli/watch.h"
#include "cli/who.h"

namespace drover::cli {
namespace {

// dlq retry, delete, wait and escalate.
struct DlqVerdictOptions {
  enum class What : std::uint8_t { kRetry, kDelete, kWait, kEscalate };

  What what = What::kRetry;
  std::vector<TaskId> ids;  // empty: those that match the filter
  TaskFilter filter;
  bool all = false;  // whatever the filter leaves open is meant
  bool yes = false;
  bool dry_run = false;
  std::string reason;
  std::optional<std::string> payload;  // kRetry: JSON, @file, or - for stdin
  std::optional<JsonText> patch;       // kRetry
  std::optional<Millis> wait_for;      // kWait: one of these
  std::optional<Time> wait_until;
  std::string to;  // kEscalate
  Format format = Format::kAuto;
};

bool narrows(const TaskFilter& filter) {
  return filter.fingerprint || filter.error_class || filter.type || filter.queue || filter.owner || filter.tag ||
         filter.escalated || filter.finished_before;
}

Status check_choice(const DlqVerdictOptions& options) {
  const bool by_filter = options.all || narrows(options.filter);
  if (options.ids.empty() && !by_filter)
    return fail(ErrorCode::kInvalidArgument, "say which tasks: ids, a filter, or --all");
  if (!options.ids.empty() && by_filter)
    return fail(ErrorCode::kInvalidArgument, "say which tasks: ids or a filter, not both");
  return {};
}

void define(Verb& verb, DlqVerdictOptions& options) {
  verb.tasks("ID", "", &options.ids, "the tasks").several();
  define_dlq_filter(verb, &options.filter);
  verb.flag("--all", &options.all, true, "all dead letters");
  verb.flag("-y,--yes", &options.yes, true, "do not ask for confirmation");
  verb.flag("--dry-run", &options.dry_run, true, "say how many tasks match, show some, and change nothing");
  verb.value("--reason", "R", &options.reason, read_text, "why; kept in the event");
  verb.json(&options.format, R"(print {"done", "left", "complete", "refused"})");
  verb.check([&options] { return check_choice(options); });
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
using Judge = std::function<Status(const TaskId&)>;

constexpr int kBulkPage = 200;
constexpr std::size_t kExamples = 10;

struct VerdictWords {
  std::string_view will;  // "retry 3 tasks"
  std::string_view did;   // "retried 3 tasks"
};

VerdictWords words_of(What what) {
  switch (what) {
    case What::kRetry:
      return {"retry", "retried"};
    case What::kDelete:
      return {"delete", "deleted"};
    case What::kWait:
      return {"set to wait", "set to wait"};
    case What::kEscalate:
      return {"escalate", "escalated"};
  }
  return {};
}

std::string tasks(std::int64_t count) {
  return counted(count, "task");
}

Status without_value(const Result<Task>& task) {
  if (!task) return std::unexpected(task.error());
  return {};
}

// What is done to each task.
Result<Judge> judge_for(TaskQueue& queue, const DlqVerdictOptions& options) {
  const Verdict verdict{.by = who(), .why = options.reason};
  switch (options.what) {
    case What::kDelete:
      return [&queue, verdict](const TaskId& id) { return queue.remove(id, verdict); };
    case What::kEscalate: {
      const EscalateOrder order{.to = options.to, .verdict = verdict};
      return [&queue, order](const TaskId& id) { return without_value(queue.escalate(id, order)); };
    }
    case What::kRetry:
    case What::kWait:
      break;
  }
  RetryOrder order{.verdict = verdict, .run_at = options.wait_until};
  if (options.wait_for) order.run_at = system_clock().wall() + *options.wait_for;
  if (options.payload) {
    order.payload = TRY(read_payload(*options.payload));
  }
  order.patch = options.patch;
  return [&queue, order](const TaskId& id) { return without_value(queue.retry(id, order)); };
}

bool has_moved(const Error& error) {
  return error.code == ErrorCode::kWrongState || error.code == ErrorCode::kNotFound;
}

struct Refusal {
  TaskId id;
  Error error;
};

// What became of the tasks.
struct Tally {
  std::int64_t done = 0;
  std::int64_t left = 0;
  std::vector<Refusal> refused = {};  // the first of those that were left, and why
  std::optional<Error> stopped_by;
  bool interrupted = false;
};

enum class Go : std::uint8_t { kOn, kStop };

class Judgement {
 public:
  Judgement(const DlqVerdictOptions& options, Judge judge, std::int64_t expected, Context& context)
      : judge_(std::move(judge)), bar_(context.err, std::string(words_of(options.what).did), expected) {}

  Go pass(const TaskId& id) {
    if (Interrupts::count() > 0) {
      tally_.interrupted = true;
      return Go::kStop;
    }
    const Status status = judge_(id);
    if (status) {
      ++tally_.done;
    } else if (error_info(status.error().code).retryable == Retryable::kYes) {
      tally_.stopped_by = status.error();
      return Go::kStop;
    } else {
      ++tally_.left;
      if (tally_.refused.size() < kExamples) tally_.refused.push_back({id, status.error()});
    }
    bar_.show(tally_.done + tally_.left, system_clock().mono());
    return Go::kOn;
  }

  Tally take() {
    bar_.clear();
    return tally_;
  }

  // Of those that match, newest first.
  void pass_all(TaskQueue& queue, const TaskFilter& filter) {
    std::optional<std::string> cursor;
    do {
      const auto page = queue.list(filter, kBulkPage, cursor);
      if (!page) {
        tally_.stopped_by = page.error();
        return;
      }
      for (const Task& task : page->tasks) {
        if (pass(task.id) == Go::kStop) return;
      }
      cursor = page->cursor;
    } while (cursor);
  }

 private:
  const Judge judge_;
  ProgressBar bar_;
  Tally tally_;
};

void print_json(const Tally& tally, Context& context) {
  json::Writer out;
  out.begin_object().key("done").number(tally.done).key("left").number(tally.left);
  out.key("complete").boolean(!tally.interrupted && !tally.stopped_by);
  out.key("refused").begin_array();
  for (const Refusal& refusal : tally.refused) {
    out.begin_object().key("id").string(refusal.id.to_string());
    out.key("code")
        .string(error_info(refusal.error.code).name)
        .key("message")
        .string(refusal.error.message)
        .end_object();
  }
  out.end_array().end_object();
  context.out.line(std::move(out).take());
}

int report(const DlqVerdictOptions& options, const Tally& tally, Context& context) {
  const VerdictWords words = words_of(options.what);
  if (options.format == Format::kJson) print_json(tally, context);
  context.say(fmt::format("{} {}", words.did, tasks(tally.done)));
  const Error* first_left = tally.refused.empty() ? nullptr : &tally.refused.front().error;
  if (first_left != nullptr) {
    context.say(fmt::format("{} {}: {} ({})", tasks(tally.left),
                            tally.left == 1 ? "was left as it was" : "were left as they were; the first",
                            first_left->message, error_info(first_left->code).name));
  }
  if (tally.stopped_by) {
    const int exit_code = context.fail(*tally.stopped_by);
    context.say("run the same command again to continue");
    return exit_code;
  }
  if (tally.interrupted) {
    context.say("interrupted; run the same command again to continue");
    return kExitInterrupted;
  }
  // By filter, what moved on meanwhile is nobody's mistake.
  const bool is_mistake = first_left != nullptr && (!options.ids.empty() || !has_moved(*first_left));
  return is_mistake ? error_info(first_left->code).exit_code : kExitOk;
}

TaskFilter filter_of(const DlqVerdictOptions& options) {
  TaskFilter filter = options.filter;
  // An escalated one is done.
  if (options.what == What::kEscalate && !filter.escalated) filter.escalated = false;
  return filter;
}

Result<std::int64_t> count_matches(TaskQueue& queue, const TaskFilter& filter) {
  const auto groups = TRY(queue.error_groups(filter));
  return std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                         [](std::int64_t sum, const ErrorGroup& group) { return sum + group.count; });
}

int show_dry_run(TaskQueue& queue, const DlqVerdictOptions& options, std::int64_t count, Context& context) {
  const auto page = queue.list(filter_of(options), static_cast<int>(kExamples), std::nullopt);
  if (!page) return context.fail(page.error());
  for (const Task& task : page->tasks) context.out.line(task.id.to_string());
  context.say(fmt::format("would {} {}", words_of(options.what).will, tasks(count)));
  return kExitOk;
}

// Whether the person says yes. Anything but y is no.
bool confirms(const std::string& question, Context& context) {
  context.err.write(question + " [y/N] ");
  std::string answer;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) answer += c;
  return answer == "y" || answer == "Y" || answer == "yes";
}

int judge_matches(TaskQueue& queue, const DlqVerdictOptions& options, const Judge& judge, Context& context) {
  const TaskFilter filter = filter_of(options);
  const auto count = count_matches(queue, filter);
  if (!count) return context.fail(count.error());
  if (options.dry_run) return show_dry_run(queue, options, *count, context);
  if (*count == 0) {
    // Whoever may not do it hears that, too, when there is nothing to do it to: of a task that nobody has made.
    const Status allowed = judge(new_task_id(system_rng(), system_clock().wall()));
    if (!allowed && allowed.error().code == ErrorCode::kForbidden) return context.fail(allowed.error());
  }
  if (*count > 0 && !options.yes) {
    const std::string what = fmt::format("{} {}", words_of(options.what).will, tasks(*count));
    if (::isatty(STDIN_FILENO) == 0 || !context.err.look().terminal) {
      context.say(fmt::format("this would {}: add --yes, or --dry-run to see some of them", what));
      return kExitUsage;
    }
    if (!confirms(what + "?", context)) {
      context.say("nothing was changed");
      return kExitOk;
    }
  }
  const Interrupts interrupts;
  Judgement judgement(options, judge, *count, context);
  judgement.pass_all(queue, filter);
  return report(options, judgement.take(), context);
}

int judge_each(const DlqVerdictOptions& options, const Judge& judge, Context& context) {
  if (options.dry_run) {
    for (const TaskId& id : options.ids) context.out.line(id.to_string());
    context.say(fmt::format("would {} {}", words_of(options.what).will, tasks(std::ssize(options.ids))));
    return kExitOk;
  }
  const Interrupts interrupts;
  Judgement judgement(options, judge, std::ssize(options.ids), context);
  for (const TaskId& id : options.ids) {
    if (judgement.pass(id) == Go::kStop) break;
  }
  return report(options, judgement.take(), context);
}

int run(const DlqVerdictOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto judge = judge_for(queue, options);
  if (!judge) return context.fail(judge.error());
  return options.ids.empty() ? judge_matches(queue, options, *judge, context) : judge_each(options, *judge, context);
}

}  // namespace

void add_dlq_verdicts(Verbs& dlq) {
  dlq.add<DlqVerdictOptions>(
      {.name = "retry",
       .summary = "Run failed tasks again, optionally with another payload",
       .footer =
           R"(With a filter, it counts the tasks and asks before it starts; scripts pass --yes. Tasks that it has retried no longer
match, so you can run an interrupted command (exit 130) again to continue.

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
