-- The schema. Purpose: an empty store. Inputs: none. Result: none. Writes: every table, index and view.
--
-- Edited in place until 0.1.0 is released. From then on a change is a new migrate_vN.sql, and a new database runs them all.
-- Times are milliseconds since 1970 (UTC); *_mono are milliseconds of the monotonic clock of the boot named in meta.
-- A state is its number in TaskState (drover/task.h): {pending} in any of these files becomes that number.

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
  place INTEGER NOT NULL,
  turn INTEGER NOT NULL,  -- of lines, see line_state
  gate INTEGER NOT NULL,  -- revisions of gates
  epoch INTEGER NOT NULL,  -- the number of the current one
  policy INTEGER NOT NULL,  -- versions in config
  access_tokens INTEGER NOT NULL,  -- versions of that document
  first_event INTEGER NOT NULL  -- the first one that retention has left
) STRICT;

INSERT INTO sequence (only, task, event, place, turn, gate, epoch, policy, access_tokens, first_event)
VALUES (1, 0, 0, 0, 0, 0, 1, 0, 0, 1);

-- What moves: written by every step. Rows of task and body are the truth; everything else can be rebuilt from them.
-- Columns of fields are named as these and stand in the order of the list in core/task_fields.h; so do those of body.
CREATE TABLE task (
  seq INTEGER PRIMARY KEY,  -- from sequence
  id BLOB NOT NULL UNIQUE,
  state INTEGER NOT NULL CHECK (state BETWEEN {blocked} AND {cancelled}),
  priority INTEGER NOT NULL,
  run_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  run INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  stalls INTEGER NOT NULL,
  defers INTEGER NOT NULL,
  suspends INTEGER NOT NULL,
  open_questions INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  deadline_at INTEGER,
  generation INTEGER NOT NULL,
  progress_percent INTEGER,
  progress_message TEXT,
  worker_id TEXT,
  cancel_requested_at INTEGER,
  fallback INTEGER NOT NULL,
  error_class TEXT,
  error_message TEXT,
  exit_code INTEGER,
  escalation TEXT,              -- JSON: to, by, why, at; null: nobody has it
  usage TEXT,                   -- JSON, as agent, next, run_usage and ended_usage
  cancel_reason TEXT,
  agent TEXT,
  next TEXT,
  place INTEGER NOT NULL,
  unmet_parents INTEGER NOT NULL,
  asked INTEGER NOT NULL,
  awaited INTEGER NOT NULL,
  first_generation INTEGER NOT NULL,
  dependents INTEGER NOT NULL,
  children INTEGER NOT NULL,
  ended_by BLOB,
  answered_run INTEGER NOT NULL,
  run_usage TEXT,
  ended_usage TEXT,
  run_budget TEXT,              -- JSON: what the run has spent of budgets, and was granted; null: nothing
  revision INTEGER NOT NULL,
  lease BLOB,
  lease_beats INTEGER NOT NULL,
  lost_run TEXT,                -- "RUN LEASE" of the latest run whose lease was lost, until its worker reports a result; null: none
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

CREATE INDEX task_ready ON task (lane, place) WHERE lane IS NOT NULL;
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
  ref TEXT,
  request_id TEXT,
  dedupe_key TEXT,
  created_at INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  retry TEXT NOT NULL,
  idle_timeout_ms INTEGER NOT NULL,
  max_stalls INTEGER NOT NULL,
  max_defers INTEGER NOT NULL,
  max_suspends INTEGER NOT NULL,
  on_parent_failure TEXT NOT NULL,
  at_most_once INTEGER NOT NULL,
  templates INTEGER NOT NULL,
  budget TEXT,          -- JSON
  dedupe TEXT,
  gates TEXT NOT NULL,  -- its own, joined by commas
  cost INTEGER NOT NULL,
  request_hash TEXT NOT NULL,
  depth INTEGER NOT NULL,
  spawner_generation INTEGER NOT NULL,
  deadline_ms INTEGER,
  -- Of any size.
  payload TEXT,
  prompt TEXT,
  system_prompt TEXT,
  model TEXT,
  repo TEXT,
  base TEXT,
  agent_id TEXT,
  source TEXT,
  tags TEXT,        -- a JSON array of names; table tag is its index
  depends_on BLOB,  -- ids, 16 bytes each; table dependency is its index; grows when the task suspends
  fallback_result TEXT,
  bootstrap TEXT,
  traceparent TEXT
) STRICT;

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

-- What tasks, or gates, asked. A question of a task goes with it.
CREATE TABLE questions (
  id BLOB PRIMARY KEY,
  task BLOB,                -- that asked; null: a gate's
  owner TEXT NOT NULL,
  state INTEGER NOT NULL,   -- its number in QuestionState
  wake_at INTEGER,          -- when sweepers look at it, while it is open
  revision INTEGER NOT NULL,
  record TEXT NOT NULL      -- JSON: core/question_json.h
) STRICT, WITHOUT ROWID;

CREATE INDEX question_of_task ON questions (task) WHERE task IS NOT NULL;
CREATE INDEX question_by_state ON questions (state, id);
CREATE INDEX question_wake ON questions (wake_at) WHERE wake_at IS NOT NULL;

-- Runs that ended before the last one.
CREATE TABLE run (
  seq INTEGER NOT NULL,  -- of the task
  run INTEGER NOT NULL,
  packed TEXT NOT NULL,  -- as task.last_run
  PRIMARY KEY (seq, run)
) STRICT, WITHOUT ROWID;

-- Events that were made together, packed (event_page.h).
CREATE TABLE event_page (
  last INTEGER PRIMARY KEY,  -- seq of its last event: from sequence, no gap, never used twice
  first INTEGER NOT NULL,
  lines TEXT NOT NULL
) STRICT;

-- The output of runs, in pieces. Of a long one the first and the last half of the cap are kept.
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,     -- of the task
  number INTEGER NOT NULL,  -- of the piece within the task; holes where pieces were left out
  run INTEGER NOT NULL,
  at INTEGER NOT NULL,
  stream INTEGER NOT NULL,  -- 0 out, 1 err, 2 drover, 3 transcript
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

-- What agents used, by day (UTC). It outlives the tasks. Costs are micro-dollars.
CREATE TABLE ledger (
  day TEXT NOT NULL,
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  runner TEXT NOT NULL,
  model TEXT NOT NULL,
  class TEXT NOT NULL,  -- of runs that have ended: how; empty for what they used
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  reported_cost INTEGER NOT NULL,
  table_cost INTEGER NOT NULL,
  unpriced_tokens INTEGER NOT NULL,
  PRIMARY KEY (day, owner, type, runner, model, class)
) STRICT, WITHOUT ROWID;

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
  tasks INTEGER NOT NULL,  -- how many
  parked_at TEXT          -- the gate that refused it; null: it is open
) STRICT;

CREATE INDEX lane_of_owner ON lane (queue, rank, owner, parked_at, head);
CREATE INDEX lane_of_type ON lane (queue, type, rank, owner, head) WHERE parked_at IS NULL;
CREATE INDEX lane_oldest ON lane (queue, head) WHERE parked_at IS NULL;
CREATE INDEX lane_oldest_of_type ON lane (queue, type, head) WHERE parked_at IS NULL;
CREATE INDEX lane_parked ON lane (parked_at, queue, rank, owner, head) WHERE parked_at IS NOT NULL;

-- The lanes of one owner and rank in a line, which is one of: queue; queue|type; gate||queue for those parked there.
CREATE TABLE line_group (
  line TEXT NOT NULL,
  rank INTEGER NOT NULL,
  owner TEXT NOT NULL,
  score INTEGER NOT NULL,  -- the owner's virtual time, or less
  PRIMARY KEY (line, rank, owner)
) STRICT, WITHOUT ROWID;

CREATE INDEX line_order ON line_group (line, rank, score, owner);

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

-- What was spent of the budgets of gates, by period; of the period '' what is set aside for runs that go on. Money is
-- micro-dollars, wall time milliseconds.
CREATE TABLE spend (
  gate TEXT NOT NULL,
  unit TEXT NOT NULL,
  period TEXT NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (gate, unit, period)
) STRICT, WITHOUT ROWID;

-- How many tasks are in each state, in one row: a step moves two of them. scope is 'all', 'owner:NAME', 'queue:NAME',
-- 'line:QUEUE|TYPE' or 'own:OWNER|QUEUE'.
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

-- How many tasks of an owner are blocked and have open questions.
CREATE TABLE answer_waits (
  owner TEXT PRIMARY KEY,
  tasks INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Leases of runs that were ended without their worker: until when its agent may live. Rows of the past may go at any time.
CREATE TABLE revoked_lease (
  seq INTEGER PRIMARY KEY,  -- of the task
  until_mono INTEGER NOT NULL
) STRICT;

CREATE TABLE worker (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  serves TEXT NOT NULL,  -- JSON: [[queue, type or null], …]
  capacity INTEGER NOT NULL,
  registered_at INTEGER NOT NULL,
  last_beat_at INTEGER NOT NULL,
  last_beat_mono INTEGER NOT NULL,
  draining INTEGER NOT NULL,
  drain_by TEXT NOT NULL DEFAULT '',  -- who told it to drain, and why
  drain_reason TEXT NOT NULL DEFAULT '',
  token_id TEXT NOT NULL DEFAULT '',  -- with which it registered; empty: it opened the store itself
  workspace_bytes INTEGER NOT NULL DEFAULT 0,
  claim_key TEXT,                     -- of its latest claim with a key that took something; null: none
  claimed BLOB                        -- what that took: ids and leases of tasks in turn, 16 bytes each
) STRICT, WITHOUT ROWID;

-- Every version of the policy document that was ever applied; the last one counts.
CREATE TABLE config (
  version INTEGER PRIMARY KEY,
  document TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

-- What the engine keeps under compare-and-set of the version; what the texts say is its own affair.
CREATE TABLE document (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  due INTEGER NOT NULL  -- 1: sweepers have work with it
) STRICT, WITHOUT ROWID;

-- Conversation queues; what head and item say is core/conversation.h's affair.
CREATE TABLE conversation (
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  revision INTEGER NOT NULL,
  head TEXT NOT NULL,
  PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversation_item (
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,  -- of the conversation
  item TEXT NOT NULL,
  PRIMARY KEY (owner, key, seq)
) STRICT, WITHOUT ROWID;

-- Apart from the items, which are read often.
CREATE TABLE conversation_body (
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (owner, key, seq)
) STRICT, WITHOUT ROWID;

-- docs/internals/store-epochs.md
CREATE TABLE epoch (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  after INTEGER NOT NULL,  -- the last event before it began
  cause TEXT NOT NULL      -- created, regressed, accepted
) STRICT;

INSERT INTO epoch (number, id, after, cause) VALUES (1, lower(hex(randomblob(8))), 0, 'created');
