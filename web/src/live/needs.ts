// The rows of "Needs you", for its page and for the badge, which is there on every page.
import {computed, effect, signal} from '@preact/signals';
import {call, describe} from '../api/client';
import {may, sessionState} from '../api/session';
import type {Alert, Budget, ErrorGroup, Question} from '../api/types';
import {now} from '../lib/clock';
import {escalationsOf, needsOf, type Escalation} from '../lib/needs';
import {recall, remember} from '../lib/settings';
import {onEvents, resync} from './live';

const QUIET_MS = 3000;
const EVERY_MS = 60_000;
const EVENTS = 200;
const QUESTION_PAGES = 5;
const SEEN_MAX = 500;

const questions = signal<readonly Question[]>([]);
const budgets = signal<readonly Budget[]>([]);
const alerts = signal<readonly Alert[]>([]);
const groups = signal<readonly ErrorGroup[]>([]);
const escalated = signal<readonly ErrorGroup[]>([]);
const escalations = signal<ReadonlyMap<string, Escalation>>(new Map());
export const needsError = signal<string | null>(null);
export const areNeedsLoaded = signal(false);

const SEEN = 'seen_failures';
const seen = signal<ReadonlySet<string>>(new Set((recall(SEEN) ?? '').split(' ').filter(Boolean)));

/** This person knows that kind of failure; kept by this browser. */
export function setSeen(fingerprint: string, isSeen: boolean): void {
  const kept = [...seen.peek()].filter(one => one !== fingerprint);
  if (isSeen) kept.push(fingerprint);
  seen.value = new Set(kept.slice(-SEEN_MAX));
  remember(SEEN, [...seen.peek()].join(' ') || null);
}

const minute = computed(() => Math.floor(now.value / 60_000) * 60_000);
export const needs = computed(() =>
  needsOf({questions: questions.value, alerts: alerts.value, escalated: escalated.value, budgets: budgets.value, groups: groups.value,
    escalations: escalations.value, seen: seen.value}, minute.value));
export const needsCount = computed(() => needs.value.length);

let timer = 0;
let isBusy = false;

/** Those that people are to answer; a spawner has its time first. */
async function openQuestions(): Promise<Question[]> {
  const found: Question[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < QUESTION_PAGES && (page === 0 || cursor); page++) {
    const answer: {questions: Question[]; cursor: string | null} =
      await call('GET /v1/questions', {query: {state: 'open', to: 'human', ...(cursor ? {cursor} : {})}});
    found.push(...answer.questions);
    cursor = answer.cursor;
  }
  return found;
}

async function fetchAll(): Promise<void> {
  const [asked, open, limits, kinds] = await Promise.all([
    openQuestions(),
    may('operate') ? call('GET /v1/alerts') : Promise.resolve({alerts: []}),
    call('GET /v1/budgets'),
    call('GET /v1/dlq'),
  ]);
  const isEscalated = kinds.groups.some(group => group.escalated > 0);
  // Who has it and why is told by events.
  const [handed, told] = isEscalated
    ? await Promise.all([
        call('GET /v1/dlq', {query: {escalated: true}}),
        call('GET /v1/events', {query: {name: 'task.escalated', order: 'desc', limit: EVENTS}}),
      ])
    : [{groups: []}, {events: []}];
  questions.value = asked;
  alerts.value = open.alerts;
  budgets.value = limits.budgets;
  groups.value = kinds.groups;
  escalated.value = handed.groups;
  escalations.value = escalationsOf(told.events);
}

export async function loadNeeds(): Promise<void> {
  clearTimeout(timer);
  timer = 0;
  if (!may('read') || sessionState.peek() !== 'signed_in') return;
  if (isBusy) return soon();
  isBusy = true;
  try {
    await fetchAll();
    needsError.value = null;
    areNeedsLoaded.value = true;
  } catch (error) {
    needsError.value = describe(error);
  }
  isBusy = false;
}

function soon(ms = QUIET_MS): void {
  timer ||= window.setTimeout(() => void loadNeeds(), ms);
}

const CHANGES = /^(question\.|alert\.|breaker\.|budget\.|task\.(failed|escalated|retried|deleted|deadline_passed)$)/;

export function startNeeds(): void {
  onEvents(events => {
    if (events.some(event => CHANGES.test(event.name))) soon();
  });
  effect(() => {
    void resync.value;
    if (sessionState.value === 'signed_in') soon(50);
  });
  setInterval(() => !document.hidden && soon(), EVERY_MS);
}
