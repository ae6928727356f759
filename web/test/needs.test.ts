import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Alert, ErrorGroup, Event} from '../src/api/types';
import {escalationsOf, isNewKind, needsOf} from '../src/lib/needs';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const group = (changes: Partial<ErrorGroup>): ErrorGroup =>
  ({fingerprint: 'f1', class: 'timeout', pattern: 'p', count: 3, escalated: 0, types: ['a'], first_at: '2026-11-18T09:00:00Z', last_at: '2026-11-18T11:00:00Z', example: 'x', ...changes});
const alert = (changes: Partial<Alert>): Alert =>
  ({key: 'k', kind: 'held', severity: 'critical', subject: 'queue:eng', detail: '', fix: '', raised_at: '2026-11-18T11:00:00Z', snoozed_until: null, snoozed_by: null, snoozed_why: null, ...changes});
const event = (seq: number, data: Record<string, unknown>): Event =>
  ({seq, at: '2026-11-18T10:00:00Z', name: 'task.escalated', task_id: 'x', type: null, queue: null, owner: null, state: 'failed', run: null, generation: null, data});

test('rows stand in the order of their worth', () => {
  const rows = needsOf({alerts: [alert({}), alert({key: 'w', severity: 'warning'}), alert({key: 's', snoozed_until: '2026-11-18T13:00:00Z'})],
    escalated: [group({fingerprint: 'f2'})], groups: [group({}), group({fingerprint: 'f2', escalated: 3})], escalations: new Map(), seen: new Set()}, NOW);
  assert.deepEqual(rows.map(row => row.key), ['alert k', 'escalated f2', 'new f1']);
});

test('a kind of failure is new for a day, until it is known or handed over', () => {
  assert.equal(isNewKind(group({}), NOW, new Set()), true);
  assert.equal(isNewKind(group({first_at: '2026-11-16T09:00:00Z'}), NOW, new Set()), false);
  assert.equal(isNewKind(group({}), NOW, new Set(['f1'])), false);
  assert.equal(isNewKind(group({escalated: 3}), NOW, new Set()), false);
  assert.equal(isNewKind(group({fingerprint: null}), NOW, new Set()), false);
});

test('the latest escalation counts, and foreign data does no harm', () => {
  const found = escalationsOf([event(9, {to: 'ben', by: 'me', why: 'cart'}), event(4, {to: 'ana', by: 'me', why: ''})]);
  assert.deepEqual(found.get('x'), {to: 'ben', by: 'me', why: 'cart', at: '2026-11-18T10:00:00Z'});
  assert.deepEqual(escalationsOf([event(1, {to: 5})]).get('x')?.to, '');
  assert.equal(escalationsOf([{...event(1, {}), name: 'task.failed'}]).size, 0);
});
