// A task as the stores keep it: the public task and what only the rules and the stores need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drover/task.h"

namespace drover {

// What a store remembers of a record that it handed out, so that the next step on it needs no look at the rest. No part
// of the record: two are the same whatever a store remembers of them.
struct KeptAs {
  std::string head;        // how the record began, as Redis has it; empty: nothing is remembered
  std::int64_t seq = 0;    // of the row that SQLite has; 0: nothing is remembered
  std::int64_t bytes = 0;  // that it held

  bool operator==(const KeptAs&) const { return true; }
};

// A run whose worker had no say in its end: its lease ran out, or a deadline revoked it.
struct LostRun {
  int run = 0;
  LeaseId lease;

  bool operator==(const LostRun&) const = default;
};
// "RUN LEASE", as every store keeps it.
[[nodiscard]] std::string to_text(const LostRun& lost);
[[nodiscard]] std::optional<LostRun> parse_lost_run(std::string_view text);

// A letter for the kind (c, f, r, x for cancelled, s), a digit for the state, and the lease, as every store keeps it.
[[nodiscard]] std::string to_text(const RunSettlement& settlement);
[[nodiscard]] std::optional<RunSettlement> parse_run_settlement(std::string_view text);

struct TaskRecord {
  Task task;
  // Grows with every step. Renewals, progress, checkpoints and log lines leave it alone.
  std::int64_t revision = 0;
  LeaseId lease;                        // none unless running
  std::int64_t lease_beats = 0;         // renewals of this lease
  std::int64_t place = 0;               // in line among tasks of its queue and priority; 0: the store gives it the tail
  int unmet_parents = 0;                // parents not done yet, and open questions; meaningful while blocked
  int dependents = 0;                   // tasks that depend on this one
  int children = 0;                     // tasks that this one spawned
  int depth = 0;                        // spawners above it
  int spawner_generation = 0;           // of its spawner, when that spawned it; 0: no run of it did
  int asked = 0;                        // questions, in all generations
  int awaited = 0;                      // how many of the last of depends_on are children that it suspended for
  int first_generation = 1;             // the one that an operator's retry began; revivals go on in it
  std::optional<TaskId> ended_by;       // the parent whose end ended this task
  bool cascade_due = false;             // it ended, but its dependents were too many for one step: a sweeper goes on
  std::optional<Millis> deadline;       // from enqueue, or from an operator's retry, to deadline_at
  std::optional<LostRun> lost;          // the latest one, until its worker reports a result all the same
  int answered_run = 0;                 // the latest run whose first answer of its provider was counted
  std::optional<JsonText> run_usage;    // of the run that runs, as far as it has said; task.usage has it in it
  std::optional<JsonText> ended_usage;  // of the runs that have ended, if any said
  std::optional<JsonText> run_budget;   // where it stands with budgets: core/budget.h
  std::string request_hash;             // fingerprint of the request's body, with request_id
  KeptAs kept;

  bool operator==(const TaskRecord&) const = default;
};

}  // namespace drover
