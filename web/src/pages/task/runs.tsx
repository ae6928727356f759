// The runs of a task over all generations: one bar each, with what waited in between. Each generation has its own scale of time: what lies
// between two of them is not waiting, the task had ended.
import type {Run, Task} from '../../api/types';
import {now} from '../../lib/clock';
import {duration, money, parseTime, shortWorker} from '../../lib/format';
import {showHidden} from '../../lib/ansi';
import {here, setQuery} from '../../router';
import {Icon, type IconName} from '../../ui/icons';
import {Time} from '../../ui/time';

type Outcome = NonNullable<Run['outcome']> | 'running';

const LOOKS: Record<Outcome, {icon: IconName; look: string}> = {
  running: {icon: 'running', look: 'running'}, completed: {icon: 'completed', look: 'completed'}, retrying: {icon: 'failed', look: 'failed'},
  failed: {icon: 'failed', look: 'failed'}, deferred: {icon: 'scheduled', look: 'scheduled'}, released: {icon: 'pending', look: 'pending'},
  suspended: {icon: 'blocked', look: 'blocked'}, stalled: {icon: 'stalled', look: 'stalled'}, cancelled: {icon: 'cancelled', look: 'cancelled'},
  deadline_passed: {icon: 'failed', look: 'failed'},
};

interface Span {
  from: number;
  to: number;
}

/** Where each run lies between the first moment and the last, in percent. Long waits are kept: they are what people look for. */
export function placeRuns(createdAt: number, runs: readonly Run[], until: number): {waiting: Span; running: Span}[] {
  const start = Math.min(createdAt, ...runs.map(run => parseTime(run.started_at) ?? createdAt));
  const end = Math.max(until, ...runs.map(run => parseTime(run.ended_at) ?? until), start + 1);
  const share = (at: number) => ((at - start) / (end - start)) * 100;
  let previous = createdAt;
  return runs.map(run => {
    const from = parseTime(run.started_at) ?? previous;
    const to = parseTime(run.ended_at) ?? end;
    const placed = {waiting: {from: share(previous), to: share(from)}, running: {from: share(from), to: share(to)}};
    previous = to;
    return placed;
  });
}

const SMALLEST_PERCENT = 0.6;
const bar = (span: Span) => {
  const width = Math.max(SMALLEST_PERCENT, span.to - span.from);
  return {left: `${Math.min(span.from, 100 - width)}%`, width: `${width}%`};
};

function RunLine({run, placed, isChosen}: {run: Run; placed: {waiting: Span; running: Span}; isChosen: boolean}) {
  const outcome: Outcome = run.outcome ?? 'running';
  const {icon, look} = LOOKS[outcome];
  const from = parseTime(run.started_at)!;
  const took = (parseTime(run.ended_at) ?? now.value) - from;
  const detail = run.error ? `${run.error.class}: ${run.error.message}` : run.note ?? '';
  return (
    <button class={`run-line ${isChosen ? 'chosen' : ''}`} onClick={() => setQuery({run: isChosen ? null : run.run, tab: 'log'})}
      title={`Show the log of run ${run.run}`} aria-pressed={isChosen}>
      <span class="run-number">{run.run}</span>
      <span class={`state s-${look}`}><Icon name={icon} size={14} /><span>{outcome}</span></span>
      <span class="run-track" aria-hidden="true">
        {placed.waiting.to - placed.waiting.from > SMALLEST_PERCENT && <span class="run-wait" style={bar(placed.waiting)} />}
        <span class={`run-bar b-${look}`} style={bar(placed.running)} />
      </span>
      <span class="run-took">{duration(took)}</span>
      <span class="run-detail clip faint" title={showHidden(detail || run.worker_id)}>
        {detail ? showHidden(detail) : shortWorker(run.worker_id)}
      </span>
      <span class="run-cost faint">{run.usage ? money(run.usage.cost_usd) : ''}</span>
      <span class="run-at faint"><Time at={run.started_at} form="age" /></span>
    </button>
  );
}

export function Runs({task, runs}: {task: Task; runs: Run[] | null}) {
  if (!runs || runs.length === 0) return null;
  const ordered = [...runs].sort((a, b) => a.run - b.run);
  const chosen = Number(here.value.query.get('run'));
  const isRunning = task.state === 'running';
  const until = now.value;
  const placed = new Map<number, {waiting: Span; running: Span}>();
  for (const one of new Set(ordered.map(run => run.generation))) {
    const mine = ordered.filter(run => run.generation === one);
    const from = parseTime(one === 1 ? task.created_at : mine[0]!.started_at)!;
    const isNow = one === task.generation && isRunning;
    placeRuns(from, mine, isNow ? until : from).forEach((place, at) => placed.set(mine[at]!.run, place));
  }
  let generation = 0;
  return (
    <section class="runs" aria-label="Runs">
      {ordered.map(run => {
        const isNew = run.generation !== generation;
        generation = run.generation;
        return (
          <div key={run.run}>
            {isNew && task.generation > 1 && <div class="generation">Generation {run.generation}</div>}
            <RunLine run={run} placed={placed.get(run.run)!} isChosen={chosen === run.run} />
          </div>
        );
      })}
    </section>
  );
}
