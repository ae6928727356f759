-- Reading tasks, their relations and their history. See reads.cc. Task columns come whole, as record_row.cc reads them.

-- name: dependents
-- Inputs: the parent's id. Result: heads of the tasks that depend on it, oldest first.
SELECT head.* FROM dependency CROSS JOIN head ON head.seq = dependency.child
WHERE dependency.parent = (SELECT seq FROM task WHERE id = ?1) ORDER BY dependency.child;

-- name: children
-- Inputs: the spawner's id. Result: heads of the tasks that it spawned, oldest first.
SELECT head.* FROM body INDEXED BY body_children CROSS JOIN head ON head.seq = body.seq WHERE body.parent_id = ?1 ORDER BY body.seq;

-- name: request
-- Inputs: owner, request id. Result: the task's id.
SELECT task.id FROM body JOIN task USING (seq) WHERE owner = ?1 AND request_id = ?2;

-- name: latest_runs
-- Inputs: task id. Result: seq, state, run, generation, worker_id, started_at, run_usage, next, and the packed run that ended last.
SELECT seq, state, run, generation, worker_id, started_at, run_usage, next, last_run FROM task WHERE id = ?1;

-- name: earlier_runs
-- Inputs: seq, limit. Result: packed runs that ended before, newest first.
SELECT packed FROM run WHERE seq = ?1 ORDER BY run DESC LIMIT ?2;

-- name: event_pages
-- Inputs: after which seq. Result: first seq and lines of the pages that hold later ones, oldest first.
SELECT first, lines FROM event_page WHERE last > ?1 ORDER BY last;

-- name: last_event_seq
-- Result: the last number given out.
SELECT event FROM sequence;

-- Lists of tasks, newest first. For the oldest first, reads.cc turns "seq < ?1" and "DESC" around.
-- name: list
-- Inputs: before which seq, limit, types, queues, owners (",a,b,", null: any), bit set of states. Result: seqs, newest first.
SELECT task.seq FROM task CROSS JOIN body USING (seq)
WHERE task.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND (1 << state) & ?6
ORDER BY task.seq DESC LIMIT ?2;

-- The tasks of one state. Inputs and result: as list; list_by_state: then the state.
-- name: list_by_state
SELECT task.seq FROM task INDEXED BY task_by_state CROSS JOIN body USING (seq)
WHERE listed_state = ?7 AND task.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND ?6 IS NOT NULL
ORDER BY task.seq DESC LIMIT ?2;
-- name: list_pending
SELECT task.seq FROM task INDEXED BY task_ready CROSS JOIN body USING (seq)
WHERE lane IS NOT NULL AND state = {pending} AND task.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND ?6 IS NOT NULL
ORDER BY task.seq DESC LIMIT ?2;
-- name: list_running
SELECT task.seq FROM task INDEXED BY task_leased CROSS JOIN body USING (seq)
WHERE lease_until_mono IS NOT NULL AND state = {running} AND task.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND ?6 IS NOT NULL
ORDER BY task.seq DESC LIMIT ?2;
-- name: list_completed
SELECT task.seq FROM task INDEXED BY task_finished CROSS JOIN body USING (seq)
WHERE finished_at IS NOT NULL AND state = {completed} AND task.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND ?6 IS NOT NULL
ORDER BY task.seq DESC LIMIT ?2;

-- name: list_by_tag
-- Inputs: as list, then the tag. Result: as list.
SELECT task.seq FROM tag CROSS JOIN task ON task.seq = tag.seq CROSS JOIN body ON body.seq = task.seq
WHERE tag.tag = ?7 AND tag.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND (1 << state) & ?6
ORDER BY tag.seq DESC LIMIT ?2;

-- name: list_by_parent
-- Inputs: as list, then the spawner's id and tags (",a,b,", null: any). Result: as list.
SELECT task.seq FROM body INDEXED BY body_children CROSS JOIN task ON task.seq = body.seq
WHERE parent_id = ?7 AND body.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND (1 << state) & ?6
  AND (?8 IS NULL OR EXISTS (SELECT 1 FROM tag INDEXED BY tag_by_task WHERE tag.seq = body.seq AND instr(?8, ',' || tag.tag || ',')))
ORDER BY body.seq DESC LIMIT ?2;

-- name: list_by_id
-- Inputs: as list, then the first and the last id, tags (",a,b,") and the spawner's id (null: any). Result: as list.
SELECT task.seq FROM task CROSS JOIN body USING (seq)
WHERE id BETWEEN ?7 AND ?8 AND +task.seq < ?1 AND (?3 IS NULL OR instr(?3, ',' || type || ',')) AND (?4 IS NULL OR instr(?4, ',' || queue || ',')) AND (?5 IS NULL OR instr(?5, ',' || owner || ',')) AND (1 << state) & ?6
  AND (?9 IS NULL OR EXISTS (SELECT 1 FROM tag INDEXED BY tag_by_task WHERE tag.seq = task.seq AND instr(?9, ',' || tag.tag || ','))) AND (?10 IS NULL OR parent_id = ?10)
ORDER BY +task.seq DESC LIMIT ?2;

-- name: labels
-- Inputs: seq. Result: model, agent_id, and the kinds of prompt and payload ('null': none), of which nothing is read.
SELECT model, agent_id, typeof(prompt), typeof(payload) FROM body WHERE seq = ?1;

-- name: tags
-- Inputs: seq. Result: its tags, by name.
SELECT tag FROM tag INDEXED BY tag_by_task WHERE seq = ?1 ORDER BY tag;

-- name: backlog
-- Inputs: scope of counts. Result: how many are waiting for a worker or a time, running, blocked.
SELECT scheduled + pending + stalled, running, blocked FROM counts WHERE scope = ?1;

-- name: queues
-- Result: scope and number of tasks in each state of every queue that holds some, in the order of names.
SELECT scope, blocked, scheduled, pending, running, stalled, completed, failed, cancelled FROM counts
WHERE scope >= 'queue:' AND scope < 'queue;' AND (blocked | scheduled | pending | running | stalled | completed | failed | cancelled) <> 0
ORDER BY scope;

-- name: queues_of
-- Inputs: the scopes of an owner: 'own:OWNER|', and what comes behind the last of them. Result: as queues.
SELECT scope, blocked, scheduled, pending, running, stalled, completed, failed, cancelled FROM counts
WHERE scope >= ?1 AND scope < ?2 AND (blocked | scheduled | pending | running | stalled | completed | failed | cancelled) <> 0
ORDER BY scope;

-- name: first_in_line
-- Result: of every queue in which something waits: the scope, the id of the first of its lanes' heads, and when that was ready.
SELECT 'queue:' || queue, id, since FROM (
  SELECT lane.queue, task.id, coalesce(task.run_at, body.created_at) AS since, min(lane.head)
  FROM lane CROSS JOIN task INDEXED BY task_ready ON task.lane = lane.id AND task.place = lane.head CROSS JOIN body ON body.seq = task.seq
  GROUP BY lane.queue);

-- name: lanes
-- Inputs: limit. Result: of each lane, by name: its name, how many tasks wait in it, the id of the first, and when that was ready.
SELECT lane.name, lane.tasks, first.id, coalesce(first.run_at, body.created_at)
FROM lane CROSS JOIN task AS first INDEXED BY task_ready ON first.lane = lane.id AND first.place = lane.head CROSS JOIN body ON body.seq = first.seq
ORDER BY lane.name LIMIT ?1;

-- name: lane_position
-- Inputs: task id. Result: id of its lane, where that is parked, the task's place; only of one that waits.
SELECT lane.id, lane.parked_at, task.place FROM task JOIN lane ON lane.id = task.lane WHERE task.id = ?1;

-- name: newest_with_key
-- Inputs: owner, type, dedupe key. Result: seq and id of the newest such task.
SELECT task.seq, task.id FROM body INDEXED BY body_dedupe CROSS JOIN task ON task.seq = body.seq
WHERE owner = ?1 AND type = ?2 AND dedupe_key = ?3 ORDER BY body.seq DESC LIMIT 1;

-- name: unfinished_with_key
-- Inputs: owner, type, dedupe key, limit. Result: seqs of such tasks that have not ended, newest first.
SELECT seq FROM dedupe_open WHERE owner = ?1 AND type = ?2 AND dedupe_key = ?3 ORDER BY seq DESC LIMIT ?4;
