-- Taking tasks from a lane. See claim.cc; lanes.sql has what leads there.

-- name: waiting_in_lane
-- Inputs: id of the lane, limit. Result: seq, place, bytes held and last run of its tasks, then their records, smallest
-- place first.
SELECT seq, place, held_bytes, last_run, record.* FROM record WHERE lane = ?1 ORDER BY place LIMIT ?2;

-- name: keyed_claim
-- Inputs: worker id. Result: key of its latest keyed claim and what that took, if the worker is registered.
SELECT claim_key, claimed FROM worker WHERE id = ?1;

-- name: put_keyed_claim
-- Inputs: worker id, key, what it took. Writes: worker.
UPDATE worker SET claim_key = ?2, claimed = ?3 WHERE id = ?1;

-- name: set_aside
-- Inputs: seq. Writes: task. One that cannot be read stops no other; fsck tells of it.
UPDATE task SET lane = NULL WHERE seq = ?1;

-- name: scheduled
-- Inputs: queue, limit. Result: as waiting_in_lane, of tasks whose time has not come.
SELECT seq, place, held_bytes, last_run, record.* FROM record WHERE state = {scheduled} AND queue = ?1 ORDER BY priority, run_at LIMIT ?2;
