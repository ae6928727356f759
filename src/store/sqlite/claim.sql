-- Taking tasks from a lane. See claim.cc; lanes.sql has what leads there.

-- name: waiting_in_lane
-- Inputs: id of the lane, limit. Result: seq and place of its tasks, smallest place first.
SELECT seq, place FROM task INDEXED BY task_ready WHERE lane = ?1 ORDER BY place LIMIT ?2;

-- name: set_aside
-- Inputs: seq. Writes: task. One that cannot be read stops no other; fsck tells of it.
UPDATE task SET lane = NULL WHERE seq = ?1;

-- name: scheduled
-- Inputs: queue, limit. Result: seqs of tasks whose time has not come: for a planted bug only.
SELECT seq FROM task WHERE state = 1 AND queue = ?1 ORDER BY priority, run_at LIMIT ?2;
