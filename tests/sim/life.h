// One task's life as an outsider expects it: the transition table of the design, written a second time.
//
// Fed with the task's events in order. Every event must be one that its state allows, and what the store's row says
// afterwards must be what the events add up to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/task_record.h"
#include "drover/task.h"

namespace drover::sim {

struct Wrong {
  std::string check;  // which promise: "P5 one end"
  std::string what;
};

class Life {
 public:
  // `given` is the whole task as it was first seen; `number` is the one in its payload.
  Life(Task given, int number);

  // Nothing: as it should be. `place_at_tail` is the place of who joins the line now; `wall_max` the latest that the
  // store's clock has ever shown: a time that was reached once was reached, though the clock be set back.
  [[nodiscard]] std::optional<Wrong> apply(const Event& event, std::int64_t place_at_tail, Time wall_max);
  // The row after the events that were applied. Times are decided a little before they are committed: `slack` says how
  // much.
  [[nodiscard]] std::optional<Wrong> compare(const TaskRecord& row, Millis slack);

  [[nodiscard]] const Task& given() const { return given_; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] TaskState state() const { return state_; }
  [[nodiscard]] int generation() const { return generation_; }
  [[nodiscard]] int run() const { return run_; }
  [[nodiscard]] int open_questions() const { return static_cast<int>(open_questions_.size()); }
  [[nodiscard]] std::int64_t place() const { return place_; }
  [[nodiscard]] bool cancel_requested() const { return cancel_requested_; }
  [[nodiscard]] bool deleted() const { return deleted_; }
  [[nodiscard]] std::optional<Time> deadline_at() const { return deadline_at_; }
  [[nodiscard]] std::optional<Time> run_at() const { return run_at_; }
  [[nodiscard]] std::optional<Time> finished_at() const { return finished_at_; }
  // How a run ended: the last word of the event's name. Nothing while it runs.
  [[nodiscard]] const std::string* end_of_run(int run) const;
  // What it waits for: the parents that it was given, and the children that it suspended for.
  [[nodiscard]] const std::vector<TaskId>& parents() const { return parents_; }
  // It suspended for this one; false: it did before.
  bool await(const TaskId& child);
  // Whether a task with this policy need not wait for it any longer.
  [[nodiscard]] bool is_done_for(OnParentFailure policy) const;

 private:
  using Rule = std::optional<Wrong> (Life::*)(const Event&);
  static const std::map<std::string, Rule, std::less<>>& rules();

  std::optional<Wrong> on_enqueued(const Event& event);
  std::optional<Wrong> on_unblocked(const Event& event);
  std::optional<Wrong> on_due(const Event& event);
  std::optional<Wrong> on_claimed(const Event& event);
  std::optional<Wrong> on_progressed(const Event& event);
  std::optional<Wrong> on_completed(const Event& event);
  std::optional<Wrong> on_retrying(const Event& event);
  std::optional<Wrong> on_failed(const Event& event);
  std::optional<Wrong> on_deferred(const Event& event);
  std::optional<Wrong> on_released(const Event& event);
  std::optional<Wrong> on_suspended(const Event& event);
  std::optional<Wrong> on_stalled(const Event& event);
  std::optional<Wrong> on_cancel_requested(const Event& event);
  std::optional<Wrong> on_cancelled(const Event& event);
  std::optional<Wrong> on_deadline_passed(const Event& event);
  std::optional<Wrong> on_retried(const Event& event);
  std::optional<Wrong> on_revived(const Event& event);
  std::optional<Wrong> on_escalated(const Event& event);
  std::optional<Wrong> on_result_refused(const Event& event);
  std::optional<Wrong> on_updated(const Event& event);
  std::optional<Wrong> on_deleted(const Event& event);
  std::optional<Wrong> on_asked(const Event& event);
  std::optional<Wrong> on_handed_over(const Event& event);
  std::optional<Wrong> on_question_closed(const Event& event);

  [[nodiscard]] std::optional<Wrong> compare_times(const Task& task, Millis slack);
  [[nodiscard]] std::optional<Wrong> compare_end(const TaskRecord& row);
  [[nodiscard]] std::optional<Wrong> refuse(const Event& event, std::string check, std::string why) const;
  std::optional<Wrong> end_run(const Event& event, std::string_view outcome);
  std::optional<Wrong> finish(const Event& event);
  std::optional<Wrong> failed_run(const Event& event, const std::string& error_class);
  [[nodiscard]] std::optional<Wrong> check_delay(const Event& event, Millis delay) const;
  void reopen(const Event& event);
  void to_tail() { place_ = tail_; }
  void expect_at(std::optional<Time> run_at) {
    run_at_ = run_at;
    due_by_.reset();
  }
  [[nodiscard]] bool too_early() const { return run_at_ && *run_at_ > wall_max_; }

  Task given_;
  std::vector<TaskId> parents_ = given_.depends_on;
  int number_;
  TaskState state_ = TaskState::kBlocked;
  int generation_ = 0;  // 0: not enqueued yet
  int run_ = 0;
  int attempts_ = 0;
  int stalls_ = 0;
  int defers_ = 0;
  int suspends_ = 0;
  std::set<std::string> open_questions_;  // their ids
  std::int64_t place_ = 0;
  std::int64_t tail_ = 0;
  Time wall_max_{};
  std::optional<Time> run_at_;
  std::optional<Time> due_by_;  // it became due while its time was open: the row must say one that is no later
  std::optional<Time> deadline_at_;
  std::optional<Time> finished_at_;
  bool cancel_requested_ = false;
  bool released_at_once_ =
      false;  // stored with parents that a task of the same batch may end: both events show the end
  bool deleted_ = false;
  bool counters_open_ = false;  // the events alone do not tell the counters: the row does, within bounds
  bool times_open_ = false;     // the same of run_at, deadline_at and finished_at
  std::map<int, std::string> closed_runs_;
  std::set<int> refused_runs_;  // whose late results were told of
  std::optional<std::string> escalated_to_;
  std::optional<TaskRecord> ended_;  // the row's head as it was first seen after the end
  std::optional<std::optional<JsonText>> ended_result_;
  std::int64_t revision_ = 0;
};

}  // namespace drover::sim
