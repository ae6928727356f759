// Cascade: everything that follows from one cause, gathered as the steps of one group.
//
// A task that ends releases or ends its dependents; a cancel goes down to the children; an operator's retry brings back
// what the task's end had ended. All of it is decided here, from records, and applied by the store in one step.
#pragma once

#include <memory_resource>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "core/policy.h"
#include "core/transition.h"
#include "store/store.h"

namespace drover {

// What a record has beside its head (Parts::kHead), but for what a run leaves: some stores write all of it when a step
// writes any.
void copy_body(const Task& from, Task& to);

// Records as they will be once the groups decided so far are applied. Spares the groups of one batch from
// conflicting with each other: the second settles on top of the first.
class RecordView {
 public:
  explicit RecordView(Store& store) : store_(store) {}

  // Null: there is no such task. Good until put() or another reading of the same record.
  [[nodiscard]] Result<const TaskRecord*> find_head(const TaskId& id);
  // Heads, or whole records; a record that was decided on comes as decided.
  [[nodiscard]] Result<std::optional<TaskRecord>> find(const TaskId& id, Parts parts);
  [[nodiscard]] Result<std::vector<TaskRecord>> dependents(const TaskId& parent);
  [[nodiscard]] Result<std::vector<TaskRecord>> children(const TaskId& spawner);
  [[nodiscard]] Result<std::vector<QuestionRecord>> questions_of(const TaskId& task) {
    return store_.questions_of(task);
  }
  // Reads many at once, so that find() needs no further call for them.
  [[nodiscard]] Status prefetch(std::span<const TaskId> ids);
  // Hands a record over that find_head() has found; the next find reads it again.
  [[nodiscard]] TaskRecord take(const TaskId& id);
  [[nodiscard]] bool contains(const TaskId& id) const { return known_.contains(id); }
  void put(TaskRecord record) {
    const TaskId id = record.task.id;
    known_[id] = std::move(record);
  }

 private:
  Result<std::vector<TaskRecord>> overlay(Result<std::vector<TaskRecord>> stored);

  Store& store_;
  std::unordered_map<TaskId, std::optional<TaskRecord>> known_;
};

// What one atomic step may touch at most; beyond it a sweeper goes on (TaskRecord::cascade_due).
inline constexpr std::size_t kCascadeStepsMax = 10'000;

class Cascade {
 public:
  Cascade(RecordView& view, Rng& rng, const Policy& policy, Time now)
      : view_(view), rng_(rng), policy_(policy), now_(now) {}

  // Decides this trigger for this record, and all that follows from it for others.
  [[nodiscard]] Status run(TaskRecord record, const Trigger& trigger);
  // Goes on where a cascade had grown too large for one step.
  [[nodiscard]] Status resume(const TaskRecord& record);
  // A step that was decided elsewhere; nothing follows from it.
  void add(Step&& step);
  // The same of a question; what its task makes of it is decided by run().
  void add(QuestionStep&& step) { questions_.push_back(std::move(step)); }
  // A task that was decided on depends on this one from now on, or was spawned by it. The store does not know that yet.
  void add_dependent(const TaskId& parent, const TaskId& dependent) { joined_[parent].push_back(dependent); }
  void add_child(const TaskId& spawner, const TaskId& child) { spawned_[spawner].push_back(child); }
  // For so many steps: each is large to move.
  void reserve(std::size_t steps);

  [[nodiscard]] const TaskRecord* decided(const TaskId& id) const;
  // What is decided so far; good until something more is.
  [[nodiscard]] std::span<const Step> steps() const { return steps_; }
  // The tasks that this cascade ended as cancelled, and the running ones that it asked to stop.
  [[nodiscard]] int cancelled() const;
  [[nodiscard]] int cancel_requested() const;
  // Hands the steps over and tells the view.
  [[nodiscard]] StepGroup take();
  // The same when nothing is decided by the view any more.
  [[nodiscard]] StepGroup take_last();

 private:
  enum class Cause : std::uint8_t { kEnded, kRetried };
  struct Follow {
    TaskId id;
    Cause cause;
  };

  Result<Step> decide_on(TaskRecord record, const Trigger& trigger);
  // What an ended task asked needs no answer any more.
  Status withdraw_questions(Step& ended);
  // As add(); and if the step ends its task, what its type wants to follow.
  void add_decided(Step&& step);
  Status follow_all();
  Status follow(const Follow& what);
  Status follow_ended(const TaskRecord& record);
  Status follow_end(const TaskRecord& ended);
  Result<std::vector<TaskRecord>> children_to_cancel(const TaskRecord& record);
  Status cancel_children(const TaskRecord& cancelled, std::span<const TaskRecord> children);
  Status follow_retry(const TaskRecord& retried);
  Status revive(const TaskRecord& dependent, const TaskId& parent);

  RecordView& view_;
  Rng& rng_;
  const Policy& policy_;
  Time now_;
  std::vector<Step> steps_;
  // Of each step, when it last had something to tell: a task that is touched twice is told of after what touched it
  // last.
  std::vector<std::size_t> told_;
  std::size_t tellings_ = 0;
  std::pmr::monotonic_buffer_resource index_memory_;
  std::pmr::unordered_map<TaskId, std::size_t> index_{&index_memory_};  // of its step
  std::vector<Follow> to_follow_;
  std::vector<QuestionStep> questions_;
  using NewRelatives = std::unordered_map<TaskId, std::vector<TaskId>>;
  void append_decided(const NewRelatives& relatives, const TaskId& of, std::vector<TaskRecord>& records) const;

  NewRelatives joined_;   // dependents that are new, by their parent
  NewRelatives spawned_;  // children that are new, by their spawner
};

// Whether a parent in this state counts as done for a task with this policy.
[[nodiscard]] bool parent_is_done(TaskState parent, OnParentFailure policy);

}  // namespace drover
