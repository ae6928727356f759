-- From schema 2 to 3. Purpose: lanes and gates (docs/internals/lanes-and-gates.md), dedupe keys, counts of queues; and less
-- to write per step: what never changes moves from task to body, a result and the last run stand in the task's row, indexes
-- go by columns of their own. Inputs: schema 2. Result: none. Writes: every table of tasks and runs, counts.

DROP INDEX task_request;
DROP INDEX task_ready;
DROP INDEX task_scheduled;
DROP INDEX task_leased;
DROP INDEX task_deadline;
DROP INDEX task_finished;
DROP INDEX task_by_state;
DROP INDEX task_cascade;
DROP INDEX task_children;
ALTER TABLE task RENAME TO old_task;
ALTER TABLE body RENAME TO old_body;
ALTER TABLE run RENAME TO old_run;

ALTER TABLE sequence ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;  -- of lines, see line_state
ALTER TABLE sequence ADD COLUMN gate INTEGER NOT NULL DEFAULT 0;  -- revisions of gates

-- What moves: written by every step. Rows of task and body are the truth; everything else can be rebuilt from them.
CREATE TABLE task (
  seq INTEGER PRIMARY KEY,  -- from sequence
  id BLOB NOT NULL UNIQUE,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7),
  priority INTEGER NOT NULL,
  run_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  deadline_at INTEGER,
  run INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  stalls INTEGER NOT NULL,
  defers INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
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
  unmet_parents INTEGER NOT NULL,
  dependents INTEGER NOT NULL,
  children INTEGER NOT NULL,
  ended_by BLOB,
  place INTEGER NOT NULL,
  held_bytes INTEGER NOT NULL,  -- by its body, result, checkpoint and log
  -- What indexes go by: null where the task is not in the index, so that a step only touches those that it moves.
  lane INTEGER,                 -- in which it waits
  lease_until_mono INTEGER,     -- while it runs
  lease_renewed_mono INTEGER,
  due_at INTEGER,               -- run_at, while it is scheduled
  late_at INTEGER,              -- deadline_at, until it ends
  cascade_at INTEGER,           -- finished_at, while dependents are left to deal with
  listed_state INTEGER,         -- the state, but for pending, running and completed, which are too many
  -- Of any size.
  last_run TEXT,                -- the run that ended last, packed; earlier ones are in table run
  result TEXT
) STRICT;

INSERT INTO task
  SELECT seq, id, state, priority, run_at, started_at, finished_at, deadline_at, run, attempts, stalls, defers, generation,
    timeout_ms, progress_percent, progress_message, worker_id, cancel_requested_at, cancel_reason, fallback, error_class,
    error_message, exit_code, revision, lease, lease_beats, unmet_parents, dependents, children, ended_by, place, held_bytes,
    NULL, lease_until_mono, lease_renewed_mono, iif(state = 1, run_at, NULL), iif(state < 5, deadline_at, NULL),
    iif(cascade_due = 1, finished_at, NULL), iif(state IN (2, 3, 5), NULL, state), NULL, output.result
  FROM old_task LEFT JOIN output USING (seq) ORDER BY seq;

CREATE INDEX task_leased ON task (lease_until_mono) WHERE lease_until_mono IS NOT NULL;
CREATE INDEX task_scheduled ON task (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX task_deadline ON task (late_at) WHERE late_at IS NOT NULL;
CREATE INDEX task_finished ON task (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX task_cascade ON task (cascade_at) WHERE cascade_at IS NOT NULL;
CREATE INDEX task_by_state ON task (listed_state) WHERE listed_state IS NOT NULL;

-- What a task was given: written once, but for the payload, which may be replaced before it starts.
CREATE TABLE body (
  seq INTEGER PRIMARY KEY,
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
  deadline_ms INTEGER,
  max_attempts INTEGER NOT NULL,
  max_stalls INTEGER NOT NULL,
  max_defers INTEGER NOT NULL,
  idle_timeout_ms INTEGER NOT NULL,
  dedupe_key TEXT,
  dedupe TEXT,
  cost INTEGER NOT NULL,
  gates TEXT NOT NULL,  -- its own, joined by commas
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

INSERT INTO body
  SELECT seq, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure, at_most_once,
    depth, deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, NULL, NULL, 1, '', payload, prompt,
    system_prompt, model, agent_id, source, traceparent, fallback_result, tags, depends_on
  FROM old_task LEFT JOIN old_body USING (seq) ORDER BY seq;

CREATE UNIQUE INDEX body_request ON body (owner, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX body_children ON body (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX body_dedupe ON body (owner, type, dedupe_key) WHERE dedupe_key IS NOT NULL;

-- Tasks with a dedupe key that have not ended.
CREATE TABLE dedupe_open (
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  dedupe_key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (owner, type, dedupe_key, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
  seq INTEGER PRIMARY KEY,
  checkpoint TEXT NOT NULL
) STRICT;

INSERT INTO checkpoint SELECT seq, checkpoint FROM output WHERE checkpoint IS NOT NULL;
DROP TABLE output;

-- Runs that ended before the last one.
CREATE TABLE run (
  seq INTEGER NOT NULL,  -- of the task
  run INTEGER NOT NULL,
  packed TEXT NOT NULL,  -- as task.last_run
  PRIMARY KEY (seq, run)
) STRICT, WITHOUT ROWID;

INSERT INTO run
  SELECT seq, run, json_array(run, generation, worker_id, started_at, ended_at, outcome, error_class, error_message, exit_code, note)
  FROM old_run WHERE ended_at IS NOT NULL;

DROP TABLE old_run;
DROP TABLE old_body;
DROP TABLE old_task;

-- Events that were made together, packed (event_page.h).
CREATE TABLE event_page (
  last INTEGER PRIMARY KEY,  -- seq of its last event: from sequence, no gap, never used twice
  first INTEGER NOT NULL,
  lines TEXT NOT NULL
) STRICT;

INSERT INTO event_page (last, first, lines)
  SELECT seq, seq, at || char(9) || name || char(9) || lower(hex(task_id)) || char(9) || type || char(9) || queue || char(9)
    || owner || char(9) || state || char(9) || run || char(9) || generation || char(9) || data || char(10)
  FROM event ORDER BY seq;
DROP TABLE event;

-- A task without its texts, and a whole one. The order of columns is that of record_row.cc.
CREATE VIEW head AS
  SELECT task.seq, task.id, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure,
    at_most_once, depth, deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates,
    state, priority, run_at, started_at, finished_at, deadline_at, run, attempts, stalls, defers, generation, timeout_ms,
    progress_percent, progress_message, worker_id, cancel_requested_at, cancel_reason, fallback, error_class, error_message,
    exit_code, revision, lease, lease_beats, unmet_parents, dependents, children, ended_by, cascade_at, place
  FROM task JOIN body ON body.seq = task.seq;

CREATE VIEW record AS
  SELECT task.seq, task.id, type, queue, owner, parent_id, request_id, request_hash, created_at, retry, on_parent_failure,
    at_most_once, depth, deadline_ms, max_attempts, max_stalls, max_defers, idle_timeout_ms, dedupe_key, dedupe, cost, gates,
    state, priority, run_at, started_at, finished_at, deadline_at, run, attempts, stalls, defers, generation, timeout_ms,
    progress_percent, progress_message, worker_id, cancel_requested_at, cancel_reason, fallback, error_class, error_message,
    exit_code, revision, lease, lease_beats, unmet_parents, dependents, children, ended_by, cascade_at, place,
    payload, prompt, system_prompt, model, agent_id, source, traceparent, fallback_result, tags, depends_on, checkpoint, result,
    held_bytes, last_run, lane
  FROM task JOIN body ON body.seq = task.seq LEFT JOIN checkpoint ON checkpoint.seq = task.seq;

-- The waiting tasks that are equal to the scheduler. A row is there while a task has its id.
CREATE TABLE lane (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,  -- queue|rank|owner|type|cost|gates
  queue TEXT NOT NULL,
  rank INTEGER NOT NULL,
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  cost INTEGER NOT NULL,
  gates TEXT NOT NULL,
  head INTEGER NOT NULL,  -- the smallest place of its tasks
  parked_at TEXT          -- the gate that refused it; null: it is open
) STRICT;

CREATE INDEX lane_of_owner ON lane (queue, rank, owner, parked_at, head);
CREATE INDEX lane_of_type ON lane (queue, type, rank, owner, head) WHERE parked_at IS NULL;
CREATE INDEX lane_oldest ON lane (queue, head) WHERE parked_at IS NULL;
CREATE INDEX lane_oldest_of_type ON lane (queue, type, head) WHERE parked_at IS NULL;
CREATE INDEX lane_parked ON lane (parked_at, queue, rank, owner, head) WHERE parked_at IS NOT NULL;

INSERT INTO lane (name, queue, rank, owner, type, cost, gates, head)
  SELECT queue || '|' || priority || '|' || owner || '|' || type || '|1|', queue, priority, owner, type, 1, '', min(place)
  FROM task JOIN body USING (seq) WHERE state IN (2, 4) GROUP BY queue, priority, owner, type;
UPDATE task SET lane = (
    SELECT lane.id FROM body JOIN lane ON lane.name = body.queue || '|' || task.priority || '|' || body.owner || '|' || body.type || '|1|'
    WHERE body.seq = task.seq)
  WHERE state IN (2, 4);

CREATE INDEX task_ready ON task (lane, place) WHERE lane IS NOT NULL;

-- The lanes of one owner and rank in a line, which is one of: queue; queue|type; gate||queue for those parked there.
CREATE TABLE line_group (
  line TEXT NOT NULL,
  rank INTEGER NOT NULL,
  owner TEXT NOT NULL,
  score INTEGER NOT NULL,  -- the owner's virtual time, or less
  PRIMARY KEY (line, rank, owner)
) STRICT, WITHOUT ROWID;

CREATE INDEX line_order ON line_group (line, rank, score, owner);

INSERT INTO line_group (line, rank, owner, score)
  SELECT DISTINCT queue, rank, owner, 0 FROM lane UNION SELECT DISTINCT queue || '|' || type, rank, owner, 0 FROM lane;

-- What was given through an open line.
CREATE TABLE line_state (
  line TEXT PRIMARY KEY,
  served INTEGER NOT NULL,  -- tasks
  turn INTEGER NOT NULL     -- when it was last chosen among several
) STRICT, WITHOUT ROWID;

-- How often something was taken for a set of lines that one worker serves.
CREATE TABLE pool (
  lines TEXT PRIMARY KEY,
  visits INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The virtual time of an owner in a queue and rank, and the largest that was served there.
CREATE TABLE share (
  queue TEXT NOT NULL,
  rank INTEGER NOT NULL,
  owner TEXT NOT NULL,
  virtual_time INTEGER NOT NULL,
  PRIMARY KEY (queue, rank, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE share_clock (
  queue TEXT NOT NULL,
  rank INTEGER NOT NULL,
  virtual_time INTEGER NOT NULL,
  PRIMARY KEY (queue, rank)
) STRICT, WITHOUT ROWID;

INSERT INTO share (queue, rank, owner, virtual_time) SELECT DISTINCT queue, rank, owner, 0 FROM lane;

-- Owners with a weight of their own; '*' is everybody else.
CREATE TABLE weight (
  owner TEXT PRIMARY KEY,
  weight INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Gates that are set, used or waited at.
CREATE TABLE gate (
  name TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,    -- 0: not set
  record TEXT NOT NULL,         -- JSON; empty if not set
  in_use INTEGER NOT NULL,      -- running tasks, if permits are limited
  rate_at_us INTEGER NOT NULL,  -- until when the units of its rate are spent
  wake_at INTEGER,              -- when to look at the lanes that wait; null: when something happens to it
  cursor TEXT NOT NULL          -- the queue that was looked at last
) STRICT, WITHOUT ROWID;

CREATE INDEX gate_wake ON gate (wake_at, name) WHERE wake_at IS NOT NULL;

-- How many tasks are in each state, in one row: a step moves two of them. scope is 'all', 'owner:NAME', 'queue:NAME' or
-- 'line:QUEUE|TYPE'.
DROP TABLE counts;
CREATE TABLE counts (
  scope TEXT PRIMARY KEY,
  blocked INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  running INTEGER NOT NULL,
  stalled INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  finished_bytes INTEGER NOT NULL  -- that the finished ones hold
) STRICT, WITHOUT ROWID;

INSERT INTO counts
  SELECT scope, sum(state = 0), sum(state = 1), sum(state = 2), sum(state = 3), sum(state = 4), sum(state = 5), sum(state = 6),
    sum(state = 7), sum(iif(state >= 5, held_bytes, 0))
  FROM (
    SELECT 'all' AS scope, state, held_bytes FROM task
    UNION ALL
    SELECT 'owner:' || owner, state, held_bytes FROM task JOIN body USING (seq)
    UNION ALL
    SELECT 'queue:' || queue, state, held_bytes FROM task JOIN body USING (seq)
    UNION ALL
    SELECT 'line:' || queue || '|' || type, state, held_bytes FROM task JOIN body USING (seq))
  GROUP BY scope;

-- Leases of runs that were ended without their worker: until when its agent may live. Rows of the past may go at any time.
CREATE TABLE revoked_lease (
  seq INTEGER PRIMARY KEY,  -- of the task
  until_mono INTEGER NOT NULL
) STRICT;

-- docs/internals/store-epochs.md
CREATE TABLE epoch (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  after INTEGER NOT NULL,  -- the last event before it began
  cause TEXT NOT NULL      -- created, regressed, accepted
) STRICT;

INSERT INTO epoch (number, id, after, cause) VALUES (1, lower(hex(randomblob(8))), 0, 'created');
ALTER TABLE sequence ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;  -- the number of the current one
