-- Gates: what is set, what is used, who waits. See gates.cc.

-- name: read
-- Inputs: name. Result: the columns but the first.
SELECT revision, record, in_use, rate_at_us, wake_at, cursor FROM gate WHERE name = ?1;

-- name: put
-- Inputs: every column in order. Writes: gate.
INSERT OR REPLACE INTO gate (name, revision, record, in_use, rate_at_us, wake_at, cursor) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: delete
-- Inputs: name. Writes: gate.
DELETE FROM gate WHERE name = ?1;

-- name: due
-- Inputs: wall time, limit. Result: names of the gates whose time has come.
SELECT name FROM gate INDEXED BY gate_wake WHERE wake_at <= ?1 ORDER BY wake_at, name LIMIT ?2;

-- name: shown
-- Result: names of the gates that are set or waited at, but those of sessions, which are many (';' follows ':').
SELECT name FROM gate WHERE name < 'session:' AND revision > 0
UNION
SELECT name FROM gate WHERE name >= 'session;' AND revision > 0
UNION
SELECT DISTINCT parked_at FROM lane WHERE parked_at IS NOT NULL AND (parked_at < 'session:' OR parked_at >= 'session;') ORDER BY 1;

-- name: stored_from
-- Inputs: what names begin with, the first that does not, the name after which to begin, limit. Result: names of gates that are set.
SELECT name FROM gate WHERE name >= ?1 AND name < ?2 AND name > ?3 AND revision > 0 ORDER BY name LIMIT ?4;

-- name: owners
-- Result: names of the gates of owners that are used, waited at, or would be used if they had permits; not of owner:*.
SELECT name FROM gate WHERE name GLOB 'owner:*' AND name <> 'owner:*'
UNION
SELECT DISTINCT parked_at FROM lane WHERE parked_at GLOB 'owner:*'
UNION
SELECT DISTINCT 'owner:' || owner FROM task INDEXED BY task_leased CROSS JOIN body USING (seq) WHERE lease_until_mono IS NOT NULL;

-- name: count_running
-- Inputs: gate, time. Result: how many running tasks, started then or later, have the gate.
SELECT count(*) FROM task INDEXED BY task_leased CROSS JOIN body USING (seq)
WHERE lease_until_mono IS NOT NULL AND state = {running} AND started_at >= ?2
  AND (?1 IN ('all', 'queue:' || queue, 'type:' || type, 'owner:' || owner) OR instr(',' || gates || ',', ',' || ?1 || ',') > 0);

-- name: in_use
-- Result: names of the gates that are used, and of those that running tasks have.
SELECT name FROM gate
UNION
SELECT 'all'
UNION
SELECT DISTINCT 'queue:' || queue FROM task JOIN body USING (seq) WHERE state = {running}
UNION
SELECT DISTINCT 'type:' || type FROM task JOIN body USING (seq) WHERE state = {running}
UNION
SELECT DISTINCT 'owner:' || owner FROM task JOIN body USING (seq) WHERE state = {running}
UNION
SELECT DISTINCT value FROM task JOIN body USING (seq), json_each('["' || replace(gates, ',', '","') || '"]')
WHERE state = {running} AND gates <> '';

-- name: next_wake
-- Result: when the first gate is to be looked at.
SELECT min(wake_at) FROM gate INDEXED BY gate_wake WHERE wake_at IS NOT NULL;

-- name: forget_unused
-- Inputs: microseconds since 1970. Writes: gate. Rows that only remember units that have long come back.
DELETE FROM gate WHERE revision = 0 AND in_use = 0 AND wake_at IS NULL AND cursor = '' AND rate_at_us <= ?1;
