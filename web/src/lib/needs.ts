// What needs a person, in the order of its worth. Pure; the page and the badge show the same rows.
import type {Alert, Budget, ErrorGroup, Event, Question} from '../api/types';
import {budgetKey, byUse, isUsedUp} from './budgets';
import {isSnoozed, sortAlerts} from './fleet';

export interface Escalation {
  to: string;
  by: string;
  why: string;
  at: string;
}

export type Need =
  | {kind: 'question'; key: string; at: string; question: Question}
  | {kind: 'alert'; key: string; at: string; alert: Alert}
  | {kind: 'escalated'; key: string; at: string; group: ErrorGroup; escalation: Escalation | null}
  | {kind: 'budget'; key: string; at: string; budget: Budget}
  | {kind: 'new_failure'; key: string; at: string; group: ErrorGroup};

const NEW_MS = 24 * 3_600_000;

export interface NeedsInput {
  /** Open ones that are asked of people. */
  questions: readonly Question[];
  alerts: readonly Alert[];
  escalated: readonly ErrorGroup[];
  budgets: readonly Budget[];
  groups: readonly ErrorGroup[];
  /** The last escalation of tasks, by id. */
  escalations: ReadonlyMap<string, Escalation>;
  /** Kinds of failure that this person has looked at. */
  seen: ReadonlySet<string>;
}

/** A kind of failure is new for a day, until somebody judges it or says that it is known. */
export function isNewKind(group: ErrorGroup, now: number, seen: ReadonlySet<string>): boolean {
  if (group.fingerprint === null || seen.has(group.fingerprint)) return false;
  return group.escalated < group.count && now - Date.parse(group.first_at) < NEW_MS;
}

export function needsOf(input: NeedsInput, now: number): Need[] {
  const questions = [...input.questions].sort((one, other) => Date.parse(one.asked_at) - Date.parse(other.asked_at))
    .map((question): Need => ({kind: 'question', key: `question ${question.id}`, at: question.asked_at, question}));
  const alerts = sortAlerts(input.alerts, now).filter(alert => alert.severity === 'critical' && !isSnoozed(alert, now))
    .map((alert): Need => ({kind: 'alert', key: `alert ${alert.key}`, at: alert.raised_at, alert}));
  const escalated = input.escalated.map((group): Need => {
    const escalation = input.escalations.get(group.example) ?? null;
    return {kind: 'escalated', key: `escalated ${group.fingerprint}`, at: escalation?.at ?? group.last_at, group, escalation};
  });
  // A gate that asks has a question already.
  const asked = new Set(input.questions.map(question => question.gate));
  const budgets = input.budgets.filter(budget => isUsedUp(budget) && !asked.has(budget.gate)).sort(byUse)
    .map((budget): Need => ({kind: 'budget', key: `budget ${budgetKey(budget)}`, at: budget.resets_at ?? '', budget}));
  const fresh = input.groups.filter(group => isNewKind(group, now, input.seen))
    .map((group): Need => ({kind: 'new_failure', key: `new ${group.fingerprint}`, at: group.first_at, group}));
  return [...questions, ...alerts, ...escalated, ...budgets, ...fresh];
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Events, newest first or last: the latest escalation of each task counts. */
export function escalationsOf(events: readonly Event[]): Map<string, Escalation> {
  const found = new Map<string, Escalation>();
  for (const event of [...events].sort((one, other) => one.seq - other.seq))
    if (event.name === 'task.escalated' && event.task_id)
      found.set(event.task_id, {to: text(event.data['to']), by: text(event.data['by']), why: text(event.data['why']), at: event.at});
  return found;
}
