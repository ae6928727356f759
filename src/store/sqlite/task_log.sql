-- The output of runs. See task_log.cc.

-- name: total
-- Inputs: task seq, run. Result: last_number, tail_number, head_bytes, tail_bytes, left_out_bytes of the run.
SELECT last_number, tail_number, head_bytes, tail_bytes, left_out_bytes FROM log_total WHERE seq = ?1 AND run = ?2;

-- name: last_number
-- Inputs: task seq. Result: the last number given to a piece of any of its runs.
SELECT max(last_number) FROM log_total WHERE seq = ?1;

-- name: put_total
-- Inputs: task seq, run, and the columns of total. Writes: log_total.
INSERT OR REPLACE INTO log_total (seq, run, last_number, tail_number, head_bytes, tail_bytes, left_out_bytes)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: insert_piece
-- Inputs: task seq, number, run, wall time, stream, text. Writes: log.
INSERT INTO log (seq, number, run, at, stream, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: piece
-- Inputs: task seq, number. Result: its stream and text.
SELECT stream, text FROM log WHERE seq = ?1 AND number = ?2;

-- name: delete_piece
-- Inputs: task seq, number. Writes: log.
DELETE FROM log WHERE seq = ?1 AND number = ?2;

-- name: page
-- Inputs: task id, after which number, limit, run (null: any), nothing. Result: pieces in order, each with what the cap left out
-- of its run, and the number of the first piece behind that.
SELECT log.number, log.run, log.at, log.stream, log.text, log_total.left_out_bytes, log_total.tail_number
FROM log JOIN log_total ON log_total.seq = log.seq AND log_total.run = log.run
WHERE log.seq = (SELECT seq FROM task WHERE id = ?1) AND log.number > ?2 AND (?4 IS NULL OR log.run = ?4) AND ?5 IS NULL
ORDER BY log.number LIMIT ?3;

-- name: page_before
-- The same from the other end. Inputs: as page, then before which number.
SELECT log.number, log.run, log.at, log.stream, log.text, log_total.left_out_bytes, log_total.tail_number
FROM log JOIN log_total ON log_total.seq = log.seq AND log_total.run = log.run
WHERE log.seq = (SELECT seq FROM task WHERE id = ?1) AND log.number > ?2 AND (?4 IS NULL OR log.run = ?4) AND log.number < ?5
ORDER BY log.number DESC LIMIT ?3;
