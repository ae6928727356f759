-- The rows against every index and count, both ways. See fsck.cc.
--
-- Each find_X returns one row per finding: the task's id (null if it is not about one task) and what is wrong. It writes
-- nothing. repair_X, where there is one, puts right everything that find_X finds, from the rows of task and body; it writes
-- the table that X is about, and takes a revision where a decision may have been based on what was wrong. They are run in the
-- order of the list in fsck.cc.

-- name: views
-- The indexes and counts as they should be, from the rows of task and body; the state that the last event of each task
-- speaks of, which fsck.cc fills in. Writes: temporary views and a temporary table.
CREATE TEMP TABLE IF NOT EXISTS last_event (task_id BLOB PRIMARY KEY, state INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TEMP VIEW IF NOT EXISTS true_tag AS
  SELECT DISTINCT value AS tag, seq FROM body, json_each(body.tags) WHERE json_valid(body.tags);

CREATE TEMP VIEW IF NOT EXISTS true_dependency AS
  WITH RECURSIVE named (child, at, ids) AS (
    SELECT seq, 0, depends_on FROM body WHERE depends_on IS NOT NULL
    UNION ALL
    SELECT child, at + 1, ids FROM named WHERE (at + 2) * 16 <= length(ids))
  SELECT DISTINCT task.seq AS parent, child FROM named JOIN task ON task.id = substr(ids, at * 16 + 1, 16);

-- unmet: parents that keep a task blocked, because they are not completed, nor ended in a way that the task takes for
-- completed; and its open questions. cascading: parents whose end may have been counted already or not.
CREATE TEMP VIEW IF NOT EXISTS true_parents AS
  SELECT child.seq, child.open_questions +
    count(*) FILTER (WHERE parent.state < {completed} OR (parent.state > {completed} AND on_parent_failure <> 'run')) AS unmet,
    count(*) FILTER (WHERE parent.cascade_at IS NOT NULL) AS cascading
  FROM task AS child JOIN body ON body.seq = child.seq LEFT JOIN dependency ON dependency.child = child.seq LEFT JOIN task AS parent ON parent.seq = dependency.parent
  WHERE child.state = {blocked} GROUP BY child.seq;

CREATE TEMP VIEW IF NOT EXISTS true_log_total AS
  SELECT log_total.seq, log_total.run,
    coalesce(sum(length(CAST(text AS BLOB))) FILTER (WHERE tail_number = 0 OR number < tail_number), 0) AS head,
    coalesce(sum(length(CAST(text AS BLOB))) FILTER (WHERE tail_number > 0 AND number >= tail_number), 0) AS tail
  FROM log_total LEFT JOIN log USING (seq, run) GROUP BY log_total.seq, log_total.run;

CREATE TEMP VIEW IF NOT EXISTS true_held AS
  SELECT task.seq,
    coalesce((SELECT {body_bytes} FROM body WHERE body.seq = task.seq), 0)
    + coalesce((SELECT length(CAST(checkpoint AS BLOB)) FROM checkpoint WHERE checkpoint.seq = task.seq), 0)
    + coalesce(length(CAST(result AS BLOB)), 0)
    + coalesce((SELECT sum(head_bytes + tail_bytes) FROM log_total WHERE log_total.seq = task.seq), 0) AS bytes
  FROM task;

CREATE TEMP VIEW IF NOT EXISTS counted AS
  SELECT 'all' AS scope, state, held_bytes FROM task
  UNION ALL
  SELECT 'owner:' || owner, state, held_bytes FROM task JOIN body USING (seq)
  UNION ALL
  SELECT 'queue:' || queue, state, held_bytes FROM task JOIN body USING (seq)
  UNION ALL
  SELECT 'line:' || queue || '|' || type, state, held_bytes FROM task JOIN body USING (seq)
  UNION ALL
  SELECT 'own:' || owner || '|' || queue, state, held_bytes FROM task JOIN body USING (seq);

CREATE TEMP VIEW IF NOT EXISTS true_counts AS
  SELECT scope, sum(state = {blocked}) AS blocked, sum(state = {scheduled}) AS scheduled, sum(state = {pending}) AS pending, sum(state = {running}) AS running,
    sum(state = {stalled}) AS stalled, sum(state = {completed}) AS completed, sum(state = {failed}) AS failed, sum(state = {cancelled}) AS cancelled,
    sum(iif(state >= {completed}, held_bytes, 0)) AS finished_bytes
  FROM counted GROUP BY scope;

CREATE TEMP VIEW IF NOT EXISTS true_answer_waits AS
  SELECT owner, count(*) AS tasks FROM task JOIN body USING (seq) WHERE state = {blocked} AND open_questions > 0 GROUP BY owner;

CREATE TEMP VIEW IF NOT EXISTS waiting AS
  SELECT task.seq, queue || '|' || priority || '|' || owner || '|' || type || '|' || cost || '|' || gates AS name,
    queue, priority AS rank, owner, type, cost, gates, place
  FROM task JOIN body USING (seq) WHERE state IN ({pending}, {stalled});

CREATE TEMP VIEW IF NOT EXISTS true_lane AS
  SELECT name, queue, rank, owner, type, cost, gates, min(place) AS head, count(*) AS tasks FROM waiting GROUP BY name;

-- The columns that indexes go by.
CREATE TEMP VIEW IF NOT EXISTS true_indexed AS
  SELECT seq, iif(state = {scheduled}, run_at, NULL) AS due_at, iif(state < {completed}, deadline_at, NULL) AS late_at,
    iif(cascade_at IS NULL, NULL, finished_at) AS cascade_at, iif(state IN ({pending}, {running}, {completed}), NULL, state) AS listed_state
  FROM task;

CREATE TEMP VIEW IF NOT EXISTS true_dedupe AS
  SELECT owner, type, dedupe_key, seq FROM body JOIN task USING (seq) WHERE dedupe_key IS NOT NULL AND state < {completed};

CREATE TEMP VIEW IF NOT EXISTS true_group AS
  SELECT queue AS line, rank, owner, queue FROM lane WHERE parked_at IS NULL
  UNION
  SELECT queue || '|' || type, rank, owner, queue FROM lane WHERE parked_at IS NULL
  UNION
  SELECT parked_at || '||' || queue, rank, owner, queue FROM lane WHERE parked_at IS NOT NULL;

-- name: find_body_missing
SELECT id, 'no body' FROM task WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.seq = task.seq);

-- name: find_body_orphan
SELECT NULL, 'body ' || seq || ' without a task' FROM body WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = body.seq);
-- name: repair_body_orphan
DELETE FROM body WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = body.seq);

-- name: find_checkpoint_orphan
SELECT NULL, 'checkpoint of ' || seq || ' without a task' FROM checkpoint
WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = checkpoint.seq);
-- name: repair_checkpoint_orphan
DELETE FROM checkpoint WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = checkpoint.seq);

-- name: find_run_orphan
SELECT NULL, 'run ' || run || ' of ' || seq || ' without a task' FROM run
WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = run.seq);
-- name: repair_run_orphan
DELETE FROM run WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = run.seq);

-- name: find_log_orphan
SELECT NULL, 'log of ' || seq || ', run ' || run || ', without a task or a total' FROM log
WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = log.seq)
  OR NOT EXISTS (SELECT 1 FROM log_total WHERE log_total.seq = log.seq AND log_total.run = log.run)
GROUP BY seq, run;
-- name: repair_log_orphan
DELETE FROM log
WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = log.seq)
  OR NOT EXISTS (SELECT 1 FROM log_total WHERE log_total.seq = log.seq AND log_total.run = log.run);

-- name: find_log_total_orphan
SELECT NULL, 'log total of ' || seq || ' without a task' FROM log_total
WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = log_total.seq);
-- name: repair_log_total_orphan
DELETE FROM log_total WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.seq = log_total.seq);

-- name: find_log_total
SELECT task.id, 'log total of run ' || log_total.run || ' is not the sum of its pieces'
FROM log_total JOIN true_log_total USING (seq, run) JOIN task USING (seq) WHERE (head_bytes, tail_bytes) <> (head, tail);
-- name: repair_log_total
UPDATE log_total SET (head_bytes, tail_bytes) =
  (SELECT head, tail FROM true_log_total AS sum WHERE sum.seq = log_total.seq AND sum.run = log_total.run);

-- name: find_tag_index
SELECT (SELECT id FROM task WHERE task.seq = d.seq), d.what || d.tag
FROM (SELECT seq, tag, 'not indexed by its tag ' AS what FROM (SELECT tag, seq FROM true_tag EXCEPT SELECT tag, seq FROM tag)
      UNION ALL
      SELECT seq, tag, 'indexed by a tag that it has not: ' FROM (SELECT tag, seq FROM tag EXCEPT SELECT tag, seq FROM true_tag)) d;
-- name: repair_tag_index
DELETE FROM tag;
INSERT INTO tag (tag, seq) SELECT tag, seq FROM true_tag;

-- name: find_dependency_index
SELECT (SELECT id FROM task WHERE task.seq = d.child), d.what || d.parent
FROM (SELECT parent, child, 'not indexed as a dependent of ' AS what
      FROM (SELECT parent, child FROM true_dependency EXCEPT SELECT parent, child FROM dependency)
      UNION ALL
      SELECT parent, child, 'indexed as a dependent of a task that it does not name, or that is gone: '
      FROM (SELECT parent, child FROM dependency EXCEPT SELECT parent, child FROM true_dependency)) d;
-- name: repair_dependency_index
DELETE FROM dependency;
INSERT INTO dependency (parent, child) SELECT parent, child FROM true_dependency;

-- name: find_dependents_count
SELECT id, 'counts ' || dependents || ' dependents and has more' FROM task
WHERE dependents < (SELECT count(*) FROM dependency WHERE dependency.parent = task.seq);
-- name: repair_dependents_count
UPDATE task SET dependents = (SELECT count(*) FROM dependency WHERE dependency.parent = task.seq), revision = revision + 1
WHERE dependents < (SELECT count(*) FROM dependency WHERE dependency.parent = task.seq);

-- name: find_children_count
SELECT id, 'counts ' || children || ' children and has more' FROM task
WHERE children < (SELECT count(*) FROM body AS child WHERE child.parent_id = task.id);
-- name: repair_children_count
UPDATE task SET children = (SELECT count(*) FROM body AS child WHERE child.parent_id = task.id), revision = revision + 1
WHERE children < (SELECT count(*) FROM body AS child WHERE child.parent_id = task.id);

-- A running task has a lease with its times, and a worker; no other has a lease.
-- name: find_lease_missing
SELECT id, 'running without a lease' FROM task
WHERE state = {running} AND (lease IS NULL OR lease_until_mono IS NULL OR lease_renewed_mono IS NULL OR worker_id IS NULL);
-- name: repair_lease_missing
-- Inputs: when a lease ends that begins now, monotonic time. Somebody may still run the task: it is taken back no sooner
-- than if its lease had just been renewed.
UPDATE task SET lease = coalesce(lease, randomblob(16)), lease_until_mono = coalesce(lease_until_mono, ?1),
  lease_renewed_mono = coalesce(lease_renewed_mono, ?2), worker_id = coalesce(worker_id, ''), revision = revision + 1
WHERE state = {running} AND (lease IS NULL OR lease_until_mono IS NULL OR lease_renewed_mono IS NULL OR worker_id IS NULL);

-- name: find_lease_without_run
SELECT id, 'not running, but under a lease' FROM task
WHERE state <> {running} AND (lease IS NOT NULL OR lease_until_mono IS NOT NULL OR lease_renewed_mono IS NOT NULL);
-- name: repair_lease_without_run
UPDATE task SET lease = NULL, lease_until_mono = NULL, lease_renewed_mono = NULL, revision = revision + 1
WHERE state <> {running} AND (lease IS NOT NULL OR lease_until_mono IS NOT NULL OR lease_renewed_mono IS NOT NULL);

-- name: find_run_number
SELECT task.id, 'has run ' || max(run.run) || ' in its history, but counts ' || task.run FROM task JOIN run USING (seq)
GROUP BY task.seq HAVING max(run.run) > task.run
UNION ALL
SELECT id, 'had its last run without a number of its own' FROM task
WHERE last_run IS NOT NULL AND (NOT json_valid(last_run) OR coalesce(json_extract(last_run, '$[0]'), -1) NOT BETWEEN 1 AND run
  OR EXISTS (SELECT 1 FROM run WHERE run.seq = task.seq AND run.run >= json_extract(last_run, '$[0]')));

-- name: find_indexed
SELECT id, 'is not indexed as its state says' FROM task JOIN true_indexed USING (seq)
WHERE task.due_at IS NOT true_indexed.due_at OR task.late_at IS NOT true_indexed.late_at
  OR task.cascade_at IS NOT true_indexed.cascade_at OR task.listed_state IS NOT true_indexed.listed_state;
-- name: repair_indexed
UPDATE task SET (due_at, late_at, cascade_at, listed_state) =
  (SELECT due_at, late_at, cascade_at, listed_state FROM true_indexed AS should WHERE should.seq = task.seq);

-- name: find_dedupe
SELECT (SELECT id FROM task WHERE task.seq = d.seq), 'is found by a dedupe key wrongly, or is not found'
FROM (SELECT * FROM (SELECT owner, type, dedupe_key, seq FROM true_dedupe EXCEPT SELECT owner, type, dedupe_key, seq FROM dedupe_open)
      UNION ALL
      SELECT * FROM (SELECT owner, type, dedupe_key, seq FROM dedupe_open EXCEPT SELECT owner, type, dedupe_key, seq FROM true_dedupe)) d;
-- name: repair_dedupe
DELETE FROM dedupe_open;
INSERT INTO dedupe_open (owner, type, dedupe_key, seq) SELECT owner, type, dedupe_key, seq FROM true_dedupe;

-- name: find_finish_time
SELECT id, 'is finished without a time, or has one without being finished' FROM task
WHERE (state >= {completed}) <> (finished_at IS NOT NULL);

-- name: find_run_at_missing
SELECT id, 'scheduled without a time' FROM task WHERE state = {scheduled} AND run_at IS NULL;

-- name: find_usage_wrong
SELECT id, 'its usage is not that of its runs' FROM task
WHERE (usage IS NULL) <> (run_usage IS NULL AND ended_usage IS NULL) OR (run_usage IS NOT NULL AND state <> {running});

-- name: find_place_missing
SELECT id, 'in line without a place' FROM task WHERE state IN ({pending}, {stalled}) AND place <= 0;

-- name: find_place_twice
SELECT id, 'at place ' || place || ' with another' FROM task WHERE state IN ({pending}, {stalled}) AND place > 0
GROUP BY place HAVING count(*) > 1;

-- name: find_sequence
SELECT NULL, 'numbers in use are ahead of the last one given out' FROM sequence
WHERE task < (SELECT coalesce(max(seq), 0) FROM task) OR event < (SELECT coalesce(max(last), 0) FROM event_page)
  OR place < (SELECT coalesce(max(place), 0) FROM task);

-- name: find_event_gap
SELECT NULL, 'no event between ' || before || ' and ' || first
FROM (SELECT first, lag(last) OVER (ORDER BY last) AS before FROM event_page) WHERE first <> before + 1
UNION ALL
SELECT NULL, 'the last event is ' || max(last) || ', but ' || (SELECT event FROM sequence) || ' were made' FROM event_page
HAVING max(last) < (SELECT event FROM sequence);

-- name: event_pages
SELECT first, last, lines FROM event_page ORDER BY last;

-- name: put_last_event
INSERT INTO temp.last_event (task_id, state) VALUES (?1, ?2) ON CONFLICT (task_id) DO UPDATE SET state = excluded.state;

-- name: find_event_state
SELECT task.id, 'is in state ' || task.state || ', but its last event says ' || last.state
FROM temp.last_event AS last JOIN task ON task.id = last.task_id
WHERE task.state <> last.state;

-- name: find_question_orphan
SELECT NULL, 'question ' || lower(hex(id)) || ' of a task that is gone' FROM questions
WHERE task IS NOT NULL AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = questions.task);
-- name: repair_question_orphan
DELETE FROM questions WHERE task IS NOT NULL AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = questions.task);

-- name: find_question_open
SELECT task.id, 'question ' || lower(hex(questions.id)) || ' is open, although its task has ended'
FROM questions JOIN task ON task.id = questions.task WHERE questions.state = 0 AND task.state >= {completed};
-- name: repair_question_open
UPDATE questions SET state = 3, wake_at = NULL, revision = revision + 1, record = json_set(record, '$.state', 'withdrawn')
WHERE state = 0 AND EXISTS (SELECT 1 FROM task WHERE task.id = questions.task AND task.state >= {completed});

-- name: find_question_columns
SELECT task, 'question ' || lower(hex(id)) || ' is not indexed as its record says' FROM questions
WHERE json_extract(record, '$.state') IS NOT
    (CASE state WHEN 0 THEN 'open' WHEN 1 THEN 'answered' WHEN 2 THEN 'expired' WHEN 3 THEN 'withdrawn' END)
  OR json_extract(record, '$.owner') IS NOT owner OR (state <> 0 AND wake_at IS NOT NULL);
-- name: repair_question_columns
UPDATE questions SET owner = coalesce(json_extract(record, '$.owner'), ''),
  state = CASE json_extract(record, '$.state') WHEN 'open' THEN 0 WHEN 'answered' THEN 1 WHEN 'expired' THEN 2 ELSE 3 END,
  wake_at = iif(json_extract(record, '$.state') = 'open', wake_at, NULL);

-- name: find_open_questions
SELECT id, 'counts ' || open_questions || ' open questions, which is not what it has' FROM task
WHERE open_questions <> (SELECT count(*) FROM questions WHERE questions.task = task.id AND questions.state = 0);
-- name: repair_open_questions
UPDATE task SET open_questions = (SELECT count(*) FROM questions WHERE questions.task = task.id AND questions.state = 0),
  revision = revision + 1
WHERE open_questions <> (SELECT count(*) FROM questions WHERE questions.task = task.id AND questions.state = 0);

-- name: find_asked
SELECT task.id, 'has asked ' || count(*) || ' questions, but counts ' || asked FROM task JOIN questions ON questions.task = task.id
GROUP BY task.id HAVING count(*) > asked;
-- name: repair_asked
UPDATE task SET asked = (SELECT count(*) FROM questions WHERE questions.task = task.id), revision = revision + 1
WHERE asked < (SELECT count(*) FROM questions WHERE questions.task = task.id);

-- name: find_unmet_parents
SELECT id, 'waits for ' || unmet_parents || ' parents, but ' || unmet || ' are not done' FROM task JOIN true_parents USING (seq)
WHERE unmet_parents < unmet - cascading OR unmet_parents > unmet + cascading;
-- name: repair_unmet_parents
-- What a cascade may have counted already is left to it.
UPDATE task SET unmet_parents = (SELECT unmet FROM true_parents WHERE true_parents.seq = task.seq), revision = revision + 1
WHERE seq IN (SELECT seq FROM true_parents WHERE cascading = 0 AND unmet <> unmet_parents);

-- name: find_blocked_for_nothing
SELECT id, 'blocked, although all its parents are done' FROM task JOIN true_parents USING (seq) WHERE unmet = 0 AND cascading = 0;

-- name: find_parent_end_forgotten
SELECT child.id, 'still blocked, although a parent ended without completing'
FROM task AS child JOIN body ON body.seq = child.seq JOIN dependency ON dependency.child = child.seq
  JOIN task AS parent ON parent.seq = dependency.parent
WHERE child.state = {blocked} AND on_parent_failure <> 'run' AND parent.state > {completed} AND parent.cascade_at IS NULL
GROUP BY child.seq;
-- name: repair_parent_end_forgotten
-- The sweeper of cascades does the rest.
UPDATE task SET cascade_at = finished_at, revision = revision + 1
WHERE state > {completed} AND cascade_at IS NULL AND EXISTS (
  SELECT 1 FROM dependency JOIN task AS child ON child.seq = dependency.child JOIN body ON body.seq = child.seq
  WHERE dependency.parent = task.seq AND child.state = {blocked} AND on_parent_failure <> 'run');

-- name: find_lane_of_task
SELECT task.id, 'waits, but not in the lane of its name' FROM waiting JOIN task USING (seq) LEFT JOIN lane ON lane.id = task.lane
WHERE lane.name IS NOT waiting.name
UNION ALL
SELECT id, 'stands in a lane, but does not wait' FROM task WHERE state NOT IN ({pending}, {stalled}) AND lane IS NOT NULL;

-- name: find_lane
SELECT NULL, 'lane ' || name || ' is not there, or not as its tasks say' FROM (
  SELECT name, queue, rank, owner, type, cost, gates, head, tasks FROM true_lane
  EXCEPT SELECT name, queue, rank, owner, type, cost, gates, head, tasks FROM lane)
UNION ALL
SELECT NULL, 'lane ' || name || ' has no tasks' FROM (SELECT name FROM lane EXCEPT SELECT name FROM true_lane)
UNION ALL
SELECT NULL, 'lane ' || name || ' is parked at ' || parked_at || ', which is no gate of it' FROM lane
WHERE parked_at NOT IN ('all', 'queue:' || queue, 'type:' || type, 'owner:' || owner)
  AND instr(',' || gates || ',', ',' || parked_at || ',') = 0;

-- name: repair_lane
-- Every lane is open then: the next claims park it again where it must wait.
DELETE FROM lane;
INSERT INTO lane (name, queue, rank, owner, type, cost, gates, head, tasks)
  SELECT name, queue, rank, owner, type, cost, gates, head, tasks FROM true_lane;
UPDATE task SET lane = (SELECT lane.id FROM waiting JOIN lane USING (name) WHERE waiting.seq = task.seq)
WHERE state IN ({pending}, {stalled}) OR lane IS NOT NULL;

-- name: find_line
SELECT NULL, 'line ' || line || ' has no group of rank ' || rank || ' and owner ' || owner
FROM (SELECT line, rank, owner FROM true_group EXCEPT SELECT line, rank, owner FROM line_group)
UNION ALL
SELECT NULL, 'line ' || line || ' has a group of rank ' || rank || ' and owner ' || owner || ' without a lane'
FROM (SELECT line, rank, owner FROM line_group EXCEPT SELECT line, rank, owner FROM true_group)
UNION ALL
SELECT NULL, 'the group of rank ' || rank || ' and owner ' || owner || ' in line ' || line || ' is ahead of its share'
FROM line_group JOIN true_group USING (line, rank, owner) LEFT JOIN share USING (queue, rank, owner)
WHERE share.virtual_time IS NULL OR score > share.virtual_time;
-- name: repair_line
-- A score that is too small is put right by the next claim.
DELETE FROM line_group;
INSERT INTO line_group (line, rank, owner, score) SELECT line, rank, owner, 0 FROM true_group;
INSERT OR IGNORE INTO share (queue, rank, owner, virtual_time)
  SELECT lane.queue, lane.rank, lane.owner, coalesce(share_clock.virtual_time, 0)
  FROM lane LEFT JOIN share_clock ON share_clock.queue = lane.queue AND share_clock.rank = lane.rank;

-- name: find_conversation_orphan
SELECT NULL, 'conversation ' || key || ' of owner ' || owner || ' is not there, but has items' FROM (
  SELECT owner, key FROM conversation_item UNION SELECT owner, key FROM conversation_body
  EXCEPT SELECT owner, key FROM conversation);
-- name: repair_conversation_orphan
DELETE FROM conversation_item WHERE (owner, key) NOT IN (SELECT owner, key FROM conversation);
DELETE FROM conversation_body WHERE (owner, key) NOT IN (SELECT owner, key FROM conversation);

-- name: find_conversation_body
SELECT NULL, 'conversation ' || key || ' of owner ' || owner || ' has a body without an item: ' || seq FROM (
  SELECT owner, key, seq FROM conversation_body EXCEPT SELECT owner, key, seq FROM conversation_item);
-- name: repair_conversation_body
DELETE FROM conversation_body WHERE (owner, key, seq) NOT IN (SELECT owner, key, seq FROM conversation_item);

-- name: find_gate_wait
SELECT NULL, 'gate ' || name || ' is to be looked at, but nobody waits there' FROM gate
WHERE (wake_at IS NOT NULL OR cursor <> '') AND NOT EXISTS (SELECT 1 FROM lane WHERE parked_at = gate.name);
-- name: repair_gate_wait
UPDATE gate SET wake_at = NULL, cursor = ''
WHERE (wake_at IS NOT NULL OR cursor <> '') AND NOT EXISTS (SELECT 1 FROM lane WHERE parked_at = gate.name);

-- name: inventory
-- Result: version of the policy and whether it is there, the same of the access tokens, the first event that retention has
-- left, the last event, the first one that is there.
SELECT policy, EXISTS (SELECT 1 FROM config WHERE version = policy), access_tokens,
  EXISTS (SELECT 1 FROM document WHERE name = 'access_tokens'), first_event, event,
  (SELECT first FROM event_page ORDER BY last LIMIT 1)
FROM sequence;

-- name: find_weights
-- The engine writes them again, with the policy. A policy without weights needs none.
SELECT NULL, 'the weights of owners are not those of the policy'
WHERE NOT EXISTS (SELECT 1 FROM weight WHERE owner = '*') AND EXISTS (
  SELECT 1 FROM (SELECT iif(json_valid(document), document, '{}') AS policy FROM config ORDER BY version DESC LIMIT 1),
    json_each(policy, '$.owners') AS owner
  WHERE iif(owner.type = 'object', json_extract(owner.value, '$.weight'), NULL) IS NOT NULL);

-- name: find_held_bytes
SELECT id, 'holds ' || bytes || ' bytes, but ' || held_bytes || ' are counted' FROM task JOIN true_held USING (seq)
WHERE bytes <> held_bytes;
-- name: repair_held_bytes
UPDATE task SET held_bytes = (SELECT bytes FROM true_held WHERE true_held.seq = task.seq);

-- name: find_counts
SELECT NULL, 'the counts of ' || scope || ' are wrong' FROM (
  SELECT scope FROM (SELECT * FROM true_counts EXCEPT SELECT * FROM counts)
  UNION
  SELECT scope FROM (
    SELECT * FROM counts
    WHERE (blocked | scheduled | pending | running | stalled | completed | failed | cancelled | finished_bytes) <> 0
    EXCEPT SELECT * FROM true_counts));
-- name: repair_counts
DELETE FROM counts;
INSERT INTO counts SELECT * FROM true_counts;

-- name: find_answer_waits
SELECT NULL, 'the number of tasks of ' || owner || ' that wait for answers is wrong' FROM (
  SELECT owner FROM (SELECT * FROM true_answer_waits EXCEPT SELECT * FROM answer_waits)
  UNION
  SELECT owner FROM (SELECT * FROM answer_waits EXCEPT SELECT * FROM true_answer_waits));
-- name: repair_answer_waits
DELETE FROM answer_waits;
INSERT INTO answer_waits SELECT * FROM true_answer_waits;
