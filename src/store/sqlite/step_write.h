// The writes of one step: the record, its body and indexes, its history of runs, its events and the counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/step.h"
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
  std::optional<std::string> worker_id;
  std::int64_t held_bytes = 0;
  bool may_be_late = false;  // it has a deadline ahead
  std::int64_t result_bytes = 0;
};
[[nodiscard]] std::optional<Stored> find_stored(Connection& db, const TaskId& id);

// A new task, without the index rows of its parents. Its id and request id must be free. Returns its seq.
std::int64_t insert_task(Transaction& transaction, const Step& step);
// `parents` are the seqs of its depends_on.
void insert_dependencies(Transaction& transaction, std::int64_t child, const std::vector<std::int64_t>& parents);
// The next state of a stored task, but for the start of a run.
void update_task(Transaction& transaction, const Stored& stored, const Step& step);

// A task as a claim finds it, in this very transaction.
struct Startable {
  std::int64_t seq = 0;
  TaskRecord record;
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
