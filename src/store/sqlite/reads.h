// Reading: tasks by id and by filter, their relations, runs and events.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace drover::sqlite {

[[nodiscard]] std::optional<TaskRecord> read_task(Connection& db, const TaskId& id, Parts parts);
[[nodiscard]] std::optional<TaskId> find_request(Connection& db, const std::string& owner,
                                                 const std::string& request_id);
[[nodiscard]] std::optional<TaskId> newest_with_key(Connection& db, const std::string& owner, const std::string& type,
                                                    const std::string& key);
[[nodiscard]] DedupeMatches find_dedupe(Connection& db, const std::string& owner, const std::string& type,
                                        const std::string& key);
[[nodiscard]] std::vector<TaskRecord> read_dependents(Connection& db, const TaskId& parent);
[[nodiscard]] std::vector<TaskRecord> read_children(Connection& db, const TaskId& spawner);
[[nodiscard]] std::vector<RunSummary> read_runs(Connection& db, const TaskId& id, int limit);
[[nodiscard]] std::vector<Event> read_events(Connection& db, std::int64_t after, int limit);
[[nodiscard]] std::int64_t last_event_seq(Connection& db);
[[nodiscard]] Backlog read_backlog(Connection& db, std::span<const Serve> serves);
[[nodiscard]] std::optional<LanePosition> read_lane_position(Connection& db, const TaskId& id);
[[nodiscard]] std::vector<WaitingLane> read_lanes(Connection& db, int limit);
[[nodiscard]] std::vector<QueueCounts> read_queues(Connection& db);
[[nodiscard]] std::vector<QueueCounts> read_queues_of(Connection& db, const std::string& owner);
// In the filter's order. A page ends early when its bodies grow large. kInvalidArgument for a cursor that is none
// of ours.
[[nodiscard]] Result<RecordPage> list_tasks(Connection& db, const TaskFilter& filter, int limit,
                                            const std::optional<std::string>& cursor, Parts parts);

// The whole record in the columns that follow; one that cannot be read is logged.
[[nodiscard]] std::optional<TaskRecord> read_or_log(Statement& row);
[[nodiscard]] std::optional<TaskRecord> read_record(Connection& db, std::int64_t seq);
// Whole records in the order of seqs; one that is gone or cannot be read is left out.
[[nodiscard]] std::vector<TaskRecord> read_records(Connection& db, std::span<const std::int64_t> seqs);

// The rows that are left of a bound query over the columns of task; one that cannot be read is logged and left out.
[[nodiscard]] std::vector<TaskRecord> read_heads(Statement& query);

}  // namespace drover::sqlite
