import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Alert, Gate, Hold, Stats, Worker} from '../src/api/types';
import {byUrgency, canOpen, freeSlots, gateKind, gateSubject, isProbing, isRamping, isSnoozed, placeOf, rampWords, releaseOf, sortAlerts, startsAtOnce, workerState, type StuckGroup} from '../src/lib/fleet';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const later = '2026-11-18T12:10:00Z';
const earlier = '2026-11-18T11:50:00Z';
const hold = (changes: Partial<Hold>): Hold => ({source: 'policy', closed_until: null, permits: null, why: '', by: '', since: earlier, ...changes});
const gate = (name: string, changes: Partial<Gate> = {}): Gate =>
  ({name, closed_until: null, permits: null, in_use: null, rate: null, burst: null, waiting_lanes: 0, waiting_tasks: 0, would_start: 0, holds: [], ...changes});
const group = (changes: Partial<StuckGroup>): StuckGroup => ({reason: 'gate', gate: null, queue: null, tasks: 1, since: earlier, example: 'x', text: 't', at: null, ...changes});
const alert = (changes: Partial<Alert>): Alert =>
  ({key: 'k', kind: 'held', severity: 'warning', subject: 'queue:eng', detail: '', fix: '', raised_at: earlier, snoozed_until: null, snoozed_by: null, snoozed_why: null, ...changes});

test('gates have a kind and a subject, which may hold colons', () => {
  assert.equal(gateKind('all'), 'all');
  assert.equal(gateKind('provider:acme'), 'provider');
  assert.equal(gateSubject('lock:host:22'), 'host:22');
});

test('what is closed comes first, then what tasks wait for', () => {
  const gates = [gate('queue:z'), gate('queue:w', {waiting_tasks: 3}), gate('type:a', {closed_until: 'opened'}), gate('queue:v', {waiting_tasks: 9})];
  assert.deepEqual(gates.sort(byUrgency(NOW)).map(one => one.name), ['type:a', 'queue:v', 'queue:w', 'queue:z']);
});

test('only holds that are not the policy\'s can be lifted', () => {
  assert.equal(canOpen(gate('queue:a', {holds: [hold({permits: 3})]})), false);
  assert.equal(canOpen(gate('queue:a', {holds: [hold({source: 'operator', permits: 3})]})), true);
});

test('a breaker whose time is over is probing', () => {
  assert.equal(isProbing(hold({source: 'breaker', closed_until: earlier}), NOW), true);
  assert.equal(isProbing(hold({source: 'breaker', closed_until: later}), NOW), false);
  assert.equal(isProbing(hold({source: 'operator', closed_until: earlier}), NOW), false);
});

test('opening a gate starts what workers have room for', () => {
  const stats = {queues: [{name: 'eng', free_slots: 2}], workers: {slots: 12, running: 7}} as unknown as Stats;
  assert.equal(freeSlots('queue:eng', stats), 2);
  assert.equal(freeSlots('queue:nobody', stats), 0);
  assert.equal(freeSlots('owner:ann', stats), 5);
  assert.equal(startsAtOnce(gate('all', {would_start: 300}), stats), 5);
  assert.equal(startsAtOnce(gate('queue:eng', {would_start: 1}), stats), 1);
});

test('a provider that comes back says how many may start', () => {
  const closed = gate('provider:x', {closed_until: later, permits: 1, holds: [hold({source: 'provider', closed_until: later, permits: 1})]});
  assert.equal(isRamping(closed, NOW), false);
  const open = (permits: number, ...others: Hold[]): Gate => gate('provider:x', {permits, holds: [...others, hold({source: 'provider', closed_until: earlier, permits})]});
  assert.equal(isRamping(open(1), NOW), true);
  assert.equal(rampWords(open(1)), '1 at once, growing');
  assert.equal(rampWords(open(2, hold({permits: 8}))), '2 of 8 at once, growing');
  assert.equal(isRamping(gate('provider:x', {holds: [hold({permits: 3})]}), NOW), false);
});

test('each reason has its release', () => {
  assert.deepEqual(releaseOf(group({gate: 'provider:x', at: later}), [], NOW), {kind: 'open_gate', gate: 'provider:x'});
  assert.deepEqual(releaseOf(group({gate: 'queue:ops'}), [gate('queue:ops', {closed_until: 'opened'})], NOW), {kind: 'open_gate', gate: 'queue:ops'});
  assert.deepEqual(releaseOf(group({gate: 'queue:eng'}), [gate('queue:eng', {holds: [hold({permits: 6}), hold({source: 'operator', permits: 2})]})], NOW), {kind: 'limit', gate: 'queue:eng', by: 'hand'});
  assert.deepEqual(releaseOf(group({gate: 'queue:eng'}), [], NOW), {kind: 'limit', gate: 'queue:eng', by: 'policy'});
  assert.deepEqual(releaseOf(group({reason: 'no_worker', queue: 'i18n'}), [], NOW), {kind: 'worker', queue: 'i18n', command: 'drover work --queue i18n -- COMMAND'});
  assert.equal(releaseOf(group({reason: 'in_line', queue: 'a b'}), [], NOW).kind, 'line');
  assert.equal(releaseOf(group({reason: 'store_regressed'}), [], NOW).kind, 'store');
});

test('alerts lead to what they are about', () => {
  assert.deepEqual(placeOf({kind: 'held', subject: 'provider:x'}), {page: 'gate', subject: 'provider:x'});
  assert.deepEqual(placeOf({kind: 'dead_letter', subject: 'queue:eng'}), {page: 'dlq', subject: 'eng'});
  assert.deepEqual(placeOf({kind: 'worker_lost', subject: 'worker:mac:1'}), {page: 'worker', subject: 'mac:1'});
  assert.deepEqual(placeOf({kind: 'no_progress', subject: 'task:0197'}), {page: 'task', subject: '0197'});
  assert.deepEqual(placeOf({kind: 'lag', subject: 'queue:eng'}), {page: 'queue', subject: 'eng'});
});

test('critical alerts come first, snoozed ones last', () => {
  const alerts = [alert({key: 'snoozed', severity: 'critical', snoozed_until: later}), alert({key: 'warning'}), alert({key: 'critical', severity: 'critical'}), alert({key: 'older', raised_at: '2026-11-18T10:00:00Z'})];
  assert.deepEqual(sortAlerts(alerts, NOW).map(one => one.key), ['critical', 'older', 'warning', 'snoozed']);
  assert.equal(isSnoozed(alert({snoozed_until: earlier}), NOW), false);
});

test('a worker is silent before it is anything else', () => {
  const worker = (changes: Partial<Worker>): Worker => ({id: 'w', version: '1', serves: [], capacity: 2, running: 1, registered_at: earlier, last_beat_at: '2026-11-18T11:59:50Z', draining: false, drain_by: '', drain_reason: '', token_id: '', ...changes});
  assert.equal(workerState(worker({}), NOW), 'working');
  assert.equal(workerState(worker({running: 2}), NOW), 'full');
  assert.equal(workerState(worker({running: 0}), NOW), 'idle');
  assert.equal(workerState(worker({draining: true, running: 0}), NOW), 'draining');
  assert.equal(workerState(worker({draining: true, last_beat_at: earlier}), NOW), 'silent');
});
