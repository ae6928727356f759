-- From schema 3 to 4. Purpose: workers that are told to drain, the document of the fleet's health, dead letters that were handed
-- to somebody. Inputs: schema 3. Result: none. Writes: columns of worker, table health, table task and the views of it.

ALTER TABLE worker ADD COLUMN drain_by TEXT NOT NULL DEFAULT '';  -- who told it to drain, and why
ALTER TABLE worker ADD COLUMN drain_reason TEXT NOT NULL DEFAULT '';

CREATE TABLE health (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  version INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;

ALTER TABLE task ADD COLUMN escalation TEXT;  -- JSON: to, by, why, at; null: nobody has it

DROP VIEW head;
DROP VIEW record;

-- A task without its texts, and a whole one. The order of columns is that of record_row.cc.
CREATE VIEW head AS
  SELECT task.seq, task.id, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure,
    at_most_once, depth, deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates,
    state, priority, run_at, started_at, finished_at, deadline_at, run, attempts, stalls, defers, generation, timeout_ms,
    progress_percent, progress_message, worker_id, cancel_requested_at, cancel_reason, fallback, error_class, error_message,
    exit_code, revision, lease, lease_beats, unmet_parents, dependents, children, ended_by, cascade_at, place,
    escalation
  FROM task JOIN body ON body.seq = task.seq;

CREATE VIEW record AS
  SELECT task.seq, task.id, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure,
    at_most_once, depth, deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates,
    state, priority, run_at, started_at, finished_at, deadline_at, run, attempts, stalls, defers, generation, timeout_ms,
    progress_percent, progress_message, worker_id, cancel_requested_at, cancel_reason, fallback, error_class, error_message,
    exit_code, revision, lease, lease_beats, unmet_parents, dependents, children, ended_by, cascade_at, place,
    escalation, payload, prompt, system_prompt, model, agent_id, source, traceparent, fallback_result, tags, depends_on, checkpoint, result,
    held_bytes, last_run, lane
  FROM task JOIN body ON body.seq = task.seq LEFT JOIN checkpoint ON checkpoint.seq = task.seq;
