// The life of a task: a table of state × trigger, and the one function that decides by it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "core/error_class.h"
#include "core/policy.h"
#include "core/step.h"
#include "core/usage.h"
#include "drover/task_queue.h"

namespace drover {

// What happens to a task. The engine checks leases before it asks; the rules only look at states and counters.
namespace trigger {
struct ParentDone {};  // one parent completed
struct ParentEnded {   // one parent failed or was cancelled
  TaskId parent;
};
struct Due {};
struct Claim {
  LeaseId lease;
  std::string worker_id;
};
struct Report {  // a run says what it has used, and goes on
  RunReport report;
};
struct Complete {
  Completion completion;
  RunReport report{};
};
struct Fail {
  Failure failure;
  RunReport report{};
};
struct Release {
  Begun begun = Begun::kMaybe;
  RunReport report{};
};
struct Suspend {                   // its process tree is dead; the record must be whole
  std::vector<TaskId> children{};  // that it awaits from now on and did not before
  int unmet_parents = 0;           // of all that it then depends on
  std::optional<int> exit_code{};
  RunReport report{};
};
struct ConfirmCancel {  // its process tree is dead
  std::optional<int> exit_code;
  RunReport report{};
};
struct LeaseLost {};
struct Cancel {
  std::string reason;
  std::string by{};  // empty: it is not known
};
struct Deadline {};
struct Edit {  // of a task that waits; what is unset stays
  std::optional<int> priority{};
  std::optional<Time> run_at{};
  std::optional<JsonText> payload{};  // checked
  std::optional<std::vector<std::string>> tags{};
};
struct Retry {            // by an operator; the record must be whole
  int unmet_parents = 0;  // of those that it was given: the children of earlier generations are let go
  Verdict verdict{};
  std::optional<JsonText> payload{};  // that replaces the old one
  std::optional<Time> run_at{};
};
struct ParentRetried {  // the parent whose end ended it, or whose end it counted as done, runs again
  int unmet_parents = 0;
};
struct Escalate {
  EscalateOrder order;
};
struct Delete {
  Verdict verdict;
};
}  // namespace trigger

using Trigger = std::variant<trigger::ParentDone, trigger::ParentEnded, trigger::Due, trigger::Claim, trigger::Report,
                             trigger::Complete, trigger::Fail, trigger::Release, trigger::Suspend,
                             trigger::ConfirmCancel, trigger::LeaseLost, trigger::Cancel, trigger::Deadline,
                             trigger::Edit, trigger::Retry, trigger::ParentRetried, trigger::Escalate, trigger::Delete>;
inline constexpr int kTriggerCount = 18;
static_assert(std::variant_size_v<Trigger> == kTriggerCount);

[[nodiscard]] std::string_view name_of(const Trigger& trigger);

// What a trigger does to a task in one state.
enum class Rule : std::uint8_t {
  kRefuse,       // wrong_state, nothing changes
  kMeetParent,   // one parent less to wait for; ready when it was the last
  kEndByParent,  // as on_parent_failure says
  kMakePending,  // to the tail of its lane
  kStart,        // running: new lease, run + 1, attempts + 1
  kReport,       // running as before: what it used is booked
  kComplete,
  kFail,      // retry, defer or dead letter by the class table and the counters
  kGiveBack,  // pending at its lane's head, attempt given back
  kSuspend,   // waits for its children, attempt given back; comes back at its lane's tail
  kConfirmCancel,
  kStall,  // stalled at its lane's head, attempt given back; dead letter past max_stalls
  kCancelNow,
  kRequestCancel,  // running: flagged, cancelled when its tree is dead
  kMissDeadline,   // completed with the fallback, or failed
  kEdit,           // what an operator or producer may still change
  kReopen,         // counters reset, next generation, as at enqueue
  kRevive,         // as kReopen, if a parent's end had ended it; blocked again, if it had counted that end as done
  kEscalate,       // failed as before, with a name on it
  kDelete,         // gone, once its dependents know of its end
};

using TransitionTable = std::array<std::array<Rule, kTaskStateCount>, kTriggerCount>;
// [trigger index][state]
[[nodiscard]] const TransitionTable& transition_table();

struct DecisionContext {
  Time now{};
  double unit = 0;                     // uniform in [0, 1), for jitter
  const TypePolicy* type = nullptr;    // of the task; the defaults if null
  const PriceTable* prices = nullptr;  // of models; none if null
  bool budgeted = false;               // gates of the task have budgets: what its run spent is to be booked there
};

// Whether a run of this task that asks to suspend does so; else it ends in another way, or is refused.
[[nodiscard]] bool may_suspend(const Task& task);
// Whether a task may wait for this one: a child that it spawned since an operator's retry began it anew.
[[nodiscard]] Status check_awaited(const TaskRecord& waiter, const TaskRecord& child);
// The parents that a task was given, without the children that it awaited. The record must be whole.
[[nodiscard]] std::span<const TaskId> given_parents(const TaskRecord& record);

// What follows from `trigger` for a task in this state, or kWrongState. For Complete the result is in the step's task.
// For Edit the record must be whole, and a step without events changes nothing.
// Pure: same arguments, same answer.
[[nodiscard]] Result<Step> decide(TaskRecord record, const Trigger& trigger, const DecisionContext& context);

// What the worker of a lost run reports too late changes nothing; the event log tells of it, once for each lost run.
// None: the lease is of no such run.
[[nodiscard]] std::optional<Step> refuse_late_result(TaskRecord record, const Settlement& late);

// The first step of a new task: blocked, scheduled or pending by its parents and run_at. `record` has every other field
// set; unmet_parents counts the parents that are not done.
[[nodiscard]] Step first_step(TaskRecord record, const DecisionContext& context);
// The same where the record stands in its step already: one is large to move.
void begin_first_step(Step& step, const DecisionContext& context);

}  // namespace drover
