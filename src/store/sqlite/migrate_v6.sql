-- From schema 5 to 6. Purpose: what each owner has in each queue, for those who may see nothing else. Inputs: schema 5. Result: none.
-- Writes: counts, whose scope may be 'own:OWNER|QUEUE', too.

INSERT INTO counts
  SELECT 'own:' || owner || '|' || queue, sum(state = 0), sum(state = 1), sum(state = 2), sum(state = 3), sum(state = 4), sum(state = 5),
    sum(state = 6), sum(state = 7), sum(iif(state >= 5, held_bytes, 0))
  FROM task JOIN body USING (seq) GROUP BY owner, queue;
