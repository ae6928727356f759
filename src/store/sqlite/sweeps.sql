-- What the sweepers look for, and when to look next. See sweeps.cc. Indexes are named, because the planner knows nothing
-- of how the states are spread.

-- name: due
-- Inputs: wall time, limit. Result: heads of scheduled tasks whose time has come.
SELECT head.* FROM task INDEXED BY task_scheduled CROSS JOIN head ON head.seq = task.seq
WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2;

-- name: past_deadline
-- Inputs: wall time, limit. Result: seqs of unfinished tasks whose deadline has passed.
SELECT seq FROM task INDEXED BY task_deadline WHERE late_at <= ?1 ORDER BY late_at LIMIT ?2;

-- name: lapsed
-- Inputs: monotonic time, limit. Result: heads of running tasks whose lease ran out.
SELECT head.* FROM task INDEXED BY task_leased CROSS JOIN head ON head.seq = task.seq
WHERE lease_until_mono <= ?1 ORDER BY lease_until_mono LIMIT ?2;

-- name: silent
-- Inputs: monotonic time, limit, monotonic time before which a renewal is too old. Result: as lapsed, or not renewed since.
SELECT head.* FROM task INDEXED BY task_leased CROSS JOIN head ON head.seq = task.seq
WHERE lease_until_mono IS NOT NULL AND (lease_until_mono <= ?1 OR lease_renewed_mono <= ?3)
ORDER BY lease_until_mono LIMIT ?2;

-- name: cascades
-- Inputs: limit. Result: heads of ended tasks whose dependents are not all dealt with.
SELECT head.* FROM task INDEXED BY task_cascade CROSS JOIN head ON head.seq = task.seq
WHERE task.cascade_at IS NOT NULL ORDER BY task.cascade_at LIMIT ?1;

-- name: next_run_at
SELECT min(due_at) FROM task INDEXED BY task_scheduled WHERE due_at IS NOT NULL;

-- name: next_deadline
SELECT min(late_at) FROM task INDEXED BY task_deadline WHERE late_at IS NOT NULL;

-- name: next_lapse
SELECT min(lease_until_mono) FROM task INDEXED BY task_leased WHERE lease_until_mono IS NOT NULL;
