// Gates: set by steps, given back by ending runs, and the lanes that wait at them. docs/internals/lanes-and-gates.md is
// the specification.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// Whether the gate is still at the revision that the step is based on.
[[nodiscard]] bool still_holds(Transaction& transaction, const GateStep& step);
void write_gate(Transaction& transaction, const GateStep& step);

// A run of the task, started then, has ended: its permits come back, and what was set aside for it.
void give_back_permits(Transaction& transaction, const Task& task, Time started_at,
                       const std::optional<SpendChange>& spend);
// A run that goes on has spent more.
void book_spend(Transaction& transaction, const Task& task, const SpendChange& spend);
// Whether the gates of the task have left what the change takes.
[[nodiscard]] bool has_room_for(Transaction& transaction, const Task& task, const SpendChange& spend);

// Lets lanes go whose gate's time has come. Returns how many.
int wake_gates(Transaction& transaction);
[[nodiscard]] bool is_any_gate_due(Connection& db, Time now);

[[nodiscard]] std::vector<GateState> read_gate_states(Connection& db, std::span<const std::string> names);
[[nodiscard]] std::vector<GateState> read_gate_states(Connection& db);

// ---- for fsck

// Names of the gates that are used, and of those that running tasks have.
[[nodiscard]] std::vector<std::string> gates_in_use(Connection& db);
// What the gate's use must be, from the running tasks.
[[nodiscard]] std::int64_t count_in_use(Connection& db, const Gate& gate);
// What must be set aside, from the running tasks; of nothing nothing is told.
[[nodiscard]] std::vector<SpendEntry> count_asides(Connection& db, GateRows& gates);
// The same as it is stored.
[[nodiscard]] std::vector<SpendEntry> stored_asides(Connection& db);
void recount_asides(Transaction& transaction);
// All of table spend, in order.
[[nodiscard]] std::vector<SpendEntry> read_spend(Connection& db);
void restore_spend(Connection& db, std::span<const SpendEntry> entries);
// Whether lanes wait at the gate that may go now or at a known time, but nobody will look at them.
[[nodiscard]] bool is_asleep(Connection& db, GateRows& gates, const Gate& gate, Time now);

}  // namespace drover::sqlite
