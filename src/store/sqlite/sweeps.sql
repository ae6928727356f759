-- What the sweepers look for, and when to look next. See sweeps.cc. Indexes are named, because the planner knows nothing
-- of how the states are spread.

-- name: due
-- Inputs: wall time, limit. Result: heads of scheduled tasks whose time has come.
SELECT task.* FROM task INDEXED BY task_scheduled WHERE state = 1 AND run_at <= ?1 ORDER BY run_at LIMIT ?2;

-- name: past_deadline
-- Inputs: wall time, limit. Result: seqs of unfinished tasks whose deadline has passed.
SELECT seq FROM task INDEXED BY task_deadline WHERE deadline_at IS NOT NULL AND state < 5 AND deadline_at <= ?1 ORDER BY deadline_at LIMIT ?2;

-- name: lapsed
-- Inputs: monotonic time, limit. Result: heads of running tasks whose lease ran out.
SELECT task.* FROM task INDEXED BY task_leased WHERE state = 3 AND lease_until_mono <= ?1 ORDER BY lease_until_mono LIMIT ?2;

-- name: silent
-- Inputs: monotonic time, limit, monotonic time before which a renewal is too old. Result: as lapsed, or not renewed since.
SELECT task.* FROM task INDEXED BY task_leased WHERE state = 3 AND (lease_until_mono <= ?1 OR lease_renewed_mono <= ?3)
ORDER BY lease_until_mono LIMIT ?2;

-- name: cascades
-- Inputs: limit. Result: heads of ended tasks whose dependents are not all dealt with.
SELECT task.* FROM task INDEXED BY task_cascade WHERE cascade_due = 1 ORDER BY finished_at LIMIT ?1;

-- name: next_run_at
SELECT min(run_at) FROM task INDEXED BY task_scheduled WHERE state = 1;

-- name: next_deadline
SELECT min(deadline_at) FROM task INDEXED BY task_deadline WHERE deadline_at IS NOT NULL AND state < 5;

-- name: next_lapse
SELECT min(lease_until_mono) FROM task INDEXED BY task_leased WHERE state = 3;
