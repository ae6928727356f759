-- Task rows with what belongs to them: reading by id, and the writes of one step. See record_row.cc and step_write.cc.

-- name: read_head
-- Inputs: id. Result: a head.
SELECT * FROM head WHERE id = ?1;

-- name: read_head_by_seq
-- Inputs: seq. Result: a head.
SELECT * FROM head WHERE seq = ?1;

-- name: read_record
-- Inputs: id. Result: a record.
SELECT * FROM record WHERE id = ?1;

-- name: read_record_by_seq
-- Inputs: seq. Result: a record.
SELECT * FROM record WHERE seq = ?1;

-- name: guard
-- Inputs: id. Result: what a step is checked against and what its write changes from.
SELECT seq, revision, lease_beats, state, priority, place, lane, started_at, held_bytes, late_at IS NOT NULL,
  coalesce(length(CAST(result AS BLOB)), 0)
FROM task WHERE id = ?1;

-- name: any_id_between
-- Inputs: two ids. Result: 1 if there is a task with one of them, or one between them.
SELECT 1 FROM task WHERE id BETWEEN ?1 AND ?2 LIMIT 1;

-- name: any_id_taken
-- Inputs: rows of new_task. Result: 1 if one of them has the id of a task.
SELECT 1 FROM new_task(?1) AS new CROSS JOIN task ON task.id = new.id LIMIT 1;

-- name: id_taken
-- Inputs: id. Result: 1 if there is such a task.
SELECT 1 FROM task WHERE id = ?1;

-- name: seq_of
-- Inputs: id. Result: the task's seq.
SELECT seq FROM task WHERE id = ?1;

-- name: seq_of_request
-- Inputs: owner, request id. Result: the task's seq.
SELECT seq FROM body WHERE owner = ?1 AND request_id = ?2;

-- name: insert_tasks
-- Inputs: rows of new_task. Writes: task. They have not run, nor ended.
INSERT INTO task (
  seq, id, state, priority, run_at, deadline_at, run, attempts, stalls, defers, generation, timeout_ms, fallback, revision,
  lease_beats, unmet_parents, dependents, children, place, held_bytes, lane, due_at, late_at, listed_state)
SELECT
  seq, id, state, priority, run_at, deadline_at, 0, 0, 0, 0, 1, timeout_ms, 0, 1,
  0, unmet_parents, dependents, children, place, held_bytes, lane, due_at, late_at, listed_state
FROM new_task(?1);

-- name: insert_bodies
-- Inputs: rows of new_task. Writes: body.
INSERT INTO body
SELECT
  seq, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure, at_most_once, depth,
  deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates, payload, prompt,
  system_prompt, model, agent_id, source, traceparent, fallback_result, tags, depends_on
FROM new_task(?1);

-- The same of tasks that have most in common: what they share is bound once. See is_like() in step_write.cc. All columns up to the last
-- one that is set are named, in their order: then SQLite makes each value where the row is made, and copies none.
-- name: insert_like_tasks
-- Inputs: rows of new_task; state, priority, timeout_ms. Writes: task.
INSERT INTO task (
  seq, id, state, priority, run_at, started_at, finished_at, deadline_at, run, attempts, stalls, defers, generation, timeout_ms,
  progress_percent, progress_message, worker_id, cancel_requested_at, cancel_reason, fallback, error_class, error_message, exit_code,
  revision, lease, lease_beats, unmet_parents, dependents, children, ended_by, place, held_bytes, lane)
SELECT
  seq, id, ?2, ?3, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 1, ?4,
  NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL,
  1, NULL, 0, 0, 0, 0, NULL, place, held_bytes, lane
FROM new_task(?1);

-- name: insert_like_bodies
-- Inputs: rows of new_task; type, queue, created_at, retry, on_parent_failure, at_most_once, depth, max_attempts, max_stalls,
-- max_defers, idle_timeout_ms, cost, gates. Writes: body.
INSERT INTO body (
  seq, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure, at_most_once, depth,
  deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates, payload)
SELECT
  seq, ?2, ?3, owner, NULL, NULL, '', ?4, ?5, ?6, ?7, ?8,
  NULL, ?9, ?10, ?11, ?12, NULL, NULL, ?13, ?14, payload
FROM new_task(?1);

-- name: update_task
-- Inputs: the columns that steps move; the escalation; the lost run; the packed run that ended (null: none did); whether the
-- result is replaced, and by what; whether the lease stays as it is; seq. Writes: task. What renewals and notes write meanwhile (the lease's times and
-- beats, progress) is kept while the lease stays. Starting a run is start_task.
UPDATE task SET
  state = ?1, priority = ?2, run_at = ?3, started_at = ?4, finished_at = ?5, deadline_at = ?6, run = ?7, attempts = ?8,
  stalls = ?9, defers = ?10, generation = ?11, timeout_ms = ?12,
  progress_percent = iif(?41, progress_percent, ?13), progress_message = iif(?41, progress_message, ?14),
  worker_id = ?15, cancel_requested_at = ?16, cancel_reason = ?17, fallback = ?18, error_class = ?19, error_message = ?20,
  exit_code = ?21, revision = ?22, lease = ?23, lease_beats = iif(?41, lease_beats, ?24), unmet_parents = ?25,
  dependents = ?26, children = ?27, ended_by = ?28, held_bytes = ?29,
  place = ?30, lane = ?31, due_at = ?32, late_at = ?33, cascade_at = ?34, listed_state = ?35,
  escalation = ?36, lost_run = ?37, last_run = coalesce(?38, last_run), result = iif(?39, ?40, result),
  lease_until_mono = iif(?41, lease_until_mono, NULL), lease_renewed_mono = iif(?41, lease_renewed_mono, NULL)
WHERE seq = ?42;

-- name: end_task
-- Inputs: as update_task up to held_bytes, then the packed run, whether the result is replaced, by what, seq. Writes: task.
-- For a running task that has completed and is in no index but those of leases and of finished tasks.
UPDATE task SET
  state = ?1, priority = ?2, run_at = ?3, started_at = ?4, finished_at = ?5, deadline_at = ?6, run = ?7, attempts = ?8,
  stalls = ?9, defers = ?10, generation = ?11, timeout_ms = ?12, progress_percent = ?13, progress_message = ?14,
  worker_id = ?15, cancel_requested_at = ?16, cancel_reason = ?17, fallback = ?18, error_class = ?19, error_message = ?20,
  exit_code = ?21, revision = ?22, lease = ?23, lease_beats = ?24, unmet_parents = ?25, dependents = ?26, children = ?27,
  ended_by = ?28, held_bytes = ?29, last_run = coalesce(?30, last_run), result = iif(?31, ?32, result),
  lease_until_mono = NULL, lease_renewed_mono = NULL
WHERE seq = ?33;

-- name: complete_task
-- Inputs: finished_at, exit_code, revision, held_bytes, the packed run, the result; then what the row must still be: seq, id,
-- revision, held_bytes. Writes: task. As end_task, for a first run of a task without a deadline, as the claim that began it left it:
-- nothing but renewals and progress has moved since.
UPDATE task SET
  state = 5, finished_at = ?1, exit_code = ?2, revision = ?3, held_bytes = ?4, last_run = ?5, result = ?6,
  progress_percent = NULL, progress_message = NULL, worker_id = NULL, lease = NULL, lease_beats = 0,
  lease_until_mono = NULL, lease_renewed_mono = NULL
WHERE seq = ?7 AND id = ?8 AND revision = ?9 AND held_bytes = ?10;

-- name: start_task
-- Inputs: state, started_at, run, attempts, worker_id, lease, lease_beats, revision, when the lease ends and began, seq.
-- Writes: task. For a task that is taken from its lane.
UPDATE task SET
  state = ?1, started_at = ?2, run = ?3, attempts = ?4, progress_percent = NULL, progress_message = NULL, worker_id = ?5,
  lease = ?6, lease_beats = ?7, revision = ?8, lease_until_mono = ?9, lease_renewed_mono = ?10, lane = NULL, last_run = NULL
WHERE seq = ?11;

-- name: unlist
-- Inputs: seq. Writes: task. It is not in a listed state any more.
UPDATE task SET listed_state = NULL, due_at = NULL WHERE seq = ?1;

-- name: payload_bytes
-- Inputs: seq. Result: the size of the stored payload.
SELECT length(CAST(payload AS BLOB)) FROM body WHERE seq = ?1;

-- name: put_payload
-- Inputs: seq, payload. Writes: body.
UPDATE body SET payload = ?2 WHERE seq = ?1;

-- name: tags_bytes
-- Inputs: seq. Result: the size of the stored tags.
SELECT length(CAST(tags AS BLOB)) FROM body WHERE seq = ?1;

-- name: put_tags
-- Inputs: seq, tags. Writes: body.
UPDATE body SET tags = ?2 WHERE seq = ?1;

-- name: delete_tags
-- Inputs: seq. Writes: tag.
DELETE FROM tag WHERE seq = ?1;

-- name: insert_tag
-- Inputs: tag, seq. Writes: tag. A tag that is given twice counts once.
INSERT OR IGNORE INTO tag (tag, seq) VALUES (?1, ?2);

-- name: insert_dependency
-- Inputs: the parent's seq, the child's seq. Writes: dependency. A parent that is named twice counts once.
INSERT OR IGNORE INTO dependency (parent, child) VALUES (?1, ?2);

-- name: open_dedupe
-- Inputs: owner, type, dedupe key, seq. Writes: dedupe_open.
INSERT OR IGNORE INTO dedupe_open (owner, type, dedupe_key, seq) VALUES (?1, ?2, ?3, ?4);

-- name: close_dedupe
-- Inputs: as open_dedupe. Writes: dedupe_open.
DELETE FROM dedupe_open WHERE owner = ?1 AND type = ?2 AND dedupe_key = ?3 AND seq = ?4;

-- name: insert_run
-- Inputs: seq, run, packed. Writes: run.
INSERT INTO run (seq, run, packed) VALUES (?1, ?2, ?3);
