-- name: book
-- Inputs: day, owner, type, runner, model, class, and eleven amounts in the order of the columns. Writes: ledger.
INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
ON CONFLICT (day, owner, type, runner, model, class) DO UPDATE SET
  input_tokens = input_tokens + excluded.input_tokens,
  cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
  cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
  turns = turns + excluded.turns,
  tool_calls = tool_calls + excluded.tool_calls,
  runs = runs + excluded.runs,
  reported_cost = reported_cost + excluded.reported_cost,
  table_cost = table_cost + excluded.table_cost,
  unpriced_tokens = unpriced_tokens + excluded.unpriced_tokens;

-- name: days
-- Result: the days that it has something of.
SELECT DISTINCT day FROM ledger ORDER BY day;

-- name: of_day
-- Inputs: day. Result: all columns.
SELECT * FROM ledger WHERE day = ?1;

-- name: forget_before
-- Inputs: the first day that stays. Writes: ledger.
DELETE FROM ledger WHERE day < ?1;
