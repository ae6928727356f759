-- What is spent of the budgets of gates, and set aside. See spend.cc and gate_rows.cc.

-- name: of_gate
-- Inputs: gate. Result: unit, period and amount of each row.
SELECT unit, period, amount FROM spend WHERE gate = ?1;

-- name: put
-- Inputs: gate, unit, period, amount. Writes: spend.
INSERT INTO spend (gate, unit, period, amount) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (gate, unit, period) DO UPDATE SET amount = excluded.amount;

-- name: delete
-- Inputs: gate, unit, period. Writes: spend.
DELETE FROM spend WHERE gate = ?1 AND unit = ?2 AND period = ?3;

-- name: all
-- Result: every column, in order.
SELECT gate, unit, period, amount FROM spend ORDER BY gate, unit, period;

-- name: asides
-- Result: gate, unit and amount of what is set aside, in order.
SELECT gate, unit, amount FROM spend WHERE period = '' ORDER BY gate, unit;

-- name: forget_asides
-- Writes: spend.
DELETE FROM spend WHERE period = '';

-- name: forget_periods_of
-- Inputs: gate, unit, period. Writes: spend. Earlier periods of the same length and zone.
DELETE FROM spend WHERE gate = ?1 AND unit = ?2 AND period < ?3 AND length(period) = length(?3)
  AND instr(period, '@') > 0 AND substr(period, instr(period, '@')) = substr(?3, instr(?3, '@'));

-- name: forget_periods_of_owners
-- Inputs: unit, period. Writes: spend. The same, of every owner.
DELETE FROM spend WHERE gate GLOB 'owner:*' AND unit = ?1 AND period < ?2 AND length(period) = length(?2)
  AND instr(period, '@') > 0 AND substr(period, instr(period, '@')) = substr(?2, instr(?2, '@'));

-- name: running
-- Result: queue, type, owner, gates and budget of each running task.
SELECT queue, type, owner, gates, run_budget FROM task INDEXED BY task_leased CROSS JOIN body USING (seq)
WHERE lease_until_mono IS NOT NULL AND state = {running};
