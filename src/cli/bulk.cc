#include "cli/bulk.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/progress_bar.h"
#include "cli/watch.h"
#include "core/bulk.h"
#include "wire/bulk.h"
#include "wire/filter_query.h"

namespace drover::cli {
namespace {

bool narrows(const TaskFilter& filter) {
  const auto query = query_of_filter(filter);
  return std::ranges::any_of(query, [](const auto& parameter) { return parameter.first != "state"; });
}

// --state alone says which tasks are meant; dead letters are failed tasks anyway.
bool chooses_by_filter(const BulkChoice& choice, std::size_t states_at_first) {
  return choice.all || narrows(choice.filter) || choice.filter.states.size() != states_at_first;
}

Status check_choice(const BulkChoice& choice, std::size_t states_at_first) {
  const bool by_filter = chooses_by_filter(choice, states_at_first);
  if (choice.ids.empty() && !by_filter)
    return fail(ErrorCode::kInvalidArgument, "say which tasks: ids, a filter, or --all");
  if (!choice.ids.empty() && by_filter)
    return fail(ErrorCode::kInvalidArgument, "say which tasks: ids or a filter, not both");
  return {};
}

std::string tasks(std::int64_t count) {
  return counted(count, "task");
}

std::string tasks_of(const BulkPreview& preview) {
  return preview.exact ? tasks(preview.matched) : fmt::format("at least {}", tasks(preview.matched));
}

std::string states_of(const BulkPreview& preview) {
  std::string text;
  for (std::size_t i = 0; i < preview.by_state.size(); ++i) {
    if (preview.by_state[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", preview.by_state[i], name_of(static_cast<TaskState>(i)));
  }
  return text;
}

int show_dry_run(const BulkPreview& preview, const BulkWords& words, Format format, Context& context) {
  if (format == Format::kJson) {
    context.out.line(to_json(preview));
  } else {
    for (const TaskId& id : preview.sample) context.out.line(id.to_string());
  }
  context.say(fmt::format("would {} {}{}", words.will, tasks_of(preview), states_of(preview)));
  return kExitOk;
}

// Whether the person says yes. Anything but y is no.
bool confirms(const std::string& question, Context& context) {
  context.err.write(question + " [y/N] ");
  std::string answer;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) answer += c;
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Nothing: it may go on. Otherwise how the command ends.
std::optional<int> ask_first(const BulkPreview& preview, const BulkWords& words, Context& context) {
  const std::string what = fmt::format("{} {}", words.will, tasks_of(preview));
  if (::isatty(STDIN_FILENO) == 0 || !context.err.look().terminal) {
    context.say(fmt::format("this would {}: add --yes, or --dry-run to see some of them", what));
    return kExitUsage;
  }
  if (confirms(what + "?", context)) return std::nullopt;
  context.say("nothing was changed");
  return kExitOk;
}

std::string outcome_json(const BulkOperation& operation, std::string_view id) {
  json::Writer out;
  out.begin_object().key("state").string(name_of(operation.state)).key("done").number(operation.done);
  out.key("skipped").number(operation.skipped).key("failed").number(operation.failed);
  out.key("problems").begin_array();
  for (const BulkProblem& problem : operation.problems) {
    out.begin_object().key("id").string(problem.id.to_string());
    out.key("code").string(error_info(problem.code).name).key("message").string(problem.message).end_object();
  }
  out.end_array().key("bulk_id").string_or_null(id).end_object();
  return std::move(out).take();
}

bool has_moved(const BulkProblem& problem) {
  return problem.code == ErrorCode::kWrongState || problem.code == ErrorCode::kNotFound;
}

// By filter, what moved on meanwhile is nobody's mistake.
int exit_code_of(const BulkOperation& operation) {
  const bool by_filter = operation.order.filter.has_value();
  for (const BulkProblem& problem : operation.problems) {
    if (!by_filter || !has_moved(problem)) return error_info(problem.code).exit_code;
  }
  return operation.state == BulkState::kStopped ? kExitError : kExitOk;
}

int report(const BulkOperation& operation, std::string_view id, const BulkWords& words, Format format,
           Context& context) {
  if (format == Format::kJson) context.out.line(outcome_json(operation, id));
  context.say(fmt::format("{} {}", words.did, tasks(operation.done)));
  const std::int64_t left = operation.skipped + operation.failed;
  if (!operation.problems.empty()) {
    const BulkProblem& first = operation.problems.front();
    context.say(fmt::format("{} {}: {} ({})", tasks(left),
                            left == 1 ? "was left as it was" : "were left as they were; the first", first.message,
                            error_info(first.code).name));
  }
  if (operation.state == BulkState::kStopped) {
    const Verdict& stopped = operation.stopped;
    context.say(fmt::format("{} stopped the operation{}{}", stopped.by.empty() ? "somebody" : stopped.by,
                            stopped.why.empty() ? "" : ": ", stopped.why));
  }
  return exit_code_of(operation);
}

int say_interrupted(const BulkOperation& operation, const OpenedQueue& opened, Context& context) {
  const std::string id = operation.id.to_string();
  const std::string goes_on = opened.is_remote() ? "the server carries on with the operation"
                                                 : "the operation goes on as soon as a worker or server runs";
  context.say(
      fmt::format("interrupted; {}. `drover bulk wait {}` follows it, `drover bulk stop {}` ends it", goes_on, id, id));
  return kExitInterrupted;
}

}  // namespace

BulkWords words_of(BulkVerb verb) {
  switch (verb) {
    case BulkVerb::kCancel:
      return {"cancel", "cancelled"};
    case BulkVerb::kRetry:
      return {"retry", "retried"};
    case BulkVerb::kEdit:
      return {"change", "changed"};
    case BulkVerb::kEscalate:
      return {"escalate", "escalated"};
    case BulkVerb::kDelete:
      return {"delete", "deleted"};
  }
  return {};
}

void define_bulk_choice(Verb& verb, BulkChoice* choice, const std::string& all) {
  verb.tasks("ID", "", &choice->ids, "the tasks").several();
  verb.flag("--all", &choice->all, true, all);
  verb.flag("-y,--yes", &choice->yes, true, "do not ask for confirmation");
  verb.flag("--dry-run", &choice->dry_run, true, "say how many tasks match, show some, and change nothing");
  verb.check([choice, states = choice->filter.states.size()] { return check_choice(*choice, states); });
}

void define_task_filter(Verb& verb, TaskFilter* filter, const std::string& tag) {
  verb.value("--type", "T,T", &filter->type, read_names, "only these types");
  verb.value("--queue", "Q,Q", &filter->queue, read_names, "only these queues");
  verb.value("--owner", "O,O", &filter->owner, read_names, "only these owners");
  verb.value("--state", "S,S", &filter->states, read_states,
             "only these states: blocked scheduled pending running stalled completed failed cancelled");
  verb.value(tag, "T,T", &filter->tag, read_names, "only with any of these tags");
  verb.task("--spawner", "ID", &filter->parent_id, "only what this task spawned");
  verb.value("--worker", "ID", &filter->worker_id, read_text, "only what this worker runs, or ran last");
  verb.value("--model", "M", &filter->model, read_text, "only what asks for this model");
  verb.value("--agent-id", "ID", &filter->agent_id, read_text, "only what is for this agent");
  verb.value("--gate", "G", &filter->gate, read_gate, "only what has to pass this gate");
  verb.value("--since", "T", &filter->created_since, read_past_time,
             "only created then or later: RFC 3339, or how long ago: 2h");
  verb.value("--until", "T", &filter->created_until, read_past_time, "only created before then");
  verb.value("--finished-after", "T", &filter->finished_after, read_past_time, "only finished then or later");
  verb.value("--finished-before", "T", &filter->finished_before, read_past_time, "only finished before then");
  verb.value("--search", "TEXT", &filter->search, read_text,
             "only with this text in the prompt, the payload or the error");
  verb.value("--class", "C", &filter->error_class, read_error_class, "only with this class of error");
  verb.value("--fingerprint", "F", &filter->fingerprint, read_fingerprint, "only with errors of this kind");
  verb.value("--escalated", "yes|no", &filter->escalated, read_yes_or_no, "only escalated tasks, or only the others");
  verb.value("--id", "PREFIX", &filter->id_prefix, read_text, "only with ids that begin with this");
}

int run_bulk(OpenedQueue& opened, BulkOrder order, const BulkChoice& choice, const BulkWords& words, Format format,
             Context& context) {
  order.ids = choice.ids;
  if (order.ids.empty()) order.filter = choice.filter;
  TaskQueue& queue = opened.queue();
  const bool asks = order.filter && !choice.yes;
  if (choice.dry_run || asks) {
    const auto preview = queue.preview_bulk(order);
    if (!preview) return context.fail(preview.error());
    if (choice.dry_run) return show_dry_run(*preview, words, format, context);
    if (preview->matched > 0) {
      if (const auto ends = ask_first(*preview, words, context)) return *ends;
    }
  }
  auto started = queue.start_bulk(order);
  if (!started) return context.fail(started.error());
  return await_bulk(opened, *std::move(started), words, format, context);
}

int await_bulk(OpenedQueue& opened, BulkOperation operation, const BulkWords& words, Format format, Context& context) {
  const Interrupts interrupts;
  TaskQueue& queue = opened.queue();
  const auto end = [&]() -> Result<WatchEnd> {
    const UpkeepThread upkeep(opened);
    ProgressBar bar(context.err, std::string(words.did), operation.total);
    return watch(queue, std::nullopt, [&]() -> Result<Seen> {
      operation = TRY(queue.bulk_operation(operation.id));
      bar.show(operation.done + operation.skipped + operation.failed, system_clock().mono());
      return operation.state == BulkState::kRunning ? Seen::kNotYet : Seen::kDone;
    });
  }();
  if (!end) {
    const int exit_code = context.fail(end.error());
    context.say(fmt::format("`drover bulk show {}` says what became of the operation", operation.id.to_string()));
    return exit_code;
  }
  if (*end == WatchEnd::kInterrupted) return say_interrupted(operation, opened, context);
  return report(operation, operation.id.to_string(), words, format, context);
}

int report_one(const TaskId& id, const Status& outcome, const BulkWords& words, Format format, Context& context) {
  const bool may_be_repeated = !outcome && error_info(outcome.error().code).retryable == Retryable::kYes;
  if (may_be_repeated) return context.fail(outcome.error());
  BulkOperation alone{.state = BulkState::kCompleted};
  count_outcome(alone, id, outcome);
  return report(alone, {}, words, format, context);
}

}  // namespace drover::cli
