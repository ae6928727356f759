-- Renewals, and what running tasks say of themselves. See leases.cc.

-- name: renew
-- Inputs: lease_until_mono, lease_renewed_mono, task id, lease. Result: cancel_requested_at of the task, if the lease is
-- live. Writes: task. Time does not matter: a lease that has run out but was not taken back is still its holder's.
UPDATE task SET lease_until_mono = ?1, lease_renewed_mono = ?2, lease_beats = lease_beats + 1
WHERE id = ?3 AND lease = ?4 AND state = {running} RETURNING cancel_requested_at;

-- name: revoke
-- Inputs: seq of a task that is still running. Writes: revoked_lease.
INSERT OR REPLACE INTO revoked_lease (seq, until_mono)
  SELECT seq, lease_until_mono FROM task WHERE seq = ?1 AND lease_until_mono IS NOT NULL;

-- name: forget_revoked
-- Inputs: monotonic time. Writes: revoked_lease.
DELETE FROM revoked_lease WHERE until_mono <= ?1;

-- name: is_revoked
-- Inputs: seq, monotonic time. Result: 1 if the lease of a run that was revoked is not over yet.
SELECT count(*) FROM revoked_lease WHERE seq = ?1 AND until_mono > ?2;

-- name: beat
-- Inputs: wall time, monotonic time, worker id. Result: whether it drains, if it is registered. Writes: worker.
UPDATE worker SET last_beat_at = ?1, last_beat_mono = ?2 WHERE id = ?3 RETURNING draining;

-- name: live
-- Inputs: task id, lease. Result: the task's seq and the columns of its events, if the lease is live.
SELECT task.seq, type, queue, owner, run, generation FROM task JOIN body USING (seq) WHERE id = ?1 AND lease = ?2 AND state = {running};

-- name: put_progress
-- Inputs: percent, text, seq. Writes: task.
UPDATE task SET progress_percent = ?1, progress_message = ?2 WHERE seq = ?3;

-- name: checkpoint_bytes
-- Inputs: seq. Result: the size of the stored checkpoint.
SELECT length(CAST(checkpoint AS BLOB)) FROM checkpoint WHERE seq = ?1;

-- name: put_checkpoint
-- Inputs: seq, checkpoint. Writes: checkpoint.
INSERT INTO checkpoint (seq, checkpoint) VALUES (?1, ?2) ON CONFLICT (seq) DO UPDATE SET checkpoint = excluded.checkpoint;

-- name: add_held_bytes
-- Inputs: by how much what the task holds has grown, seq. Writes: task.
UPDATE task SET held_bytes = held_bytes + ?1 WHERE seq = ?2;
