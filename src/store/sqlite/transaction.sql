-- The bookkeeping of write transactions: numbers given out, counts of tasks, the event log. See transaction.cc.

-- name: load_sequences
-- Result: the last task seq, event seq, place, turn and revision of a gate given out; the number of the epoch.
SELECT task, event, place, turn, gate, epoch FROM sequence;

-- name: save_sequences
-- Inputs: the first five. Writes: sequence.
UPDATE sequence SET task = ?1, event = ?2, place = ?3, turn = ?4, gate = ?5;

-- name: count
-- Inputs: scope. Result: how many tasks of that scope are in each state, and what the finished ones hold.
SELECT blocked, scheduled, pending, running, stalled, completed, failed, cancelled, finished_bytes FROM counts WHERE scope = ?1;

-- Inputs of both: scope, and by how much its other columns change. Writes: counts.
-- name: change_counts
UPDATE counts SET
  blocked = blocked + ?2, scheduled = scheduled + ?3, pending = pending + ?4, running = running + ?5, stalled = stalled + ?6,
  completed = completed + ?7, failed = failed + ?8, cancelled = cancelled + ?9, finished_bytes = finished_bytes + ?10
WHERE scope = ?1;
-- name: insert_counts
INSERT INTO counts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: insert_events
-- Inputs: seq of the last and of the first, lines. Writes: event_page.
INSERT INTO event_page (last, first, lines) VALUES (?1, ?2, ?3);
