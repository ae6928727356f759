import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {StatsBucket, StatsHistory} from '../src/api/types';
import {columnsOf, histogram, largest, sum, sumKnown} from '../src/lib/history';

const bucket = (at: string, changes: Partial<StatsBucket>): StatsBucket => ({
  at, enqueued: 0, started: 0, completed: 0, failed: 0, retried: 0, deferred: 0, cancelled: 0, wait_p50_ms: null, wait_p95_ms: null, run_p95_ms: null,
  cost_micro_usd: null, tokens: null, ...changes,
});

test('buckets that the server leaves out count nothing, and their cost is unknown', () => {
  const history: StatsHistory = {
    step_ms: 60_000, from: '2026-11-18T12:00:00Z', until: '2026-11-18T12:03:00Z',
    buckets: [bucket('2026-11-18T12:01:00Z', {completed: 4, failed: 1, wait_p95_ms: 900, cost_micro_usd: 250_000})],
  };
  const columns = columnsOf(history);
  assert.deepEqual(columns.times, [0, 60, 120].map(add => Date.parse('2026-11-18T12:00:00Z') / 1000 + add));
  assert.deepEqual(columns.completed, [0, 4, 0]);
  assert.deepEqual(columns.failed, [0, 1, 0]);
  assert.deepEqual(columns.waitP95, [null, 900, null]);
  assert.deepEqual(columns.spend, [null, 0.25, null]);
});

test('a bucket that cost nothing is $0, not unknown', () => {
  const history: StatsHistory = {step_ms: 3_600_000, from: '2026-11-18T12:00:00Z', until: '2026-11-18T13:00:00Z', buckets: [bucket('2026-11-18T12:00:00Z', {cost_micro_usd: 0})]};
  assert.deepEqual(columnsOf(history).spend, [0]);
});

test('sums and maxima keep what is unknown apart from zero', () => {
  assert.equal(sum([1, null, 2]), 3);
  assert.equal(sumKnown([null, null]), null);
  assert.equal(sumKnown([null, 0]), 0);
  assert.equal(largest([null, 3, 7, null]), 7);
  assert.equal(largest([null]), null);
});

test('a histogram counts every time in the span once', () => {
  assert.deepEqual(histogram([0, 1, 49, 50, 100], 0, 100, 2), [3, 2]);
  assert.deepEqual(histogram([-1, 101], 0, 100, 4), [0, 0, 0, 0]);
});
