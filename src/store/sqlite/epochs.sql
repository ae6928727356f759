-- Epochs: docs/internals/store-epochs.md. See epochs.cc.

-- name: epochs
-- Result: every epoch, oldest first.
SELECT number, id, after, cause FROM epoch ORDER BY number;

-- name: last_event
-- Result: the number of the last event.
SELECT event FROM sequence;

-- name: last_epoch
-- Result: the number of the current epoch.
SELECT epoch FROM sequence;

-- name: put_epoch
-- Inputs: number, id, the last event before it, cause. Writes: epoch.
INSERT INTO epoch (number, id, after, cause) VALUES (?1, ?2, ?3, ?4);

-- name: drop_epochs
-- Writes: epoch.
DELETE FROM epoch;

-- name: forget_epochs
-- Keeps the first one, which names the store, and the latest thousand. Writes: epoch.
DELETE FROM epoch
WHERE number > (SELECT min(number) FROM epoch)
  AND number <= (SELECT number FROM epoch ORDER BY number DESC LIMIT 1 OFFSET 1000);

-- name: put_epoch_number
-- Inputs: number. Writes: sequence.
UPDATE sequence SET epoch = ?1;
