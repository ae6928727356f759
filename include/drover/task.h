// A task: one unit of work, from enqueue to a terminal state, and what belongs to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/ids.h"
#include "drover/time.h"

namespace drover {

enum class TaskState : std::uint8_t {
  kBlocked,    // waits for parents, or for answers to its questions
  kScheduled,  // waits for run_at
  kPending,    // waits for a worker
  kRunning,    // a worker holds its lease
  kStalled,    // its worker died: waits for another, at the head of its lane
  kCompleted,
  kFailed,
  kCancelled,
};
inline constexpr int kTaskStateCount = 8;

[[nodiscard]] std::string_view name_of(TaskState state);
[[nodiscard]] std::optional<TaskState> parse_task_state(std::string_view name);
[[nodiscard]] constexpr bool is_terminal(TaskState state) {
  return state == TaskState::kCompleted || state == TaskState::kFailed || state == TaskState::kCancelled;
}
[[nodiscard]] constexpr bool is_claimable(TaskState state) {
  return state == TaskState::kPending || state == TaskState::kStalled;
}

// Why a run or a task failed. One table (core/error_class.h) maps each to what follows.
enum class ErrorClass : std::uint8_t {
  kAgentError,
  kSyntax,
  kInvalid,
  kAuth,
  kBilling,
  kTimeout,
  kRateLimited,
  kQuotaExhausted,
  kOverloaded,
  kOom,
  kContextTooLong,
  kKilled,
  kSpawnFailed,
  kResultTooLarge,
  kVerifyFailed,    // the agent was done, but the command that checks its work failed
  kMaxTurns,        // the agent used up its turns
  kBudgetExceeded,  // a budget is used up
  kStalled,         // lost its lease more often than max_stalls allows
  kLost,            // at_most_once, and its lease was lost
  kDeadline,        // its deadline passed
  kParentFailed,    // a parent ended and on_parent_failure is fail
  kInvalidPayload,  // its payload breaks its type's schema, which has changed since it was taken
  kUnknownType,     // the policy knows no such type any more, and takes no others
  kSuspended,       // suspended more often than max_suspends allows
  kUnanswered,      // nobody answered its question before that expired
};
inline constexpr int kErrorClassCount = 25;

[[nodiscard]] std::string_view name_of(ErrorClass error_class);
[[nodiscard]] std::optional<ErrorClass> parse_error_class(std::string_view name);

// What happens to a task when a parent ends without completing.
enum class OnParentFailure : std::uint8_t { kCancel, kFail, kRun };

[[nodiscard]] std::string_view name_of(OnParentFailure policy);
[[nodiscard]] std::optional<OnParentFailure> parse_on_parent_failure(std::string_view name);

// What an enqueue does when a task of the same owner, type and dedupe_key is there already.
enum class DedupeMode : std::uint8_t {
  kSingleFlight,  // answers with one that has not ended
  kDrop,          // answers with any that was enqueued within the window
  kMerge,         // its payload is merged into one that has not started (JSON Merge Patch)
  kReplace,       // its payload replaces that of one that has not started
  kKeepLatest,    // at most one running and one waiting: the waiting one gets the new payload and keeps its place
};

[[nodiscard]] std::string_view name_of(DedupeMode mode);
[[nodiscard]] std::optional<DedupeMode> parse_dedupe_mode(std::string_view name);

// What an enqueue does when another task of the same session has not ended.
enum class BusyRule : std::uint8_t {
  kEnqueue,    // waits for its turn
  kReject,     // refuses with kSessionBusy
  kInterrupt,  // cancels the others, and runs once they have stopped
};

[[nodiscard]] std::string_view name_of(BusyRule rule);
[[nodiscard]] std::optional<BusyRule> parse_busy_rule(std::string_view name);

// When the next run of a failed task may start. Written KIND:ARGS, see parse_retry_policy.
struct RetryPolicy {
  enum class Kind : std::uint8_t { kExponential, kLinear, kFixed, kList };

  Kind kind = Kind::kExponential;
  Millis base{1000};
  double multiplier = 2;
  Millis cap{300'000};
  double jitter = 0.1;         // exponential only
  std::vector<Millis> delays;  // list only; the last one repeats

  bool operator==(const RetryPolicy&) const = default;
};

// exponential:BASE,MULTIPLIER,CAP[,JITTER] | linear:STEP (0, STEP, 2·STEP, …) | fixed:DELAY | list:D1,D2,…
[[nodiscard]] Result<RetryPolicy> parse_retry_policy(std::string_view text);
[[nodiscard]] std::string to_string(const RetryPolicy& policy);

inline constexpr int kPriorityMax = 9;
// 0 to 9, or critical/high/normal/low = 0/2/5/8, interactive/background = 2/7.
[[nodiscard]] Result<int> parse_priority(std::string_view text);

struct TaskError {
  ErrorClass error_class = ErrorClass::kAgentError;
  std::string message;

  bool operator==(const TaskError&) const = default;
};

// A dead letter that was handed to somebody. It stays failed, and waits for their verdict.
struct Escalation {
  std::string to;
  std::string by;
  std::string why;
  Time at{};

  bool operator==(const Escalation&) const = default;
};

struct Progress {
  int percent = 0;  // 0 to 100
  std::string message;

  bool operator==(const Progress&) const = default;
};

// JSON values are held as compact text, so that key order and number text survive exactly.
using JsonText = std::string;

struct Task {
  TaskId id;
  std::string type;
  std::string queue;
  std::string owner;
  TaskState state = TaskState::kPending;
  int priority = 5;

  // The body: fixed at enqueue, but for checkpoint and result. Absent where only the head was asked for (Parts::kHead).
  std::optional<JsonText> payload;
  std::optional<std::string> prompt;
  std::optional<std::string> system_prompt;
  std::optional<std::string> model;
  std::optional<std::string> repo;  // a repository by the name that workers have for it
  std::optional<std::string> base;  // what the work starts from: HEAD, a branch, a tag or a remote branch
  std::optional<std::string> agent_id;
  std::optional<std::string> source;
  std::optional<std::string> traceparent;
  std::optional<JsonText> fallback_result;
  std::optional<JsonText> bootstrap;      // {"key", "text"}: what its session is told once for each key
  std::optional<JsonText> budget;         // what all its runs together may spend: usd, tokens, turns, wall_ms
  std::optional<JsonText> tree_budget{};  // the same of it and all its descendants together: the gate tree:ID
  std::optional<JsonText> checkpoint;
  std::optional<JsonText> result;
  std::vector<std::string> tags;
  std::vector<TaskId> depends_on;

  std::optional<TaskId> parent_id;  // the task that spawned it
  std::optional<std::string> ref;   // its name inside the batch that made it
  std::optional<std::string> request_id;
  std::optional<std::string> dedupe_key;
  std::optional<DedupeMode> dedupe;
  std::vector<std::string>
      gates;  // its own: provider:P, session:O::S, lock:K. Those of its queue, type and owner go without saying
  std::int64_t cost = 1;  // units of the rates that it passes
  std::optional<Time> run_at;
  Time created_at{};
  std::optional<Time> started_at;  // of the latest run
  std::optional<Time> finished_at;
  std::optional<Time> deadline_at;

  int run = 0;  // the latest run's number; never reused
  int attempts = 0;
  int max_attempts = 3;
  int stalls = 0;
  int max_stalls = 3;
  int defers = 0;
  int max_defers = 100;
  int suspends = 0;
  int max_suspends = 20;
  int open_questions = 0;  // asked and not closed
  int generation = 1;      // an operator's retry opens the next one
  RetryPolicy retry;
  Millis timeout{3'600'000};
  Millis idle_timeout{600'000};
  OnParentFailure on_parent_failure = OnParentFailure::kCancel;
  bool at_most_once = false;
  bool templates = false;  // {{parents.REF.result.PATH}} in prompt and payload is filled in when a run starts

  std::optional<Progress> progress;
  std::optional<std::string> worker_id;
  std::optional<Time> cancel_requested_at;
  std::optional<std::string> cancel_reason;
  bool fallback = false;  // result is the fallback that was declared for a missed deadline
  std::optional<TaskError> error;
  std::optional<int> exit_code;
  std::optional<Escalation> escalation;
  std::optional<JsonText> agent;  // where its agent's session stands; core/run_report.h
  std::optional<JsonText> usage;  // of all its runs
  std::optional<JsonText> next;   // how its next run, or the one that runs, differs from the first

  bool operator==(const Task&) const = default;
};

// It has given way, and goes on once somebody has answered; it may wait for its parents besides.
[[nodiscard]] inline bool waits_for_answer(const Task& task) {
  return task.state == TaskState::kBlocked && task.open_questions > 0;
}

// The calls by which a worker ends a run.
enum class SettleKind : std::uint8_t { kComplete, kFail, kRelease, kCancelled, kSuspend };

// Which call of its worker ended a run, so that a repeat of the call is known for what it is.
struct RunSettlement {
  SettleKind kind = SettleKind::kComplete;
  TaskState state = TaskState::kPending;  // that the task went to
  LeaseId lease;

  bool operator==(const RunSettlement&) const = default;
};

// One earlier execution of a task, as the next one and the operator see it.
struct RunSummary {
  int run = 0;
  int generation = 1;
  std::string worker_id;
  Time started_at{};
  std::optional<Time> ended_at;  // absent while it runs
  std::string outcome;           // completed, retrying, failed, deferred, released, suspended, stalled, cancelled,
                                 // deadline_passed; empty while it runs
  std::optional<TaskError> error;
  std::optional<int> exit_code;
  std::optional<std::string> note;     // what the run left for the next one
  std::optional<JsonText> usage{};     // what its agent used
  std::optional<JsonText> change{};    // how it differed from the first run
  std::optional<JsonText> evidence{};  // of its check
  // None: it runs, or its worker had no say in its end. Stores keep it; it is in no answer of a server.
  std::optional<RunSettlement> settlement{};

  bool operator==(const RunSummary&) const = default;
};

// The record of one transition.
struct Event {
  std::int64_t seq = 0;
  Time at{};
  std::string name;  // "task.completed"
  TaskId task;
  std::string type;
  std::string queue;
  std::string owner;
  TaskState state = TaskState::kPending;  // after it
  int run = 0;
  int generation = 1;
  JsonText data;  // an object: what belongs to this kind of event

  bool operator==(const Event&) const = default;
};

// A parent of a task to be: one that is stored, or another task of the same batch by its ref.
using ParentRef = std::variant<TaskId, std::string>;

// Which stored tasks a new one may name, as parents or as its spawner.
enum class ParentScope : std::uint8_t {
  kAnyOwner,   // for operators, and for programs that open the store themselves
  kSameOwner,  // for everybody who acts for one owner: another owner's task does not exist
};

// What a caller says of a task to be. What is unset comes from its type, then from the defaults.
// Members have initialisers, so that callers may name only what they set without a warning.
struct TaskSpec {
  std::optional<TaskId> id{};
  std::optional<std::string> ref{};  // its name inside the batch
  std::string type{};
  std::optional<std::string> queue{};
  std::optional<std::string> owner{};
  std::optional<int> priority{};
  std::optional<JsonText> payload{};
  std::optional<std::string> prompt{};
  std::optional<std::string> system_prompt{};
  std::optional<std::string> model{};
  std::optional<std::string> repo{};
  std::optional<std::string> base{};
  std::optional<std::string> agent_id{};
  std::optional<std::string> source{};
  std::optional<std::string> traceparent{};
  std::vector<std::string> tags{};
  std::optional<TaskId> parent_id{};
  std::vector<ParentRef> depends_on{};
  std::optional<std::string> request_id{};
  // Of all that was asked for together with it under one key; part of what must be the same when the request id is used
  // again. Not in JSON: a server makes it.
  std::string request_digest{};
  std::optional<std::string> dedupe_key{};  // with a mode but no key: a hash of type and payload
  std::optional<DedupeMode> dedupe{};
  std::optional<Millis> dedupe_window{};  // of kDrop; 5 minutes unless set
  std::vector<std::string> locks{};       // only one task at a time holds each of them
  std::optional<std::string> session{};   // only one task at a time runs in it; drover/session.h
  std::optional<JsonText> bootstrap{};    // {"key", "text"}; needs a session
  std::optional<BusyRule> busy{};         // kEnqueue unless set; needs a session
  std::optional<std::int64_t> cost{};
  std::optional<Millis> delay{};  // not together with run_at
  std::optional<Time> run_at{};
  std::optional<Millis> deadline{};  // from the enqueue; not together with deadline_at
  std::optional<Time> deadline_at{};
  std::optional<int> max_attempts{};
  std::optional<int> max_stalls{};
  std::optional<int> max_defers{};
  std::optional<int> max_suspends{};
  std::optional<RetryPolicy> retry{};
  std::optional<Millis> timeout{};
  std::optional<Millis> idle_timeout{};
  std::optional<OnParentFailure> on_parent_failure{};
  std::optional<bool> at_most_once{};
  std::optional<bool> templates{};
  std::optional<JsonText> fallback_result{};
  std::optional<JsonText> budget{};
  std::optional<JsonText> tree_budget{};  // only of a task that no other spawns
  ParentScope parent_scope{};             // not in JSON: the caller's rights decide it

  bool operator==(const TaskSpec&) const = default;
};

}  // namespace drover
