// The rules of bulk operations: which orders make sense, which tasks they mean, and what is kept of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/step.h"
#include "drover/bulk.h"

namespace drover {

// Of a filter that names none: the states that are meant. Others that the verb applies to may be named.
[[nodiscard]] std::span<const TaskState> states_meant(BulkVerb verb);
[[nodiscard]] bool applies_to(BulkVerb verb, TaskState state);

// kInvalidArgument names what is missing or does not go together; kPayloadTooLarge.
[[nodiscard]] Status check_bulk(const BulkOrder& order);
// The same order with all that follows from the moment at which it starts: the states that are meant, times instead of
// delays, and for verbs about finished tasks that these have ended by then.
[[nodiscard]] BulkOrder fixed_order(BulkOrder order, Time now);

// An operation as it is kept: with how far it has come.
struct BulkRecord {
  BulkOperation operation;
  std::string cursor{};  // by filter: where its next page starts, see Store::list; one beyond the newest task at first
  std::size_t next_id = 0;  // by id: which comes next
  [[nodiscard]] bool is_running() const { return operation.state == BulkState::kRunning; }
};

// What became of one task.
void count_outcome(BulkOperation& operation, const TaskId& id, const Status& outcome);
void end_operation(BulkRecord& record, BulkState state, Time now);
// The one whose turn it is: they go on in turns. Null if none runs.
[[nodiscard]] BulkRecord* next_to_run(std::span<BulkRecord> records);
// Forgets what ended before `long_ago`, and the oldest of too many. Whether there was any.
bool forget_ended(std::vector<BulkRecord>& records, Time long_ago);

// bulk.started, bulk.finished or bulk.stopped.
[[nodiscard]] EventDraft bulk_event(const BulkOperation& operation);

}  // namespace drover
