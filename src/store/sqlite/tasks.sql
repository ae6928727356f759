-- Task rows with what belongs to them: reading by id, and the writes of one step. See record_row.cc and step_write.cc.

-- Lists of columns stand in braces: with_columns() in record_columns.h puts them in.

-- name: task_views
-- A task without what may be large, and a whole one. Writes: two temporary views, see add_task_views() in record_columns.h.
CREATE TEMP VIEW head AS
  SELECT task.seq, {head} FROM task JOIN body ON body.seq = task.seq;
CREATE TEMP VIEW record AS
  SELECT task.seq, {head}, {large}, held_bytes, last_run, lane
  FROM task JOIN body ON body.seq = task.seq LEFT JOIN checkpoint ON checkpoint.seq = task.seq;

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
-- Inputs: rows of new_task. Writes: task.
INSERT INTO task (seq, id, {moving}, held_bytes, lane, due_at, late_at, cascade_at, listed_state, result)
SELECT seq, id, {moving}, held_bytes, lane, due_at, late_at, cascade_at, listed_state, result FROM new_task(?1);

-- name: insert_bodies
-- Inputs: rows of new_task. Writes: body.
INSERT INTO body (seq, {given}, {body})
SELECT seq, {given}, {body} FROM new_task(?1);

-- The same of tasks that have most in common: what they share is bound once. See is_like_task() and is_like_body() in step_write.cc. All columns up to the last
-- one that is set are named, in their order: then SQLite makes each value where the row is made, and copies none.
-- name: insert_like_tasks
-- Inputs: rows of new_task; the columns that move, but for those that each has for itself. Writes: task.
INSERT INTO task (seq, id, {moving}, held_bytes, lane)
SELECT seq, id, {like_moving}, held_bytes, lane FROM new_task(?1);

-- name: insert_like_bodies
-- Inputs: rows of new_task; the columns that are given, but for those that each has for itself. Writes: body.
INSERT INTO body (seq, {given}, payload)
SELECT seq, {like_given}, payload FROM new_task(?1);

-- name: update_task
-- Inputs: the columns that steps set; whether the lease stays as it is; the others, as they follow. The run that ended is null
-- if none did. Writes: task. What renewals and notes write meanwhile (the lease's times and beats, progress) is kept while
-- the lease stays. Starting a run is start_task.
UPDATE task SET {set},
  progress_percent = iif(:lease_stays, progress_percent, :percent),
  progress_message = iif(:lease_stays, progress_message, :message),
  lease_beats = iif(:lease_stays, lease_beats, :beats),
  revision = :revision, held_bytes = :held_bytes, place = :place, lane = :lane,
  due_at = :due_at, late_at = :late_at, cascade_at = :cascade_at, listed_state = :listed_state,
  last_run = coalesce(:ended_run, last_run), result = iif(:replaces_result, :result, result),
  lease_until_mono = iif(:lease_stays, lease_until_mono, NULL), lease_renewed_mono = iif(:lease_stays, lease_renewed_mono, NULL)
WHERE seq = :seq;

-- name: end_task
-- Inputs: the columns that steps set; the others, as they follow. Writes: task.
-- For a running task that has completed and is in no index but those of leases and of finished tasks.
UPDATE task SET {set},
  progress_percent = :percent, progress_message = :message, lease_beats = :beats,
  revision = :revision, held_bytes = :held_bytes,
  last_run = coalesce(:ended_run, last_run), result = iif(:replaces_result, :result, result),
  lease_until_mono = NULL, lease_renewed_mono = NULL
WHERE seq = :seq;

-- name: complete_task
-- Inputs: finished_at, exit_code, revision, held_bytes, the packed run, the result; then what the row must still be: seq, id,
-- revision, held_bytes. Writes: task. As end_task, for a first run of a task without a deadline, as the claim that began it left it:
-- nothing but renewals and progress has moved since.
UPDATE task SET
  state = {completed}, finished_at = ?1, exit_code = ?2, revision = ?3, held_bytes = ?4, last_run = ?5, result = ?6,
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

-- name: parents_bytes
-- Inputs: seq. Result: the size of the stored parents.
SELECT coalesce(length(depends_on), 0) FROM body WHERE seq = ?1;

-- name: put_parents
-- Inputs: seq, ids. Writes: body.
UPDATE body SET depends_on = CAST(?2 AS BLOB) WHERE seq = ?1;

-- name: delete_dependencies
-- Inputs: the child's seq. Writes: dependency.
DELETE FROM dependency WHERE child = ?1;

-- name: insert_dependency_on
-- Inputs: the parent's id, the child's seq. Writes: dependency. Parents that retention took are no rows any more.
INSERT OR IGNORE INTO dependency (parent, child) SELECT seq, ?2 FROM task WHERE id = ?1;

-- name: open_dedupe
-- Inputs: owner, type, dedupe key, seq. Writes: dedupe_open.
INSERT OR IGNORE INTO dedupe_open (owner, type, dedupe_key, seq) VALUES (?1, ?2, ?3, ?4);

-- name: close_dedupe
-- Inputs: as open_dedupe. Writes: dedupe_open.
DELETE FROM dedupe_open WHERE owner = ?1 AND type = ?2 AND dedupe_key = ?3 AND seq = ?4;

-- name: insert_run
-- Inputs: seq, run, packed. Writes: run.
INSERT INTO run (seq, run, packed) VALUES (?1, ?2, ?3);
