-- Task rows with what belongs to them: reading by id, and the writes of one step. See record_row.cc and step_write.cc.

-- name: read_head
-- Inputs: id. Result: the columns of task.
SELECT task.* FROM task WHERE id = ?1;

-- name: read_all
-- Inputs: id. Result: the columns of task, of body and of output.
SELECT task.*, body.*, output.* FROM task LEFT JOIN body USING (seq) LEFT JOIN output USING (seq) WHERE id = ?1;

-- name: read_all_by_seq
-- Inputs: seq. Result: as read_all.
SELECT task.*, body.*, output.* FROM task LEFT JOIN body USING (seq) LEFT JOIN output USING (seq) WHERE task.seq = ?1;

-- name: guard
-- Inputs: id. Result: what a step is checked against and what its write changes from.
SELECT seq, revision, lease_beats, state, priority, place, lane, started_at, held_bytes FROM task WHERE id = ?1;

-- name: seq_of_request
-- Inputs: owner, request id. Result: the task's seq.
SELECT seq FROM task WHERE owner = ?1 AND request_id = ?2;

-- name: insert_task
-- Inputs: every column in order. Writes: task.
INSERT INTO task VALUES (
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26,
  ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50,
  ?51, ?52, ?53, ?54, ?55, ?56);

-- name: update_task
-- Inputs: every column that steps move, in order; held_bytes; whether the lease stays as it is; else when the new one ends
-- and began (null without a lease); seq; lane. Writes: task. What renewals and notes write meanwhile (the lease's times and beats,
-- progress) is kept while the lease stays.
UPDATE task SET
  state = ?1, priority = ?2, run_at = ?3, started_at = ?4, finished_at = ?5, deadline_at = ?6, run = ?7, attempts = ?8,
  max_attempts = ?9, stalls = ?10, max_stalls = ?11, defers = ?12, max_defers = ?13, generation = ?14, timeout_ms = ?15,
  idle_timeout_ms = ?16,
  progress_percent = CASE WHEN ?36 THEN progress_percent ELSE ?17 END,
  progress_message = CASE WHEN ?36 THEN progress_message ELSE ?18 END,
  worker_id = ?19, cancel_requested_at = ?20, cancel_reason = ?21, fallback = ?22, error_class = ?23, error_message = ?24,
  exit_code = ?25, revision = ?26, lease = ?27,
  lease_beats = CASE WHEN ?36 THEN lease_beats ELSE ?28 END,
  place = ?29, unmet_parents = ?30, dependents = ?31, children = ?32, ended_by = ?33, cascade_due = ?34, held_bytes = ?35,
  lease_until_mono = CASE WHEN ?36 THEN lease_until_mono ELSE ?37 END,
  lease_renewed_mono = CASE WHEN ?36 THEN lease_renewed_mono ELSE ?38 END,
  lane = ?40
WHERE seq = ?39;

-- name: insert_body
-- Inputs: every column in order. Writes: body.
INSERT INTO body VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);

-- name: payload_bytes
-- Inputs: seq. Result: the size of the stored payload.
SELECT length(CAST(payload AS BLOB)) FROM body WHERE seq = ?1;

-- name: put_payload
-- Inputs: seq, payload. Writes: body.
UPDATE body SET payload = ?2 WHERE seq = ?1;

-- name: insert_tag
-- Inputs: tag, seq. Writes: tag. A tag that is given twice counts once.
INSERT OR IGNORE INTO tag (tag, seq) VALUES (?1, ?2);

-- name: insert_dependency
-- Inputs: the parent's seq, the child's seq. Writes: dependency. A parent that is named twice counts once.
INSERT OR IGNORE INTO dependency (parent, child) VALUES (?1, ?2);

-- name: result_bytes
-- Inputs: seq. Result: the size of the stored result.
SELECT length(CAST(result AS BLOB)) FROM output WHERE seq = ?1;

-- name: put_result
-- Inputs: seq, result. Writes: output.
INSERT INTO output (seq, result) VALUES (?1, ?2) ON CONFLICT (seq) DO UPDATE SET result = excluded.result;

-- name: insert_run
-- Inputs: seq, run, generation, worker_id, started_at. Writes: run.
INSERT INTO run (seq, run, generation, worker_id, started_at, outcome) VALUES (?1, ?2, ?3, ?4, ?5, '');

-- name: end_run
-- Inputs: ended_at, outcome, error_class, error_message, exit_code, note, seq, run. Writes: run.
UPDATE run SET ended_at = ?1, outcome = ?2, error_class = ?3, error_message = ?4, exit_code = ?5, note = ?6
WHERE seq = ?7 AND run = ?8;
