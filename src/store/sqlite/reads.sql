-- Reading tasks, their relations and their history. See reads.cc. Task columns come whole, as record_row.cc reads them.

-- name: dependents
-- Inputs: the parent's id. Result: heads of the tasks that depend on it, oldest first.
SELECT task.* FROM task JOIN dependency ON dependency.child = task.seq
WHERE dependency.parent = (SELECT seq FROM task WHERE id = ?1) ORDER BY task.seq;

-- name: children
-- Inputs: the spawner's id. Result: heads of the tasks that it spawned, oldest first.
SELECT task.* FROM task WHERE parent_id = ?1 ORDER BY seq;

-- name: request
-- Inputs: owner, request id. Result: the task's id.
SELECT id FROM task WHERE owner = ?1 AND request_id = ?2;

-- name: runs
-- Inputs: task id, limit. Result: the columns of run but the first, newest first.
SELECT run, generation, worker_id, started_at, ended_at, outcome, error_class, error_message, exit_code, note
FROM run WHERE seq = (SELECT seq FROM task WHERE id = ?1) ORDER BY run DESC LIMIT ?2;

-- name: events
-- Inputs: after which seq, limit. Result: the columns of event, oldest first.
SELECT * FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2;

-- name: last_event_seq
-- Result: the last number given out.
SELECT event FROM sequence;

-- name: list
-- Inputs: before which seq, limit, type, queue, owner (null: any), bit set of states. Result: seqs, newest first.
SELECT seq FROM task
WHERE seq < ?1 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR owner = ?5)
  AND (1 << state) & ?6
ORDER BY seq DESC LIMIT ?2;

-- name: list_by_state
-- Inputs: as list, then the one state. Result: as list.
SELECT seq FROM task
WHERE state = ?7 AND seq < ?1 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR owner = ?5)
  AND ?6 IS NOT NULL
ORDER BY seq DESC LIMIT ?2;

-- name: list_by_tag
-- Inputs: as list, then the tag. Result: as list.
SELECT task.seq FROM tag CROSS JOIN task ON task.seq = tag.seq
WHERE tag.tag = ?7 AND tag.seq < ?1 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR queue = ?4)
  AND (?5 IS NULL OR owner = ?5) AND (1 << state) & ?6
ORDER BY tag.seq DESC LIMIT ?2;

-- name: list_by_parent
-- Inputs: as list, then the spawner's id and a tag (null: any). Result: as list.
SELECT seq FROM task
WHERE parent_id = ?7 AND seq < ?1 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR queue = ?4)
  AND (?5 IS NULL OR owner = ?5) AND (1 << state) & ?6
  AND (?8 IS NULL OR EXISTS (SELECT 1 FROM tag WHERE tag.tag = ?8 AND tag.seq = task.seq))
ORDER BY seq DESC LIMIT ?2;

-- name: backlog
-- Inputs: scope of counts. Result: how many are waiting for a worker or a time, running, blocked.
SELECT coalesce(sum(tasks) FILTER (WHERE state IN (1, 2, 4)), 0), coalesce(sum(tasks) FILTER (WHERE state = 3), 0),
  coalesce(sum(tasks) FILTER (WHERE state = 0), 0)
FROM counts WHERE scope = ?1;

-- name: queues
-- Result: scope, state and number of tasks of every queue that holds some, in the order of names.
SELECT scope, state, tasks FROM counts WHERE scope >= 'queue:' AND scope < 'queue;' AND tasks > 0 ORDER BY scope, state;

-- name: standing
-- Inputs: task id. Result: id of its lane, where that is parked, the task's place; only of one that waits.
SELECT lane.id, lane.parked_at, task.place FROM task JOIN lane ON lane.id = task.lane WHERE task.id = ?1;

-- name: newest_with_key
-- Inputs: owner, type, dedupe key. Result: seq and id of the newest such task.
SELECT seq, id FROM task INDEXED BY task_dedupe WHERE dedupe_key IS NOT NULL AND owner = ?1 AND type = ?2 AND dedupe_key = ?3
ORDER BY seq DESC LIMIT 1;

-- name: unfinished_with_key
-- Inputs: owner, type, dedupe key, limit. Result: seqs of such tasks that have not ended, newest first.
SELECT seq FROM task INDEXED BY task_dedupe_open
WHERE dedupe_key IS NOT NULL AND state < 5 AND owner = ?1 AND type = ?2 AND dedupe_key = ?3 ORDER BY seq DESC LIMIT ?4;
