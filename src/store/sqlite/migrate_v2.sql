-- From schema 1 to 2. Purpose: know how many tasks there are without counting them, for capacity and retention; know how
-- long a task was given for its deadline, for the next generation. Inputs: schema 1. Result: none. Writes: table counts,
-- filled from task; column deadline_ms.

-- Kept by every step in its own transaction. scope is 'all' or 'owner:NAME'.
CREATE TABLE counts (
  scope TEXT NOT NULL,
  state INTEGER NOT NULL,
  tasks INTEGER NOT NULL,
  bytes INTEGER NOT NULL,  -- that they hold
  PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;

INSERT INTO counts (scope, state, tasks, bytes)
  SELECT 'all', state, count(*), sum(held_bytes) FROM task GROUP BY state
  UNION ALL
  SELECT 'owner:' || owner, state, count(*), sum(held_bytes) FROM task GROUP BY owner, state;

ALTER TABLE task ADD COLUMN deadline_ms INTEGER;  -- fixed at enqueue
UPDATE task SET deadline_ms = deadline_at - created_at WHERE deadline_at IS NOT NULL;
