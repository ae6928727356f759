// The writes of one step: the record, its body and indexes, its history of runs, its events and the counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/step.h"
#include "store/sqlite/new_task_table.h"
#include "store/sqlite/transaction.h"

namespace drover::sqlite {

// What is stored of a task, as far as a step is checked against it or changes it.
struct Stored {
  std::int64_t seq = 0;
  std::int64_t revision = 0;
  std::int64_t lease_beats = 0;
  TaskState state = TaskState::kPending;
  int priority = 0;
  std::int64_t place = 0;
  std::optional<std::int64_t> lane;  // in which it waits
  std::optional<Time> started_at;
  std::int64_t held_bytes = 0;
  bool may_be_late = false;  // it has a deadline ahead
  std::int64_t result_bytes = 0;
};
[[nodiscard]] std::optional<Stored> find_stored(Connection& db, const TaskId& id);

// New tasks, without the index rows of their parents. Their ids and request ids must be free.
class NewTasks {
 public:
  explicit NewTasks(Transaction& transaction) : transaction_(transaction) {}

  // Returns its seq. The step must outlive the next write().
  std::int64_t add(const Step& step);
  // The rows of those that were added: before anything looks for them.
  void write();

 private:
  // What tasks of one owner, type and so on have in common.
  struct Kind {
    const Task* like;
    std::optional<std::int64_t> lane;  // once one of them had to wait
    CountChanges::States* counts;
  };
  Kind& kind_of(const Task& task);

  Transaction& transaction_;
  std::vector<NewTask> rows_;
  bool are_like_tasks_ = true;                        // whether insert_like_tasks may write the rows
  bool are_like_bodies_ = true;                       // whether insert_like_bodies may
  std::unordered_map<std::string_view, Kind> kinds_;  // by owner: of the task that was added last
};
// `parents` are the seqs of its depends_on.
void insert_dependencies(Transaction& transaction, std::int64_t child, const std::vector<std::int64_t>& parents);
// Ends a run by what the claim that began it remembers of the task, if the step asks for that and the row is as it was
// then.
[[nodiscard]] bool complete_as_claimed(Transaction& transaction, const Step& step);
// The next state of a stored task, but for the start of a run.
void update_task(Transaction& transaction, const Stored& stored, const Step& step);
void delete_task(Transaction& transaction, const Stored& stored, const Step& step);

// A task as a claim finds it, in this very transaction.
struct Startable {
  std::int64_t seq = 0;
  TaskState state = TaskState::kPending;
  std::int64_t held_bytes = 0;
  std::optional<JsonText> last_run;  // packed
};
struct LeaseTimes {
  MonoTime until;
  MonoTime renewed;
};
// Its lane is left to the caller.
void start_task(Transaction& transaction, const Startable& task, const Step& step, const LeaseTimes& lease);

}  // namespace drover::sqlite
