-- Lanes, and the lines in which they stand. See lanes.cc and docs/internals/lanes-and-gates.md.

-- name: find
-- Inputs: name. Result: id and head.
SELECT id, head FROM lane WHERE name = ?1;

-- name: read
-- Inputs: id. Result: the columns of a lane, as read_lane() takes them.
SELECT id, queue, rank, owner, type, cost, gates, head, parked_at FROM lane WHERE id = ?1;

-- name: insert
-- Inputs: name, queue, rank, owner, type, cost, gates, head. Writes: lane.
INSERT INTO lane (name, queue, rank, owner, type, cost, gates, head, tasks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0);

-- name: add_tasks
-- Inputs: id, how many more. Writes: lane.
UPDATE lane SET tasks = tasks + ?2 WHERE id = ?1;

-- name: set_head
-- Inputs: id, head. Writes: lane.
UPDATE lane SET head = ?2 WHERE id = ?1;

-- name: set_parked_at
-- Inputs: id, gate or null. Writes: lane.
UPDATE lane SET parked_at = ?2 WHERE id = ?1;

-- name: delete
-- Inputs: id. Writes: lane.
DELETE FROM lane WHERE id = ?1;

-- name: next_place
-- Inputs: id, place. Result: the smallest place behind that one.
SELECT min(place) FROM task INDEXED BY task_ready WHERE lane = ?1 AND place > ?2;

-- name: ahead
-- Inputs: id, place, limit. Result: how many tasks stand before that place.
SELECT count(*) FROM (SELECT 1 FROM task INDEXED BY task_ready WHERE lane = ?1 AND place < ?2 LIMIT ?3);

-- name: first_group
-- Inputs: line, queue. Result: rank, owner, score and true virtual time of the first group by score.
SELECT g.rank, g.owner, g.score, s.virtual_time
FROM line_group AS g INDEXED BY line_order CROSS JOIN share AS s ON s.queue = ?2 AND s.rank = g.rank AND s.owner = g.owner
WHERE g.line = ?1 ORDER BY g.rank, g.score, g.owner LIMIT 1;

-- name: best_rank
-- Inputs: line. Result: its best rank, if it has a lane.
SELECT rank FROM line_group WHERE line = ?1 ORDER BY rank LIMIT 1;

-- name: enter_group
-- Inputs: line, rank, owner, virtual time. Writes: line_group. A group that is there keeps its score: it may be too small.
INSERT INTO line_group (line, rank, owner, score) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (line, rank, owner) DO NOTHING;

-- name: set_score
-- Inputs: as enter_group. Writes: line_group.
UPDATE line_group SET score = ?4 WHERE line = ?1 AND rank = ?2 AND owner = ?3;

-- name: leave_group
-- Inputs: line, rank, owner. Writes: line_group.
DELETE FROM line_group WHERE line = ?1 AND rank = ?2 AND owner = ?3;

-- The first lane of a group, in each kind of line. Inputs: queue, rank, owner, then the type or the gate. Result: as read.
-- name: first_in_queue
SELECT id, queue, rank, owner, type, cost, gates, head, parked_at FROM lane INDEXED BY lane_of_owner
WHERE queue = ?1 AND rank = ?2 AND owner = ?3 AND parked_at IS NULL ORDER BY head LIMIT 1;
-- name: first_of_type
SELECT id, queue, rank, owner, type, cost, gates, head, parked_at FROM lane INDEXED BY lane_of_type
WHERE queue = ?1 AND rank = ?2 AND owner = ?3 AND type = ?4 AND parked_at IS NULL ORDER BY head LIMIT 1;
-- name: first_parked
SELECT id, queue, rank, owner, type, cost, gates, head, parked_at FROM lane INDEXED BY lane_parked
WHERE queue = ?1 AND rank = ?2 AND owner = ?3 AND parked_at = ?4 ORDER BY head LIMIT 1;

-- The lanes of an open line that waited longest. Inputs: queue, how many, then the type. Result: as read.
-- name: oldest_in_queue
SELECT id, queue, rank, owner, type, cost, gates, head, parked_at FROM lane INDEXED BY lane_oldest
WHERE queue = ?1 AND parked_at IS NULL ORDER BY head LIMIT ?2;
-- name: oldest_of_type
SELECT id, queue, rank, owner, type, cost, gates, head, parked_at FROM lane INDEXED BY lane_oldest_of_type
WHERE queue = ?1 AND type = ?3 AND parked_at IS NULL ORDER BY head LIMIT ?2;

-- name: is_waited_at
-- Inputs: gate. Result: 1 if a lane is parked there.
SELECT 1 FROM lane INDEXED BY lane_parked WHERE parked_at = ?1 LIMIT 1;

-- name: waiting_lanes
-- Inputs: gate. Result: how many lanes are parked there.
SELECT count(*) FROM lane INDEXED BY lane_parked WHERE parked_at = ?1;

-- name: least_cost
-- Inputs: gate. Result: the smallest cost of the lanes parked there.
SELECT min(cost) FROM lane INDEXED BY lane_parked WHERE parked_at = ?1;

-- name: waiting_types
-- Inputs: gate. Result: the types of the lanes parked there.
SELECT DISTINCT type FROM lane INDEXED BY lane_parked WHERE parked_at = ?1;

-- name: next_queue
-- Inputs: gate, queue. Result: the next queue, by name, with lanes parked there.
SELECT queue FROM lane INDEXED BY lane_parked WHERE parked_at = ?1 AND queue > ?2 ORDER BY queue LIMIT 1;

-- name: virtual_time
-- Inputs: queue, rank, owner. Result: the owner's virtual time.
SELECT virtual_time FROM share WHERE queue = ?1 AND rank = ?2 AND owner = ?3;

-- Inputs of both: queue, rank, owner, virtual time. Writes: share.
-- name: update_virtual_time
UPDATE share SET virtual_time = ?4 WHERE queue = ?1 AND rank = ?2 AND owner = ?3;
-- name: insert_virtual_time
INSERT INTO share (queue, rank, owner, virtual_time) VALUES (?1, ?2, ?3, ?4);

-- name: clock
-- Inputs: queue, rank. Result: the largest virtual time that was served there.
SELECT virtual_time FROM share_clock WHERE queue = ?1 AND rank = ?2;

-- Inputs of both: queue, rank, virtual time. Writes: share_clock.
-- name: raise_clock
UPDATE share_clock SET virtual_time = max(virtual_time, ?3) WHERE queue = ?1 AND rank = ?2;
-- name: insert_clock
INSERT INTO share_clock (queue, rank, virtual_time) VALUES (?1, ?2, ?3);

-- name: weight
-- Inputs: owner. Result: its weight, or that of everybody else.
SELECT coalesce((SELECT weight FROM weight WHERE owner = ?1), (SELECT weight FROM weight WHERE owner = '*'));

-- name: line_state
-- Inputs: line. Result: tasks served, turn.
SELECT served, turn FROM line_state WHERE line = ?1;

-- Inputs of both: line, tasks served, turn. Writes: line_state.
-- name: update_line_state
UPDATE line_state SET served = ?2, turn = ?3 WHERE line = ?1;
-- name: insert_line_state
INSERT INTO line_state (line, served, turn) VALUES (?1, ?2, ?3);

-- name: pool_visits
-- Inputs: lines. Result: visits that took something.
SELECT visits FROM pool WHERE lines = ?1;

-- name: add_pool_visit
-- Inputs: lines. Writes: pool.
INSERT INTO pool (lines, visits) VALUES (?1, 1) ON CONFLICT (lines) DO UPDATE SET visits = visits + 1;

-- name: forget_shares
-- Inputs: limit. Writes: share. Owners without lanes that have no advantage to lose.
DELETE FROM share WHERE (queue, rank, owner) IN (
  SELECT s.queue, s.rank, s.owner FROM share AS s JOIN share_clock AS c ON c.queue = s.queue AND c.rank = s.rank
  WHERE s.virtual_time <= c.virtual_time AND NOT EXISTS (
    SELECT 1 FROM lane INDEXED BY lane_of_owner WHERE lane.queue = s.queue AND lane.rank = s.rank AND lane.owner = s.owner)
  LIMIT ?1);
