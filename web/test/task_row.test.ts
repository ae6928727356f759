import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Event, TaskSummary} from '../src/api/types';
import {parseQuery} from '../src/lib/query';
import {afterEvent, mayEnter, rowOf, stillMatches} from '../src/pages/tasks/task_row';

const summary: TaskSummary = {
  id: '01a1eebd-4c14-7f03-9214-b42b7fa4222f', type: 'review', queue: 'eng', owner: 'ana', state: 'pending', priority: 5, parent_id: null, run: 0, attempts: 0,
  max_attempts: 3, generation: 1, run_at: null, created_at: '2026-11-18T12:00:00.000Z', started_at: null, finished_at: null, progress: null, worker_id: null,
  usage: null, cancel_requested_at: null, tags: ['x'], model: null, agent_id: null, excerpt: 'do it', error: null, escalated: false,
};
const event = (name: string, state: Event['state'], data: Record<string, unknown> = {}): Event => ({
  seq: 1, at: '2026-11-18T12:01:00.000Z', name, task_id: summary.id, type: 'review', queue: 'eng', owner: 'ana', state, run: 1, generation: 1, data,
});

test('a life by events', () => {
  let row = rowOf(summary);
  assert.equal(row.cost, undefined);
  row = afterEvent(row, event('task.claimed', 'running', {worker_id: 'w'}));
  assert.deepEqual([row.state, row.worker, row.attempts], ['running', 'w', 1]);
  row = afterEvent(row, event('task.progressed', 'running', {percent: 40, message: 'half'}));
  assert.deepEqual([row.percent, row.message], [40, 'half']);
  row = afterEvent(row, event('task.cancel_requested', 'running'));
  assert.equal(row.isStopping, true);
  row = afterEvent(row, event('task.failed', 'failed', {class: 'timeout', message: 'too slow'}));
  assert.deepEqual([row.state, row.errorClass, row.isStopping, row.cost], ['failed', 'timeout', false, null]);
  row = afterEvent(row, event('task.retried', 'pending'));
  assert.deepEqual([row.state, row.attempts, row.errorClass], ['pending', 0, '']);
});

test('an event that changes nothing keeps the object', () => {
  const row = afterEvent(rowOf(summary), event('task.updated', 'pending'));
  assert.equal(afterEvent(row, event('task.updated', 'pending')), row);
});

test('what leaves a list, and what may come into it', () => {
  const row = rowOf(summary);
  assert.equal(stillMatches(row, parseQuery('state:pending tag:x,y owner:ana words')), true);
  assert.equal(stillMatches(row, parseQuery('state:failed')), false);
  assert.equal(stillMatches(row, parseQuery('tag:z')), false);
  assert.equal(mayEnter(event('task.enqueued', 'pending'), parseQuery('queue:eng')), true);
  assert.equal(mayEnter(event('task.enqueued', 'pending'), parseQuery('queue:other')), false);
  assert.equal(mayEnter(event('task.claimed', 'running'), parseQuery('')), false);
  assert.equal(mayEnter(event('task.claimed', 'running'), parseQuery('state:running')), true);
});
