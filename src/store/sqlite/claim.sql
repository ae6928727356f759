-- Choosing what to claim: priority, then place in line. See claim.cc.

-- name: ready
-- Inputs: queue, limit. Result: priority, place and seq of claimable tasks, best first.
SELECT priority, place, seq FROM task INDEXED BY task_ready WHERE state IN (2, 4) AND queue = ?1 ORDER BY priority, place LIMIT ?2;

-- name: ready_of_type
-- Inputs: queue, limit, type. Result: as ready.
SELECT priority, place, seq FROM task INDEXED BY task_ready WHERE state IN (2, 4) AND queue = ?1 AND type = ?3 ORDER BY priority, place LIMIT ?2;

-- name: scheduled
-- Inputs: queue, limit. Result: as ready, of tasks whose time has not come: for a planted bug only.
SELECT priority, place, seq FROM task WHERE state = 1 AND queue = ?1 ORDER BY priority, run_at LIMIT ?2;
