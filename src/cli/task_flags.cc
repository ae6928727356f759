#include "cli/task_flags.h"

#include <fmt/format.h>

#include <ranges>

#include "base/text.h"
#include "base/try.h"
#include "core/budget.h"

namespace drover::cli {
namespace {

Status check_task(const TaskArguments& task) {
  if (task.spec.dedupe_window && task.spec.dedupe != DedupeMode::kDrop)
    return complaint("--dedupe-window", "only --dedupe drop uses a window; add it, or leave this out");
  if (!task.spec.session && (task.spec.busy || task.bootstrap))
    return complaint(task.spec.busy ? "--busy" : "--bootstrap", "is about a session; name it with --session");
  if (task.spec.delay && task.spec.run_at) return complaint("--delay and --at", "give one of them");
  return {};
}

// "usd=3,turns=80,wall=45m" as the budget of a task.
Result<JsonText> read_budget(std::string_view text) {
  BudgetShares shares{};
  for (const auto piece : std::views::split(text, ',')) {
    const std::string_view part(piece.begin(), piece.end());
    const std::size_t equals = part.find('=');
    const auto unit = parse_budget_unit(part.substr(0, equals));
    if (!unit || equals == std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument, "expected UNIT=AMOUNT,... with the units usd, tokens, turns and wall");
    }
    std::optional<std::int64_t>& share = shares[std::to_underlying(*unit)];
    if (share) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is given twice", name_of(*unit)));
    share = TRY(parse_amount(*unit, part.substr(equals + 1)));
    if (*share == 0) return fail(ErrorCode::kInvalidArgument, fmt::format("{} must be more than 0", name_of(*unit)));
  }
  return task_budget_json(shares);
}

}  // namespace

void define_task(Verb& verb, TaskArguments* task) {
  TaskSpec* spec = &task->spec;
  verb.value("--payload", "JSON|@FILE|-", &task->payload, read_text, "the task's input: JSON, a file or stdin");
  verb.value("--prompt", "TEXT", &spec->prompt, read_text, "what the agent is asked");
  verb.value("--system-prompt", "TEXT", &spec->system_prompt, read_text, "what the agent is told before anything else");
  verb.value("--model", "M", &spec->model, read_text, "which model the agent uses");
  verb.value("--repo", "NAME", &spec->repo, read_text,
             "work on this repository: a name under local.repos of the workers");
  verb.value("--base", "REF", &spec->base, read_text, "start from this branch or tag of the repository");
  verb.value("--queue", "Q", &spec->queue, read_name,
             "the queue it waits in; default: the type's queue, or one named like the type");
  verb.value("--owner", "O", &spec->owner, read_name, "the user or project that it runs for");
  verb.value("--priority", "P", &spec->priority, parse_priority, "0 (first) to 9, or critical, high, normal, low");
  verb.value("--delay", "D", &spec->delay, parse_duration, "wait at least this long from now: 500ms, 30s, 2h");
  verb.value("--at", "T", &spec->run_at, parse_time, "start no earlier than this time (RFC 3339)");
  verb.tasks("--after", "ID", &spec->depends_on, "start when this task has completed");
  verb.value("--on-parent-failure", "cancel|fail|run", &spec->on_parent_failure, read_on_parent_failure,
             "what to do if that task does not complete");
  verb.value("--ref", "NAME", &spec->ref, read_name, "a name by which tasks that depend on it know it");
  verb.flag("--templates", &spec->templates, true,
            "fill {{parents.REF.result.PATH}} in prompt and payload at its start");
  verb.value("--request-id", "R", &spec->request_id, read_name, "a repeated request returns the same task");
  verb.value("--dedupe-key", "K", &spec->dedupe_key, read_name, "tasks with the same key are duplicates");
  verb.value("--dedupe", "single_flight|drop|merge|replace|keep_latest", &spec->dedupe, read_dedupe_mode,
             "what to do with a duplicate; without --dedupe-key, type and payload are the key");
  verb.value("--dedupe-window", "D", &spec->dedupe_window, read_time_limit,
             "how long --dedupe drop remembers; default 5m");
  verb.list("--lock", "K", &spec->locks, read_name, "hold this lock while running; only one task at a time can");
  verb.value("--session", "S", &spec->session, read_name,
             "run in this session of the owner, one task at a time; the agent goes on where it was");
  verb.value("--busy", "enqueue|reject|interrupt", &spec->busy, read_busy_rule,
             "what to do while another task of the session has not ended; default enqueue");
  verb.value("--bootstrap", "KEY=TEXT", &task->bootstrap, read_text,
             "what the session is told before the prompt, once for each key");
  verb.value(
      "--cost", "N", &spec->cost, [](std::string_view text) { return read_integer(text, kCostBounds); },
      "how much of each rate limit it uses; default 1");
  verb.list("--tag", "T", &spec->tags, read_name, "a label to find it by");
  verb.value("--max-attempts", "N", &spec->max_attempts, integer_between(kMaxAttemptsBounds),
             "how many attempts it gets before it fails");
  verb.value("--retry", "KIND:ARGS", &spec->retry, parse_retry_policy,
             "delays between attempts: exponential:1s,2,300s, linear:60ms, fixed:1s or list:1s,5s,30s");
  verb.value("--timeout", "D", &spec->timeout, read_time_limit, "how long one run may take");
  verb.value("--idle-timeout", "D", &spec->idle_timeout, read_time_limit,
             "how long a run may go without output or progress");
  verb.value("--deadline", "D", &spec->deadline, read_time_limit, "how long it may take from now, over all its runs");
  verb.value("--fallback", "JSON", &task->fallback, read_text, "its result if the deadline passes");
  verb.value("--budget", "usd=D,tokens=N,turns=N,wall=D", &spec->budget, read_budget,
             "what all its runs together may spend: usd=3,turns=80,wall=45m");
  verb.value("--tree-budget", "usd=D,...", &spec->tree_budget, read_budget,
             "what it and all that it spawns may spend together");
  verb.flag("--at-most-once", &spec->at_most_once, true, "never run it twice, even if a worker dies");
  verb.check([task] { return check_task(*task); });
}

}  // namespace drover::cli
