-- From schema 2 to 3. Purpose: lanes and gates (docs/internals/lanes-and-gates.md), dedupe keys, counts of queues. Inputs:
-- schema 2. Result: none. Writes: the tables of lanes and gates, filled from task; columns of task and sequence; counts.

ALTER TABLE sequence ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;  -- of lines, see line_state
ALTER TABLE sequence ADD COLUMN gate INTEGER NOT NULL DEFAULT 0;  -- revisions of gates

-- fixed at enqueue
ALTER TABLE task ADD COLUMN dedupe_key TEXT;
ALTER TABLE task ADD COLUMN dedupe TEXT;
ALTER TABLE task ADD COLUMN cost INTEGER NOT NULL DEFAULT 1;
ALTER TABLE task ADD COLUMN gates TEXT NOT NULL DEFAULT '';  -- its own, joined by commas
-- the store's own
ALTER TABLE task ADD COLUMN lane INTEGER;  -- set while it waits in one

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
  FROM task WHERE state IN (2, 4) GROUP BY queue, priority, owner, type;
UPDATE task SET lane = (
    SELECT id FROM lane WHERE name = task.queue || '|' || task.priority || '|' || task.owner || '|' || task.type || '|1|')
  WHERE state IN (2, 4);

DROP INDEX task_ready;
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

CREATE INDEX task_dedupe ON task (owner, type, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX task_dedupe_open ON task (owner, type, dedupe_key) WHERE dedupe_key IS NOT NULL AND state < 5;

-- Scopes of counts are now also 'queue:NAME' and 'line:QUEUE|TYPE'.
INSERT INTO counts (scope, state, tasks, bytes)
  SELECT 'queue:' || queue, state, count(*), sum(held_bytes) FROM task GROUP BY queue, state
  UNION ALL
  SELECT 'line:' || queue || '|' || type, state, count(*), sum(held_bytes) FROM task GROUP BY queue, type, state;
