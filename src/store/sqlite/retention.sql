-- Letting go of finished tasks and old events. See retention.cc.

-- name: oldest_finished
-- Inputs: limit, whether those count that an unfinished task depends on. Result: finished tasks, oldest first, whether they
-- are such, and the columns of their last event. One whose dependents are not dealt with stays.
SELECT task.seq, finished_at, held_bytes, is_needed, id, type, queue, owner, state, run, generation
FROM (
  SELECT *, dependents > 0 AND EXISTS (
      SELECT 1 FROM dependency CROSS JOIN task AS dependent ON dependent.seq = dependency.child
      WHERE dependency.parent = task.seq AND dependent.state < {completed}) AS is_needed
  FROM task INDEXED BY task_finished WHERE finished_at IS NOT NULL AND cascade_at IS NULL
) AS task CROSS JOIN body ON body.seq = task.seq
WHERE ?2 OR NOT is_needed ORDER BY finished_at LIMIT ?1;

-- name: delete_task
-- Inputs: seq. Writes: the tables named.
DELETE FROM task WHERE seq = ?1;
-- name: delete_body
DELETE FROM body WHERE seq = ?1;
-- name: delete_checkpoint
DELETE FROM checkpoint WHERE seq = ?1;
-- name: delete_tags
DELETE FROM tag WHERE seq = ?1;
-- name: delete_dependencies_on
DELETE FROM dependency WHERE parent = ?1;
-- name: delete_dependencies_of
DELETE FROM dependency WHERE child = ?1;
-- name: delete_runs
DELETE FROM run WHERE seq = ?1;
-- name: delete_log
DELETE FROM log WHERE seq = ?1;
-- name: delete_log_total
DELETE FROM log_total WHERE seq = ?1;

-- name: delete_empty_counts
-- Writes: counts. An owner whose tasks are all gone leaves nothing behind.
DELETE FROM counts
WHERE (blocked | scheduled | pending | running | stalled | completed | failed | cancelled | finished_bytes) = 0;

-- name: oldest_events
-- Result: the oldest page of events: first and last seq, lines.
SELECT first, last, lines FROM event_page ORDER BY last LIMIT 1;

-- name: delete_events
-- Inputs: last seq of a page. Writes: event_page.
DELETE FROM event_page WHERE last = ?1;

-- name: put_first_event
-- Inputs: the first seq that stays. Writes: sequence.
UPDATE sequence SET first_event = ?1;

-- name: shorten_events
-- Inputs: last seq of a page, the first that stays, lines. Writes: event_page.
UPDATE event_page SET first = ?2, lines = ?3 WHERE last = ?1;
