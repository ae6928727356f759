// What a list keeps of a task. Small, because there may be 100,000; never changed, so that the table sees what is new.
import type {Event, TaskState, TaskSummary} from '../../api/types';
import {parseTime} from '../../lib/format';
import {hasTerm, valuesOf, type Query} from '../../lib/query';

export interface TaskRow {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly owner: string;
  readonly state: TaskState;
  readonly priority: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly generation: number;
  readonly run: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly runAt: number | null;
  readonly percent: number | null;
  readonly message: string;
  readonly worker: string;
  /** Null: nobody knows; undefined: nothing has run yet. */
  readonly cost: number | null | undefined;
  readonly tags: readonly string[];
  readonly model: string;
  readonly excerpt: string;
  readonly errorClass: string;
  readonly errorMessage: string;
  readonly isStopping: boolean;
  readonly isEscalated: boolean;
  /** It does not match the filter any more, and goes when nobody looks at it. */
  readonly isGone: boolean;
}

const ERROR_KEPT = 240;

// Names repeat in thousands of rows; one string serves all.
const names = new Map<string, string>();
function shared(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size > 5000) names.clear();
  names.set(name, name);
  return name;
}
const noTags: readonly string[] = [];

export function rowOf(task: TaskSummary): TaskRow {
  return {
    id: task.id,
    type: shared(task.type),
    queue: shared(task.queue),
    owner: shared(task.owner),
    state: task.state,
    priority: task.priority,
    attempts: task.attempts,
    maxAttempts: task.max_attempts,
    generation: task.generation,
    run: task.run,
    createdAt: parseTime(task.created_at) ?? 0,
    startedAt: parseTime(task.started_at),
    finishedAt: parseTime(task.finished_at),
    runAt: parseTime(task.run_at),
    percent: task.progress?.percent ?? null,
    message: task.progress?.message ?? '',
    worker: shared(task.worker_id ?? ''),
    cost: task.usage ? task.usage.cost_usd ?? null : task.run > 0 ? null : undefined,
    tags: task.tags.length ? task.tags.map(shared) : noTags,
    model: shared(task.model ?? ''),
    excerpt: task.excerpt ?? '',
    errorClass: shared(task.error?.class ?? ''),
    errorMessage: (task.error?.message ?? '').slice(0, ERROR_KEPT),
    isStopping: task.cancel_requested_at !== null && task.state === 'running',
    isEscalated: task.escalated,
    isGone: false,
  };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const NO_PROGRESS = {percent: null, message: ''};
const NO_ERROR = {errorClass: '', errorMessage: ''};

const errorOf = (event: Event) => ({errorClass: text(event.data['class']), errorMessage: text(event.data['message']).slice(0, ERROR_KEPT)});

/** What an event changes beside state, run and generation; null is nothing. */
function changesOf(row: TaskRow, event: Event): Partial<TaskRow> | null {
  const at = parseTime(event.at);
  const givenBack = Math.max(0, row.attempts - 1);
  switch (event.name) {
    case 'task.progressed':
      return {percent: Number(event.data['percent']), message: text(event.data['message'])};
    case 'task.claimed':
      return {worker: shared(text(event.data['worker_id'])), startedAt: at, finishedAt: null, attempts: row.attempts + 1, ...NO_PROGRESS, ...NO_ERROR};
    case 'task.cancel_requested':
      return {isStopping: event.state === 'running'};
    case 'task.failed':
      return {...errorOf(event), isStopping: false, finishedAt: at, cost: row.cost ?? null};
    case 'task.retrying':
      return {...errorOf(event), isStopping: false, cost: row.cost ?? null};
    case 'task.deferred':
      return {...errorOf(event), isStopping: false, cost: row.cost ?? null, attempts: givenBack};
    case 'task.completed':
    case 'task.cancelled':
    case 'task.deadline_passed':
      return {isStopping: false, finishedAt: at, ...NO_PROGRESS};
    case 'task.retried':
    case 'task.revived':
      return {attempts: 0, finishedAt: null, startedAt: null, isEscalated: false, ...NO_ERROR};
    case 'task.escalated':
      return {isEscalated: true};
    case 'task.released':
    case 'task.stalled':
    case 'task.suspended':
      return {attempts: givenBack, ...NO_PROGRESS};
    default:
      return null;
  }
}

/** The row after an event; the same object if the event changes nothing that is shown. */
export function afterEvent(row: TaskRow, event: Event): TaskRow {
  if (event.state === null) return row;
  const changes = changesOf(row, event);
  const run = event.run ?? row.run;
  const generation = event.generation ?? row.generation;
  if (changes === null && event.state === row.state && run === row.run && generation === row.generation) return row;
  return {...row, ...changes, state: event.state, run, generation};
}

const oneOf = (query: Query, key: 'type' | 'queue' | 'owner' | 'state', value: string): boolean =>
  !query.terms.some(term => term.key === key) || hasTerm(query, key, value);

/** Whether a row still belongs into the list, as far as its own columns tell; what they do not tell counts as yes. */
export function stillMatches(row: TaskRow, query: Query): boolean {
  const tags = valuesOf(query, 'tag');
  const classes = valuesOf(query, 'class');
  const escalated = valuesOf(query, 'escalated')[0];
  return oneOf(query, 'state', row.state) && oneOf(query, 'type', row.type) && oneOf(query, 'queue', row.queue) && oneOf(query, 'owner', row.owner) &&
    (!tags.length || tags.some(tag => row.tags.includes(tag))) && (!classes.length || classes.includes(row.errorClass)) &&
    (escalated === undefined || String(row.isEscalated) === escalated);
}

/** Whether an event may have brought a task into a list that does not have it. */
export function mayEnter(event: Event, query: Query): boolean {
  if (!event.task_id || !event.state) return false;
  const isNew = event.name === 'task.enqueued';
  const hasStates = query.terms.some(term => term.key === 'state');
  if (!isNew && !hasStates) return false;
  return oneOf(query, 'state', event.state) && oneOf(query, 'type', event.type ?? '') && oneOf(query, 'queue', event.queue ?? '') &&
    oneOf(query, 'owner', event.owner ?? '');
}
