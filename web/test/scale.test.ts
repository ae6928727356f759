import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runsOf} from '../src/charts/chart';
import {labelled, linesOf, stepFor} from '../src/lib/scale';

test('lines stand at round values, and there are few', () => {
  assert.deepEqual(linesOf(7, 3), [0, 5]);
  assert.deepEqual(linesOf(9.1, 3), [0, 5]);
  assert.deepEqual(linesOf(600, 3), [0, 200, 400, 600]);
  assert.deepEqual(linesOf(0, 3), [0]);
  assert.deepEqual(linesOf(2, 3, [1, 2, 5, 10]), [0, 1, 2]);
  assert.equal(stepFor(0.5, 3), 0.2);
  assert.equal(stepFor(280_000, 3, [60_000, 120_000, 300_000]), 120_000);
  assert.equal(stepFor(1e9, 3, [1, 2]), 5e8);
  for (const largest of [1, 3, 14, 99, 1234, 0.07]) assert.ok(linesOf(largest, 3).length <= 4, String(largest));
});

test('labels stand at round times of the zone', () => {
  const noon = Date.parse('2026-11-18T12:03:00Z') / 1000;
  const minutes = Array.from({length: 60}, (_, at) => noon + at * 60);
  assert.deepEqual(labelled(minutes, 6).map(at => (minutes[at]! / 60) % 10), [0, 0, 0, 0, 0, 0]);
  const hours = Array.from({length: 24}, (_, at) => Date.parse('2026-11-18T00:00:00Z') / 1000 + at * 3600);
  assert.deepEqual(labelled(hours, 5, 3600), [5, 11, 17, 23]);
  assert.deepEqual(labelled([5], 3), [0]);
  assert.deepEqual(labelled([], 3), []);
});

test('a gap is not drawn over', () => {
  assert.deepEqual(runsOf([1, 2, null, 3, null, 4, 5]), [[0, 1], [3], [5, 6]]);
  assert.deepEqual(runsOf([null]), []);
});
