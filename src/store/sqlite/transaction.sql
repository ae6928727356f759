-- The bookkeeping of write transactions: numbers given out, counts of tasks, the event log. See transaction.cc.

-- name: load_sequences
-- Result: the last task seq, event seq, place, turn and revision of a gate given out; the number of the epoch.
SELECT task, event, place, turn, gate, epoch FROM sequence;

-- name: save_sequences
-- Inputs: the first five. Writes: sequence.
UPDATE sequence SET task = ?1, event = ?2, place = ?3, turn = ?4, gate = ?5;

-- name: count
-- Inputs: scope, state. Result: how many tasks of that scope are in that state, and what they hold.
SELECT tasks, bytes FROM counts WHERE scope = ?1 AND state = ?2;

-- name: add_counts
-- Inputs: scope, state, and by how much tasks and bytes change. Writes: counts.
INSERT INTO counts (scope, state, tasks, bytes) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (scope, state) DO UPDATE SET tasks = tasks + excluded.tasks, bytes = bytes + excluded.bytes;

-- name: insert_events
-- Inputs: seq of the last and of the first, lines. Writes: event_page.
INSERT INTO event_page (last, first, lines) VALUES (?1, ?2, ?3);
