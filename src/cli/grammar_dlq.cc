// The verbs about dead letters.
#include <fmt/format.h>

#include "cli/grammar.h"

namespace drover::cli {
namespace {

using What = DlqVerdictOptions::What;

void add_filter(Verb& verb, TaskFilter* filter) {
  verb.value("--fingerprint", "F", &filter->fingerprint, read_fingerprint, "only failures of this kind");
  verb.value("--class", "C", &filter->error_class, read_error_class, "only this class of error");
  verb.value("--type", "T", &filter->type, read_name, "only this type");
  verb.value("--queue", "Q", &filter->queue, read_name, "only this queue");
  verb.value("--owner", "O", &filter->owner, read_name, "only this owner");
  verb.value("--tag", "T", &filter->tag, read_name, "only with this tag");
  verb.value("--escalated", "yes|no", &filter->escalated, read_yes_or_no, "only those that somebody has, or nobody");
  verb.value("--before", "T", &filter->finished_before, parse_time, "only what failed before this time (RFC 3339)");
}

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

std::pair<Verb, DlqVerdictOptions*> add_verdict(Verbs& dlq, const std::string& name, What what) {
  auto [verb, options] = dlq.add<DlqVerdictOptions>(name);
  options->what = what;
  verb.list("ID", "", &options->ids, read_task_id, "the tasks").several();
  add_filter(verb, &options->filter);
  verb.flag("--all", &options->all, true, "all dead letters");
  verb.flag("-y,--yes", &options->yes, true, "do not ask, however many match");
  verb.flag("--dry-run", &options->dry_run, true, "say how many it would be, and show some");
  verb.value("--reason", "R", &options->reason, read_text, "why; kept in the event");
  verb.json(&options->format, R"(print {"done", "left", "complete", "refused"})");
  verb.check([options = options] { return check_choice(*options); });
  return {verb, options};
}

void add_dlq_list(Verbs& dlq) {
  auto [verb, options] = dlq.add<DlqListOptions>("list");
  options->filter.states = {TaskState::kFailed};
  add_filter(verb, &options->filter);
  verb.flag("--tasks", &options->tasks, true, "one by one, newest first, instead of by kind");
  verb.value("--limit", "N", &options->limit, integer_between({1, 1'000'000}),
             fmt::format("with --tasks: show at most N; default {}", kListLimitDefault));
  verb.value("--cursor", "C", &options->cursor, read_text, "with --tasks: go on where the list before this one ended");
  verb.formats(&options->format, "print a JSON array of kinds, or of tasks");
}

void add_dlq_show(Verbs& dlq) {
  auto [verb, options] = dlq.add<DlqShowOptions>("show");
  verb.value("ID|FINGERPRINT", "", &options->what, read_task_id_or_fingerprint, "a task, or a kind of failure")
      .required();
  verb.json(&options->format, R"(print {"task", "runs"}, or {"group", "tasks"})");
}

void add_dlq_retry(Verbs& dlq) {
  auto [verb, options] = add_verdict(dlq, "retry", What::kRetry);
  verb.value("--payload", "JSON|@FILE|-", &options->payload, read_text, "instead of the old one");
  verb.value("--patch", "JSON", &options->patch, read_json, "a JSON Merge Patch onto the old one");
  verb.check([options = options]() -> Status {
    if (options->payload && options->patch) return complaint("--payload and --patch", "give one of them");
    return {};
  });
}

void add_dlq_wait(Verbs& dlq) {
  auto [verb, options] = add_verdict(dlq, "wait", What::kWait);
  verb.value("--for", "D", &options->wait_for, read_time_limit, "run again after so long");
  verb.value("--until", "T", &options->wait_until, parse_time, "run again at this time (RFC 3339)");
  verb.check([options = options]() -> Status {
    if (options->wait_for.has_value() == options->wait_until.has_value())
      return complaint("--for or --until", "give one of them");
    return {};
  });
}

void add_dlq_escalate(Verbs& dlq) {
  auto [verb, options] = add_verdict(dlq, "escalate", What::kEscalate);
  verb.value("--to", "WHO", &options->to, read_text, "who should look at it").required();
}

}  // namespace

void add_dlq_verbs(Verbs& verbs) {
  Verbs& dlq = verbs.family("dlq");
  add_dlq_list(dlq);
  add_dlq_show(dlq);
  add_dlq_retry(dlq);
  add_verdict(dlq, "delete", What::kDelete);
  add_dlq_wait(dlq);
  add_dlq_escalate(dlq);
}

}  // namespace drover::cli
