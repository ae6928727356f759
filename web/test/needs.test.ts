import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Alert, Budget, ErrorGroup, Event, Question} from '../src/api/types';
import {escalationsOf, isNewKind, needsOf} from '../src/lib/needs';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const group = (changes: Partial<ErrorGroup>): ErrorGroup =>
  ({fingerprint: 'f1', class: 'timeout', pattern: 'p', count: 3, escalated: 0, types: ['a'], first_at: '2026-11-18T09:00:00Z', last_at: '2026-11-18T11:00:00Z', example: 'x', ...changes});
const alert = (changes: Partial<Alert>): Alert =>
  ({key: 'k', kind: 'held', severity: 'critical', subject: 'queue:eng', detail: '', fix: '', raised_at: '2026-11-18T11:00:00Z', snoozed_until: null, snoozed_by: null, snoozed_why: null, ...changes});
const event = (seq: number, data: Record<string, unknown>): Event =>
  ({seq, at: '2026-11-18T10:00:00Z', name: 'task.escalated', task_id: 'x', type: null, queue: null, owner: null, state: 'failed', run: null, generation: null, data});
const question = (changes: Partial<Question>): Question => ({id: 'q1', asked_at: '2026-11-18T11:00:00Z', gate: null, ...changes}) as Question;
const budget = (changes: Partial<Budget>): Budget => ({gate: 'all', unit: 'usd', per: 'day', limit: 20, spent: 20, set_aside: 0, breached: false, resets_at: null, ...changes}) as Budget;
const none = {questions: [], alerts: [], escalated: [], budgets: [], groups: [], escalations: new Map(), seen: new Set<string>()};

test('rows stand in the order of their worth', () => {
  const rows = needsOf({...none, questions: [question({}), question({id: 'q0', asked_at: '2026-11-18T10:00:00Z'})],
    alerts: [alert({}), alert({key: 'w', severity: 'warning'}), alert({key: 's', snoozed_until: '2026-11-18T13:00:00Z'})],
    budgets: [budget({}), budget({gate: 'owner:a', spent: 3})], escalated: [group({fingerprint: 'f2'})], groups: [group({}), group({fingerprint: 'f2', escalated: 3})]}, NOW);
  assert.deepEqual(rows.map(row => row.key), ['question q0', 'question q1', 'alert k', 'escalated f2', 'budget all usd day', 'new f1']);
});

test('a budget that a question is about is not there twice', () => {
  const rows = needsOf({...none, questions: [question({gate: 'all'})], budgets: [budget({}), budget({gate: 'type:a', spent: 2, breached: true})]}, NOW);
  assert.deepEqual(rows.map(row => row.key), ['question q1', 'budget type:a usd day']);
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
