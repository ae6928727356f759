-- Workers, the policy document and the engine's documents. See fleet.cc.

-- name: register_worker
-- Inputs: id, version, serves, capacity, wall time, monotonic time, draining, token id, bytes of workspaces.
-- Writes: worker. Again: the time and the token of the first registration stay, and so does an order to drain.
INSERT INTO worker (id, version, serves, capacity, registered_at, last_beat_at, last_beat_mono, draining, token_id,
                    workspace_bytes)
  VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, ?9)
  ON CONFLICT (id) DO UPDATE SET version = excluded.version, serves = excluded.serves, capacity = excluded.capacity,
    last_beat_at = excluded.last_beat_at, last_beat_mono = excluded.last_beat_mono, draining = draining | excluded.draining,
    workspace_bytes = excluded.workspace_bytes;

-- name: unregister_worker
-- Inputs: id. Writes: worker.
DELETE FROM worker WHERE id = ?1;

-- name: drain_worker
-- Inputs: id, who, why. Writes: worker.
UPDATE worker SET draining = 1, drain_by = ?2, drain_reason = ?3 WHERE id = ?1;

-- name: workers
SELECT id, version, serves, capacity, registered_at, last_beat_at, last_beat_mono, draining, drain_by, drain_reason, token_id,
  workspace_bytes
FROM worker ORDER BY registered_at, id;

-- name: worker
-- Inputs: id. Result: as workers, of that one.
SELECT id, version, serves, capacity, registered_at, last_beat_at, last_beat_mono, draining, drain_by, drain_reason, token_id,
  workspace_bytes
FROM worker WHERE id = ?1;

-- name: running_by_worker
-- Result: worker id, and how many tasks it runs, of those that run any.
SELECT worker_id, count(*) FROM task INDEXED BY task_leased WHERE lease_until_mono IS NOT NULL GROUP BY worker_id;

-- name: forget_workers
-- Inputs: monotonic time before which the last beat is too old. Result: the last beats and ids of those that went. Writes: worker.
DELETE FROM worker WHERE last_beat_mono <= ?1
  AND NOT EXISTS (SELECT 1 FROM task WHERE task.state = {running} AND task.worker_id = worker.id)
RETURNING last_beat_mono, id;

-- name: config
-- Also of a policy that is gone: the next one gets the next number.
SELECT policy, coalesce(document, '{}') FROM sequence LEFT JOIN config ON version = policy;

-- name: config_versions
-- Inputs: limit. Result: version and wall time of each, newest first.
SELECT version, applied_at FROM config ORDER BY version DESC LIMIT ?1;

-- name: config_at
-- Inputs: version. Result: its document.
SELECT document FROM config WHERE version = ?1;

-- name: note_policy
-- Inputs: version. Writes: sequence.
UPDATE sequence SET policy = ?1;

-- name: note_access_tokens
-- Inputs: version. Writes: sequence.
UPDATE sequence SET access_tokens = ?1;

-- name: put_config
-- Inputs: version, document, wall time. Writes: config.
INSERT INTO config (version, document, applied_at) VALUES (?1, ?2, ?3);

-- name: forget_config
-- Writes: config.
DELETE FROM config;

-- name: document
-- Inputs: name.
SELECT version, text, due FROM document WHERE name = ?1;

-- name: put_document
-- Inputs: name, version, text, whether sweepers have work with it. Writes: document.
INSERT OR REPLACE INTO document (name, version, text, due) VALUES (?1, ?2, ?3, ?4);

-- name: any_document_due
SELECT EXISTS (SELECT 1 FROM document WHERE due = 1);

-- name: delete_weights
-- Writes: weight.
DELETE FROM weight;

-- name: insert_weight
-- Inputs: owner ('*': everybody else), weight. Writes: weight.
INSERT INTO weight (owner, weight) VALUES (?1, ?2);
