-- What a dump brings that no step writes. See restore.cc.

-- name: put_last_run
-- Inputs: seq, packed. Writes: task.
UPDATE task SET last_run = ?2 WHERE seq = ?1;

-- name: insert_checkpoint
-- Inputs: seq, checkpoint. Writes: checkpoint.
INSERT INTO checkpoint (seq, checkpoint) VALUES (?1, ?2);

-- name: begin_events
-- Inputs: number of the first. What was before it, retention had taken. Writes: sequence.
UPDATE sequence SET first_event = ?1 WHERE NOT EXISTS (SELECT 1 FROM event_page);

-- name: insert_events
-- Inputs: number of the last, of the first, lines. Writes: event_page.
INSERT INTO event_page (last, first, lines) VALUES (?1, ?2, ?3);
