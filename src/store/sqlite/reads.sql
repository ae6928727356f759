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
-- Inputs: queue, type (null: any). Result: how many are waiting for a worker or a time, running, blocked.
SELECT
  (SELECT count(*) FROM task INDEXED BY task_ready WHERE state IN (2, 4) AND queue = ?1 AND (?2 IS NULL OR type = ?2))
    + (SELECT count(*) FROM task WHERE state = 1 AND queue = ?1 AND (?2 IS NULL OR type = ?2)),
  (SELECT count(*) FROM task WHERE state = 3 AND queue = ?1 AND (?2 IS NULL OR type = ?2)),
  (SELECT count(*) FROM task WHERE state = 0 AND queue = ?1 AND (?2 IS NULL OR type = ?2));
