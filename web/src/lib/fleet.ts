// What a person can do about what the server reports: gates, stuck groups, alerts. Pure.
import type {Alert, Gate, Hold, Stats, StuckReport, Worker} from '../api/types';
import {parseTime} from './format';
import {quote} from './shell';

export type StuckGroup = StuckReport['groups'][number];

export const GATE_KINDS = ['all', 'queue', 'type', 'owner', 'provider', 'lock', 'session'] as const;
export type GateKind = (typeof GATE_KINDS)[number];

export function gateKind(name: string): GateKind {
  const kind = name.split(':', 1)[0] as GateKind;
  return GATE_KINDS.includes(kind) ? kind : 'lock';
}

/** The part after the colon; "all" for the gate of everything. */
export const gateSubject = (name: string): string => (name.includes(':') ? name.slice(name.indexOf(':') + 1) : name);

export const isHoldClosed = (hold: Hold, now: number): boolean => hold.closed_until === 'opened' || (parseTime(hold.closed_until) ?? 0) > now;

/** A breaker whose time is over lets one task through and decides by it. */
export const isProbing = (hold: Hold, now: number): boolean => hold.source === 'breaker' && hold.closed_until !== null && !isHoldClosed(hold, now);

export const isGateClosed = (gate: Gate, now: number): boolean => gate.closed_until === 'opened' || (parseTime(gate.closed_until) ?? 0) > now;

/** A provider that refused and is open again: more may start with each answer. */
export const isRamping = (gate: Gate, now: number): boolean => !isGateClosed(gate, now) && gate.holds.some(hold => hold.source === 'provider');

/** What a chip says of a provider that holds the fleet back, without its name and its tasks. */
export function rampWords(gate: Gate, now: number): string {
  if (!isRamping(gate, now)) return 'then one at a time';
  return gate.permits === 1 ? 'one at a time' : `${gate.permits ?? 'any number'} at once, more with each answer`;
}

/** Whether opening by hand changes anything: the limits of the policy stay. */
export const canOpen = (gate: Gate): boolean => gate.holds.some(hold => hold.source !== 'policy');

/** How many tasks workers could take at once behind a gate: the free slots of its queue, or of the whole fleet. */
export function freeSlots(gate: string, stats: Stats): number {
  const queue = stats.queues.find(one => one.name === gateSubject(gate));
  return gateKind(gate) === 'queue' ? queue?.free_slots ?? 0 : Math.max(0, stats.workers.slots - stats.workers.running);
}

/** Of the tasks that an open gate would release, those that start at once; the others wait for a worker. */
export const startsAtOnce = (gate: Gate, stats: Stats): number => Math.min(gate.would_start, freeSlots(gate.name, stats));

/** What holds most comes first: closed gates, then those that tasks wait for, then the rest by name. */
export function byUrgency(now: number): (one: Gate, other: Gate) => number {
  const rank = (gate: Gate): number => (isGateClosed(gate, now) ? 0 : gate.waiting_tasks > 0 ? 1 : canOpen(gate) ? 2 : 3);
  return (one, other) => rank(one) - rank(other) || other.waiting_tasks - one.waiting_tasks || (one.name < other.name ? -1 : 1);
}

export type Release =
  | {kind: 'open_gate'; gate: string}
  | {kind: 'limit'; gate: string; by: 'hand' | 'policy'}
  | {kind: 'worker'; queue: string; command: string}
  | {kind: 'line'; queue: string; command: string}
  | {kind: 'answer'; command: string}
  | {kind: 'store'};

/** What releases the tasks of a group. `gates` may lack the gate, when the caller may not see gates. */
export function releaseOf(group: StuckGroup, gates: readonly Gate[], now: number): Release {
  if (group.reason === 'store_regressed') return {kind: 'store'};
  if (group.reason === 'question') return {kind: 'answer', command: 'drover question list'};
  if (group.reason === 'gate' && group.gate !== null) {
    const gate = gates.find(one => one.name === group.gate);
    // `at` is null for a gate that waits for a hand, too.
    if (group.at !== null || (gate && isGateClosed(gate, now))) return {kind: 'open_gate', gate: group.gate};
    const smallest = gate?.holds.filter(hold => hold.permits !== null).sort((a, b) => a.permits! - b.permits!)[0];
    return {kind: 'limit', gate: group.gate, by: smallest?.source === 'operator' ? 'hand' : 'policy'};
  }
  const queue = group.queue ?? 'default';
  const command = `drover work --queue ${quote(queue)} -- COMMAND`;
  return group.reason === 'no_worker' ? {kind: 'worker', queue, command} : {kind: 'line', queue, command};
}

const REASONS: Record<StuckGroup['reason'], string> = {
  gate: 'held by a gate', in_line: 'in line for a worker', no_worker: 'no worker', question: 'waits for an answer', store_regressed: 'the store went backwards',
};

export const reasonWords = (group: StuckGroup): string => REASONS[group.reason];

const ALERTS: Record<Alert['kind'], string> = {
  breaker_open: 'Breaker open', breaker_stuck: 'Breaker stuck', dead_letter: 'Dead letters', failure: 'Serious failure', worker_lost: 'Worker lost',
  not_served: 'Queue not served', held: 'Tasks held back', idle_workers: 'Idle workers', waiting: 'Many tasks wait', lag: 'Long waits',
  running_per_worker: 'Busy workers', no_progress: 'No progress',
};

export const alertWords = (kind: Alert['kind']): string => ALERTS[kind] ?? kind.replaceAll('_', ' ');

export type AlertPlace = {page: 'gate' | 'queue' | 'worker' | 'task' | 'dlq' | 'none'; subject: string};

const GATE_ALERTS: ReadonlySet<Alert['kind']> = new Set(['breaker_open', 'breaker_stuck', 'held']);

/** Where to look into it. */
export function placeOf(alert: Pick<Alert, 'kind' | 'subject'>): AlertPlace {
  const subject = gateSubject(alert.subject);
  if (alert.kind === 'dead_letter') return {page: 'dlq', subject};
  if (GATE_ALERTS.has(alert.kind)) return {page: 'gate', subject: alert.subject};
  if (alert.subject.startsWith('worker:')) return {page: 'worker', subject};
  if (alert.subject.startsWith('task:')) return {page: 'task', subject};
  if (alert.subject.startsWith('queue:')) return {page: 'queue', subject};
  return {page: 'none', subject: alert.subject};
}

export const isSnoozed = (alert: Alert, now: number): boolean => (parseTime(alert.snoozed_until) ?? 0) > now;

/** Critical first, snoozed last, the oldest of each first. */
export function sortAlerts(alerts: readonly Alert[], now: number): Alert[] {
  const rank = (alert: Alert): number => (isSnoozed(alert, now) ? 2 : alert.severity === 'critical' ? 0 : 1);
  return [...alerts].sort((one, other) => rank(one) - rank(other) || Date.parse(one.raised_at) - Date.parse(other.raised_at));
}

const SILENT_MS = 30_000;
export type WorkerState = 'working' | 'idle' | 'full' | 'draining' | 'silent';

export function workerState(worker: Worker, now: number): WorkerState {
  if (now - Date.parse(worker.last_beat_at) > SILENT_MS) return 'silent';
  if (worker.draining) return 'draining';
  if (worker.running === 0) return 'idle';
  return worker.running >= worker.capacity ? 'full' : 'working';
}
