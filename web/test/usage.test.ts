import assert from 'node:assert/strict';
import {test} from 'node:test';
import {byCost, costOf, costOfTasks, costText, firstDay, roundMoney, total, unpricedText, wastedBy} from '../src/lib/usage';

test('unknown cost is not $0', () => {
  assert.equal(costText({runs: 3}), 'not reported');
  assert.equal(costText({input_tokens: 10, unpriced_tokens: 10, cost_usd: 0}), 'not reported');
  assert.equal(costText({input_tokens: 10, unpriced_tokens: 0, cost_usd: 0}), '$0');
  assert.equal(costText({input_tokens: 10, unpriced_tokens: 4, cost_usd: 1.5}), '$1.50');
  assert.equal(unpricedText({unpriced_tokens: 1200}), 'cost of 1.2k tokens not reported');
  assert.equal(unpricedText({}), '');
});

test('runs that did not complete are wasted', () => {
  const rows = [{type: 'a', class: 'completed', runs: 8}, {type: 'a', class: 'timeout', runs: 2}, {type: 'b', class: 'auth', runs: 1}];
  assert.deepEqual([...wastedBy(rows, 'type')], [['a', {runs: 10, wasted: 2}], ['b', {runs: 1, wasted: 1}]]);
});

test('rows add up, and the dearest comes first', () => {
  assert.deepEqual(total([{type: 'a', cost_usd: 1, runs: 2}, {type: 'b', cost_usd: 2}]), {cost_usd: 3, runs: 2});
  const rows = [{type: 'unknown', input_tokens: 99, unpriced_tokens: 99}, {type: 'free', input_tokens: 1}, {type: 'dear', input_tokens: 1, cost_usd: 9}];
  assert.deepEqual(rows.sort(byCost).map(row => row.type), ['dear', 'free', 'unknown']);
  assert.equal(costOf({}), null);
});

test('tasks cost what those say that say something', () => {
  assert.equal(costOfTasks([null, {cost_usd: null}]), null);
  assert.equal(costOfTasks([null, {cost_usd: 0.5}, {cost_usd: 1}]), 1.5);
});

test('days are those of the ledger', () => {
  assert.equal(firstDay(Date.parse('2026-11-18T23:59:00Z'), 1), '2026-11-18');
  assert.equal(firstDay(Date.parse('2026-11-18T00:01:00Z'), 7), '2026-11-12');
  assert.equal(roundMoney(40), '$40');
  assert.equal(roundMoney(0.2), '$0.20');
});
