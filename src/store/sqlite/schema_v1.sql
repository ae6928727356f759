-- The first schema. Purpose: an empty store. Inputs: none. Result: none. Writes: every table and index.
--
-- Never edited: a change is a new migrate_vN.sql, and a new database runs them all. Times are milliseconds since 1970
-- (UTC), but for *_mono, which are milliseconds of the monotonic clock of the boot named in meta. States: 0 blocked,
-- 1 scheduled, 2 pending, 3 running, 4 stalled, 5 completed, 6 failed, 7 cancelled. The order of columns matters to
-- record_row.cc, which reads whole rows.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('schema_version', '1'), ('boot_id', '');

-- Numbers that are given out once: the last one used of each kind. One row.
CREATE TABLE sequence (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  task INTEGER NOT NULL,
  event INTEGER NOT NULL,
  place INTEGER NOT NULL
) STRICT;

INSERT INTO sequence (only, task, event, place) VALUES (1, 0, 0, 0);

-- The head of a task. Task rows are the truth; everything else can be rebuilt from them and from body.
CREATE TABLE task (
  -- fixed at enqueue
  seq INTEGER PRIMARY KEY,  -- from sequence
  id BLOB NOT NULL UNIQUE,
  type TEXT NOT NULL,
  queue TEXT NOT NULL,
  owner TEXT NOT NULL,
  parent_id BLOB,
  request_id TEXT,
  request_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  retry TEXT NOT NULL,
  on_parent_failure TEXT NOT NULL,
  at_most_once INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  -- moved by steps
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7),
  priority INTEGER NOT NULL,
  run_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  deadline_at INTEGER,
  run INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  stalls INTEGER NOT NULL,
  max_stalls INTEGER NOT NULL,
  defers INTEGER NOT NULL,
  max_defers INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  idle_timeout_ms INTEGER NOT NULL,
  progress_percent INTEGER,
  progress_message TEXT,
  worker_id TEXT,
  cancel_requested_at INTEGER,
  cancel_reason TEXT,
  fallback INTEGER NOT NULL,
  error_class TEXT,
  error_message TEXT,
  exit_code INTEGER,
  revision INTEGER NOT NULL,
  lease BLOB,
  lease_beats INTEGER NOT NULL,
  place INTEGER NOT NULL,
  unmet_parents INTEGER NOT NULL,
  dependents INTEGER NOT NULL,
  children INTEGER NOT NULL,
  ended_by BLOB,
  cascade_due INTEGER NOT NULL,
  -- the store's own
  lease_until_mono INTEGER,
  lease_renewed_mono INTEGER,
  held_bytes INTEGER NOT NULL  -- by its body, output and log
) STRICT;

CREATE UNIQUE INDEX task_request ON task (owner, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX task_ready ON task (queue, priority, place, type) WHERE state IN (2, 4);
CREATE INDEX task_scheduled ON task (run_at) WHERE state = 1;
CREATE INDEX task_leased ON task (lease_until_mono) WHERE state = 3;
CREATE INDEX task_deadline ON task (deadline_at) WHERE deadline_at IS NOT NULL AND state < 5;
CREATE INDEX task_finished ON task (finished_at) WHERE state >= 5;
CREATE INDEX task_by_state ON task (state);
CREATE INDEX task_cascade ON task (finished_at) WHERE cascade_due = 1;
CREATE INDEX task_children ON task (parent_id) WHERE parent_id IS NOT NULL;

-- What a task was given. Written once.
CREATE TABLE body (
  seq INTEGER PRIMARY KEY,
  payload TEXT,
  prompt TEXT,
  system_prompt TEXT,
  model TEXT,
  agent_id TEXT,
  source TEXT,
  traceparent TEXT,
  fallback_result TEXT,
  tags TEXT,        -- a JSON array of names; table tag is its index
  depends_on BLOB   -- ids, 16 bytes each; table dependency is its index
) STRICT;

-- What a task made. Apart from body, so that a small result does not rewrite a large payload.
CREATE TABLE output (
  seq INTEGER PRIMARY KEY,
  checkpoint TEXT,
  result TEXT
) STRICT;

CREATE TABLE tag (
  tag TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (tag, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_by_task ON tag (seq);

CREATE TABLE dependency (
  parent INTEGER NOT NULL,
  child INTEGER NOT NULL,
  PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;

CREATE INDEX dependency_by_child ON dependency (child);

CREATE TABLE run (
  seq INTEGER NOT NULL,  -- of the task
  run INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  worker_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT NOT NULL,
  error_class TEXT,
  error_message TEXT,
  exit_code INTEGER,
  note TEXT,
  PRIMARY KEY (seq, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  seq INTEGER PRIMARY KEY,  -- from sequence: no gap, never used twice
  at INTEGER NOT NULL,
  name TEXT NOT NULL,
  task_id BLOB NOT NULL,
  type TEXT NOT NULL,
  queue TEXT NOT NULL,
  owner TEXT NOT NULL,
  state INTEGER NOT NULL,
  run INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT;

-- The output of runs, in pieces. Of a long one the first and the last half of the cap are kept.
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,     -- of the task
  number INTEGER NOT NULL,  -- of the piece within the task; holes where pieces were left out
  run INTEGER NOT NULL,
  at INTEGER NOT NULL,
  stream INTEGER NOT NULL,  -- 0 out, 1 err, 2 drover
  text TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX log_by_task ON log (seq, number);

CREATE TABLE log_total (
  seq INTEGER NOT NULL,
  run INTEGER NOT NULL,
  last_number INTEGER NOT NULL,
  tail_number INTEGER NOT NULL,  -- of the first piece that is kept of the tail; 0 while all fits into the head
  head_bytes INTEGER NOT NULL,
  tail_bytes INTEGER NOT NULL,
  left_out_bytes INTEGER NOT NULL,
  PRIMARY KEY (seq, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  serves TEXT NOT NULL,  -- JSON: [[queue, type or null], …]
  capacity INTEGER NOT NULL,
  registered_at INTEGER NOT NULL,
  last_beat_at INTEGER NOT NULL,
  last_beat_mono INTEGER NOT NULL,
  draining INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every version of the policy document that was ever applied; the last one counts.
CREATE TABLE config (
  version INTEGER PRIMARY KEY,
  document TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;
