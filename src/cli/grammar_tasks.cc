// The verbs about single tasks.
#include "cli/grammar.h"

#include <fmt/format.h>

namespace drover::cli {
namespace {

void add_task_flags(Verb& verb, TaskArguments* task) {
  TaskSpec* spec = &task->spec;
  verb.value("--payload", "JSON|@FILE|-", &task->payload, read_text, "what the task gets: JSON, a file or stdin");
  verb.value("--prompt", "TEXT", &spec->prompt, read_text, "what the agent is asked");
  verb.value("--queue", "Q", &spec->queue, read_name, "where it waits; default: the type's, or its name");
  verb.value("--owner", "O", &spec->owner, read_name, "on whose account it runs");
  verb.value("--priority", "P", &spec->priority, parse_priority, "0 (first) to 9, or critical, high, normal, low");
  verb.value("--delay", "D", &spec->delay, parse_duration, "start no earlier than this from now: 500ms, 30s, 2h");
  verb.value("--at", "T", &spec->run_at, parse_time, "start no earlier than this time (RFC 3339)");
  const auto read_parent = [](std::string_view text) -> Result<ParentRef> { return read_task_id(text); };
  verb.list("--after", "ID", &spec->depends_on, read_parent, "start when this task has completed");
  verb.value("--on-parent-failure", "cancel|fail|run", &spec->on_parent_failure, read_on_parent_failure,
             "what happens if it does not complete");
  verb.value("--request-id", "R", &spec->request_id, read_name, "the same request again gives the same task");
  verb.value("--dedupe-key", "K", &spec->dedupe_key, read_name,
             "do not make it twice: what is the same has the same key");
  verb.value("--dedupe", "single_flight|drop|merge|replace|keep_latest", &spec->dedupe, read_dedupe_mode,
             "what to do if it is there already; the key is its type and payload unless given");
  verb.value("--dedupe-window", "D", &spec->dedupe_window, read_time_limit,
             "how long --dedupe drop remembers; default 5m");
  verb.list("--lock", "K", &spec->locks, read_name, "only one task at a time holds it");
  verb.value(
      "--cost", "N", &spec->cost, [](std::string_view text) { return read_integer(text, kCostBounds); },
      "units of the rates that it passes; default 1");
  verb.list("--tag", "T", &spec->tags, read_name, "a label to find it by");
  verb.value("--max-attempts", "N", &spec->max_attempts, integer_between(kMaxAttemptsBounds),
             "counted runs before it fails");
  verb.value("--retry", "KIND:ARGS", &spec->retry, parse_retry_policy,
             "exponential:1s,2,300s, linear:60ms, fixed:1s or list:1s,5s,30s");
  verb.value("--timeout", "D", &spec->timeout, read_time_limit, "how long one run may take");
  verb.value("--idle-timeout", "D", &spec->idle_timeout, read_time_limit, "how long a run may be silent");
  verb.value("--deadline", "D", &spec->deadline, read_time_limit, "when it must have ended, all runs together");
  verb.value("--fallback", "JSON", &task->fallback, read_text, "its result if the deadline passes");
  verb.flag("--at-most-once", &spec->at_most_once, true, "never run it twice, even if a worker dies");
}

Status check_task(const TaskArguments& task) {
  if (task.spec.dedupe_window && task.spec.dedupe != DedupeMode::kDrop)
    return complaint("--dedupe-window", "only --dedupe drop has a window");
  if (task.spec.delay && task.spec.run_at) return complaint("--delay and --at", "give one of them");
  return {};
}

void add_quiet(Verb& verb, WaitLimits* limits) {
  verb.flag("-q,--quiet", &limits->quiet, true, "do not say what it waits for");
}

void add_wait_limits(Verb& verb, WaitLimits* limits) {
  verb.value("--wait-timeout", "D", &limits->timeout, parse_duration, "stop waiting after this; exit 124");
  add_quiet(verb, limits);
}

void add_enqueue(Verbs& verbs) {
  auto [verb, options] = verbs.add<EnqueueOptions>("enqueue");
  verb.value("TYPE", "", &options->task.spec.type, read_name, "what kind of work it is");
  add_task_flags(verb, &options->task);
  verb.value("--batch", "FILE", &options->batch, read_text,
             "NDJSON, one task object a line, all or nothing; - is stdin");
  verb.flag("--wait", &options->wait, true, "wait for the end; exit 0 completed, 10 failed, 11 cancelled");
  add_wait_limits(verb, &options->limits);
  verb.json(&options->format, R"(print {"id", "state", "deduplicated"})");
  verb.check([options = options]() -> Status {
    const bool has_task = options->task != TaskArguments{};
    if (options->batch && has_task)
      return complaint("--batch", "its lines say everything: no TYPE and no task options beside it");
    if (!options->batch && options->task.spec.type.empty())
      return fail(ErrorCode::kInvalidArgument, "TYPE is missing; or give --batch FILE");
    if (!options->wait && options->limits != WaitLimits{})
      return complaint("--wait-timeout and --quiet", "they are of use only with --wait");
    return check_task(options->task);
  });
}

void add_run(Verbs& verbs) {
  auto [verb, options] = verbs.add<RunOptions>("run");
  verb.value("TYPE", "", &options->task.spec.type, read_name, "what kind of work it is").required();
  add_task_flags(verb, &options->task);
  add_wait_limits(verb, &options->limits);
  verb.json(&options->format, "print the whole task instead of its result");
  verb.check([options = options] { return check_task(options->task); });
}

void add_list(Verbs& verbs) {
  auto [verb, options] = verbs.add<ListOptions>("list");
  TaskFilter* filter = &options->filter;
  verb.value("--type", "T", &filter->type, read_name, "only this type");
  verb.value("--queue", "Q", &filter->queue, read_name, "only this queue");
  verb.value("--owner", "O", &filter->owner, read_name, "only this owner");
  verb.value("--state", "S,S", &filter->states, read_states,
             "only these states: blocked scheduled pending running stalled completed failed cancelled");
  verb.value("--tag", "T", &filter->tag, read_name, "only with this tag");
  verb.value("--parent", "ID", &filter->parent_id, read_task_id, "only what this task spawned");
  verb.value("--class", "C", &filter->error_class, read_error_class, "only with this class of error");
  verb.value("--fingerprint", "F", &filter->fingerprint, read_fingerprint, "only with errors of this kind");
  verb.value("--limit", "N", &options->limit, integer_between({1, 1'000'000}),
             fmt::format("show at most N; default {}", kListLimitDefault));
  verb.value("--cursor", "C", &options->cursor, read_text, "go on where the list before this one ended");
  verb.flag("-q,--quiet", &options->format, Format::kName, "ids only, as -o name");
  verb.formats(&options->format, "print a JSON array of tasks");
}

void add_show(Verbs& verbs) {
  auto [verb, options] = verbs.add<ShowOptions>("show");
  verb.task_id(&options->id);
  verb.flag("--runs", &options->runs, true, "its runs, newest first, instead of the task");
  verb.json(&options->format, "print the task as JSON");
}

void add_wait(Verbs& verbs) {
  auto [verb, options] = verbs.add<WaitOptions>("wait");
  verb.task_id(&options->id);
  verb.value("--timeout", "D", &options->limits.timeout, parse_duration, "stop waiting after this; exit 124");
  add_quiet(verb, &options->limits);
  verb.json(&options->format, "print the task as JSON");
}

void add_logs(Verbs& verbs) {
  auto [verb, options] = verbs.add<LogsOptions>("logs");
  verb.task_id(&options->id);
  verb.flag("-f,--follow", &options->follow, true, "go on until the task ends");
  verb.value("--run", "N", &options->run, integer_between({1, 1'000'000'000}), "only this run");
  verb.json(&options->format, "print one JSON object a line");
}

void add_cancel(Verbs& verbs) {
  auto [verb, options] = verbs.add<CancelOptions>("cancel");
  verb.task_id(&options->id);
  verb.value("--reason", "R", &options->reason, read_text, "why; kept with the task");
  verb.flag("--dry-run", &options->dry_run, true, "say which tasks would end, and change nothing");
  verb.json(&options->format,
            R"(print {"id", "state", "cancelled", "requested"}; of a dry run, a JSON array of tasks)");
}

void add_edit(Verbs& verbs) {
  auto [verb, options] = verbs.add<EditOptions>("edit");
  verb.task_id(&options->id);
  EditOrder* order = &options->order;
  verb.value("--priority", "P", &order->priority, parse_priority, "0 (first) to 9, or critical, high, normal, low");
  verb.value("--delay", "D", &order->delay, parse_duration, "start no earlier than this from now; 0s: at once");
  verb.value("--at", "T", &order->run_at, parse_time, "start no earlier than this time (RFC 3339)");
  verb.value("--payload", "JSON|@FILE|-", &options->payload, read_text,
             "what the task gets instead: JSON, a file or stdin");
  verb.list("--tag", "T", &options->tags, read_name, "its labels from now on, instead of those that it has");
  verb.json(&options->format, "print the task as JSON");
  verb.check([options = options, order]() -> Status {
    if (order->delay && order->run_at) return complaint("--delay and --at", "give one of them");
    const bool any = order->priority || order->delay || order->run_at || options->payload || !options->tags.empty();
    return any ? Status{} : complaint("edit", "say what is to change: --priority, --delay, --at, --payload or --tag");
  });
}

void add_retry(Verbs& verbs) {
  auto [verb, options] = verbs.add<RetryOptions>("retry");
  verb.task_id(&options->id);
  verb.value("--reason", "R", &options->reason, read_text, "why; kept in the event");
  verb.json(&options->format, "print the task as JSON");
}

void add_explain(Verbs& verbs) {
  auto [verb, options] = verbs.add<ExplainOptions>("explain");
  verb.task_id(&options->id);
  verb.json(&options->format, "print the explanation as JSON");
}

}  // namespace

void add_task_verbs(Verbs& verbs) {
  add_enqueue(verbs);
  add_run(verbs);
  add_list(verbs);
  add_show(verbs);
  add_wait(verbs);
  add_logs(verbs);
  add_explain(verbs);
  add_cancel(verbs);
  add_edit(verbs);
  add_retry(verbs);
  add_dlq_verbs(verbs);
}

}  // namespace drover::cli
