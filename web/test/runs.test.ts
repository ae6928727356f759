import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Run} from '../src/api/types';
import {placeRuns} from '../src/pages/task/runs';

const at = (second: number) => new Date(Date.UTC(2026, 10, 18, 12, 0, second)).toISOString();
const run = (number: number, from: number, to: number | null): Run => ({
  run: number, generation: 1, worker_id: 'w', started_at: at(from), ended_at: to === null ? null : at(to), outcome: to === null ? null : 'retrying', error: null,
  exit_code: null, note: null, usage: null, change: null, evidence: null,
});

test('waiting and running share one scale', () => {
  const placed = placeRuns(Date.parse(at(0)), [run(1, 10, 20), run(2, 30, 40)], 0);
  assert.deepEqual(placed, [
    {waiting: {from: 0, to: 25}, running: {from: 25, to: 50}},
    {waiting: {from: 50, to: 75}, running: {from: 75, to: 100}},
  ]);
});

test('a run that has not ended reaches to now', () => {
  const [placed] = placeRuns(Date.parse(at(0)), [run(1, 10, null)], Date.parse(at(20)));
  assert.deepEqual(placed!.running, {from: 50, to: 100});
});
