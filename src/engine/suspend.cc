#include "engine/suspend.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/planted_bug.h"
#include "base/try.h"

namespace drover {
namespace {

// Whether a task may still come to wait for a parent. What waits in line or runs has its parents behind it, unless one
// that failed counts as done: that may be tried again.
bool may_wait_for_parents(const Task& task) {
  switch (task.state) {
    case TaskState::kCompleted:
      return false;
    case TaskState::kBlocked:
    case TaskState::kFailed:
    case TaskState::kCancelled:
      return true;
    case TaskState::kScheduled:
    case TaskState::kPending:
    case TaskState::kRunning:
    case TaskState::kStalled:
      return task.on_parent_failure == OnParentFailure::kRun;
  }
  return true;
}

class Awaiting {
 public:
  Awaiting(RecordView& view, Cascade& cascade, const Policy& policy, TaskRecord waiter)
      : view_(view), cascade_(cascade), policy_(policy), waiter_(std::move(waiter)) {}

  Status decide(const Suspend& suspend, const RunReport& report) {
    trigger::Suspend trigger{.exit_code = suspend.exit_code, .report = report};
    TRY(add_body());
    if (!may_suspend(waiter_.task)) return cascade_.run(std::move(waiter_), trigger);
    const auto children = TRY(this->children(suspend));
    TRY(join(children, trigger));
    TRY(look_for_circle());
    const TaskId id = waiter_.task.id;
    TRY(cascade_.run(std::move(waiter_), trigger));
    for (const TaskId& child : trigger.children) cascade_.add_dependent(child, id);
    for (TaskRecord& record : relied_on_) {
      if (!planted(PlantedBug::kAwaitsUnguarded)) guard(std::move(record));
    }
    if (!ended_) return {};
    const TaskRecord blocked = *cascade_.decided(id);
    return cascade_.run(blocked, trigger::ParentEnded{*ended_});
  }

 private:
  Status add_body() {
    const std::optional<TaskRecord> whole = TRY(view_.find(waiter_.task.id, Parts::kAll));
    if (!whole) return fail(ErrorCode::kNotFound, fmt::format("there is no task {}", waiter_.task.id.to_string()));
    copy_body(whole->task, waiter_.task);
    return {};
  }

  // As this cascade leaves it; none if retention took it.
  Result<std::optional<TaskRecord>> current(const TaskId& id) {
    if (const TaskRecord* decided = cascade_.decided(id)) return *decided;
    return view_.find(id, Parts::kHead);
  }

  Result<std::vector<TaskRecord>> children(const Suspend& suspend) {
    std::vector<TaskRecord> found;
    if (!suspend.children) {
      if (waiter_.children == 0) return found;
      auto all = TRY(view_.children(waiter_.task.id));
      for (TaskRecord& child : all) {
        if (const TaskRecord* decided = cascade_.decided(child.task.id)) child = *decided;
        if (check_awaited(waiter_, child)) found.push_back(std::move(child));
      }
      return found;
    }
    TRY(view_.prefetch(*suspend.children));
    for (const TaskId& id : *suspend.children) {
      auto child = TRY(current(id));
      if (!child) return fail(ErrorCode::kUnknownParent, fmt::format("child {} does not exist", id.to_string()));
      TRY(check_awaited(waiter_, *child));
      found.push_back(*std::move(child));
    }
    return found;
  }

  // Counts what it waits for: children, and whatever else of its parents is not done.
  Status join(const std::vector<TaskRecord>& children, trigger::Suspend& trigger) {
    TRY(view_.prefetch(waiter_.task.depends_on));
    for (const TaskId& id : waiter_.task.depends_on) {
      auto parent = TRY(current(id));
      seen_.insert(id);
      if (parent && parent->task.state != TaskState::kCompleted) count(*std::move(parent), trigger);
    }
    for (TaskRecord child : children) {
      if (!seen_.insert(child.task.id).second) continue;
      if (child.dependents >= policy_.limits.dependents) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("child {} has {} dependents; more are not taken",
                                                             child.task.id.to_string(), child.dependents));
      }
      child.dependents += 1;
      trigger.children.push_back(child.task.id);
      count(std::move(child), trigger);
    }
    return {};
  }

  void count(TaskRecord parent, trigger::Suspend& trigger) {
    const TaskState state = parent.task.state;
    if (!parent_is_done(state, waiter_.task.on_parent_failure)) {
      ++trigger.unmet_parents;
      if (is_terminal(state) && !ended_) ended_ = parent.task.id;
    }
    relied_on_.push_back(std::move(parent));
  }

  // Through everything that its parents depend on and that may still wait; what has completed never will.
  Status look_for_circle() {
    const std::size_t parents = relied_on_.size();
    for (std::size_t i = 0; i < relied_on_.size(); ++i) {
      if (!may_wait_for_parents(relied_on_[i].task)) continue;
      if (i >= parents + kAwaitedWalkMax) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("the children of task {} depend on more than {} tasks",
                                                             waiter_.task.id.to_string(), kAwaitedWalkMax));
      }
      TRY(look_behind(relied_on_[i].task.id));
    }
    return {};
  }

  Result<std::vector<TaskId>> parents_of(const TaskId& id) {
    // One that suspends in the same call has parents that the store does not know yet.
    const TaskRecord* decided = cascade_.decided(id);
    if (decided != nullptr && !decided->task.depends_on.empty()) return decided->task.depends_on;
    const std::optional<TaskRecord> whole = TRY(view_.find(id, Parts::kAll));
    return whole ? whole->task.depends_on : std::vector<TaskId>{};
  }

  Status look_behind(const TaskId id) {
    const auto parents = TRY(parents_of(id));
    for (const TaskId& parent : parents) {
      if (parent == waiter_.task.id) {
        return fail(ErrorCode::kCycle, fmt::format("task {} cannot wait for its children: {} depends on it",
                                                   waiter_.task.id.to_string(), id.to_string()));
      }
      if (!seen_.insert(parent).second) continue;
      auto record = TRY(current(parent));
      if (record && record->task.state != TaskState::kCompleted) relied_on_.push_back(*std::move(record));
    }
    return {};
  }

  // None of these may move between the look at it and the commit: a child that ended would not be told that somebody
  // waits, and two tasks could come to wait for each other.
  void guard(TaskRecord record) {
    Step step;
    step.expected_revision = record.revision;
    step.next = std::move(record);
    cascade_.add(std::move(step));
  }

  RecordView& view_;
  Cascade& cascade_;
  const Policy& policy_;
  TaskRecord waiter_;
  std::vector<TaskRecord> relied_on_;  // with this task counted among their dependents
  std::unordered_set<TaskId> seen_;
  std::optional<TaskId> ended_;  // a parent whose end ends the waiter
};

}  // namespace

Status suspend_task(RecordView& view, Cascade& cascade, const Policy& policy, const TaskRecord& waiter,
                    const Suspend& suspend, const RunReport& report) {
  return Awaiting(view, cascade, policy, waiter).decide(suspend, report);
}

}  // namespace drover
