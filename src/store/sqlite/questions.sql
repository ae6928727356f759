-- Questions. See questions.cc. A record is JSON; the other columns are what indexes and filters go by.

-- name: put
-- Inputs: id, task, owner, state, wake_at, revision, record. Writes: questions.
INSERT INTO questions (id, task, owner, state, wake_at, revision, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, wake_at = excluded.wake_at, revision = excluded.revision,
  record = excluded.record;

-- name: revision_of
-- Inputs: id. Result: its revision.
SELECT revision FROM questions WHERE id = ?1;

-- name: of_id
-- Inputs: id. Result: revision and record, as all that follow.
SELECT revision, record FROM questions WHERE id = ?1;

-- name: of_task
-- Inputs: task. Result: its questions, oldest first.
SELECT revision, record FROM questions INDEXED BY question_of_task WHERE task = ?1 ORDER BY id;

-- name: newest
-- Inputs: the id before which they are, limit. Result: questions, newest first.
SELECT revision, record FROM questions WHERE id < ?1 ORDER BY id DESC LIMIT ?2;

-- name: newest_open
-- Inputs: the same. Result: the same of those that are open.
SELECT revision, record FROM questions INDEXED BY question_by_state WHERE state = 0 AND id < ?1 ORDER BY id DESC LIMIT ?2;

-- name: oldest_open
-- Inputs: the id after which they are, limit. Result: those that are open, oldest first.
SELECT revision, record FROM questions INDEXED BY question_by_state WHERE state = 0 AND id > ?1 ORDER BY id LIMIT ?2;

-- name: count
-- Result: each state that some are in, and how many.
SELECT state, count(*) FROM questions INDEXED BY question_by_state GROUP BY state;

-- name: answer_waits
-- Result: how many tasks wait for answers.
SELECT coalesce(sum(tasks), 0) FROM answer_waits;
-- name: answer_waits_of
-- Inputs: owner. Result: the same of that one's tasks.
SELECT coalesce(sum(tasks), 0) FROM answer_waits WHERE owner = ?1;

-- Inputs: owner, by how much the number of its tasks that wait for answers changes; of the other, owner. Write: answer_waits.
-- name: change_answer_waits
INSERT INTO answer_waits (owner, tasks) VALUES (?1, ?2) ON CONFLICT (owner) DO UPDATE SET tasks = tasks + excluded.tasks;
-- name: forget_answer_waits
DELETE FROM answer_waits WHERE owner = ?1 AND tasks = 0;

-- name: due
-- Inputs: wall time, limit. Result: questions whose time has come.
SELECT revision, record FROM questions INDEXED BY question_wake WHERE wake_at <= ?1 ORDER BY wake_at, id LIMIT ?2;

-- name: next_wake
SELECT min(wake_at) FROM questions INDEXED BY question_wake WHERE wake_at IS NOT NULL;

-- name: delete_of_task
-- Inputs: seq of a task that is still there. Writes: questions.
DELETE FROM questions WHERE task = (SELECT id FROM task WHERE seq = ?1);
