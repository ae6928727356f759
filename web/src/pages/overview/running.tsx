// Tiles of what runs: the longest first, with how far it is and what it said last.
import {call} from '../../api/client';
import type {TaskSummary, TaskSummaryPage} from '../../api/types';
import {showHidden, stripAnsi} from '../../lib/ansi';
import {money, plural, shortId} from '../../lib/format';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Section, useSteady} from '../../ui/list';
import {Took} from '../../ui/time';

const TILES = 12;
const LINE_EVERY_MS = 8000;

/** The last line of a log that says something. */
export function lastLineOf(texts: readonly string[]): string {
  for (const text of [...texts].reverse())
    for (const line of text.split('\n').reverse()) {
      const plain = stripAnsi(line).trim();
      if (plain) return plain;
    }
  return '';
}

function LastLine({task}: {task: TaskSummary}) {
  const wantsLog = !task.progress?.message;
  const log = useResource(wantsLog ? `line-${task.id}` : null,
    async abort => lastLineOf((await call('GET /v1/tasks/{id}/log', {path: {id: task.id}, query: {tail: 3}, signal: abort})).records.map(record => record.text)),
    {everyMs: LINE_EVERY_MS});
  const line = showHidden(task.progress?.message ?? '') || log.data.value || '';
  return <div class={`tile-line ${line ? '' : 'faint'}`} title={line}>{line || 'no output yet'}</div>;
}

function Progress({percent}: {percent: number | null}) {
  if (percent === null) return <span class="faint grow">no progress reported</span>;
  return (
    <>
      <div class="bar grow" role="progressbar" aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} aria-label="Progress"><span style={{width: `${percent}%`}} /></div>
      <span>{percent} %</span>
    </>
  );
}

function Tile({task}: {task: TaskSummary}) {
  const percent = task.progress?.percent ?? null;
  const isStopping = task.cancel_requested_at !== null;
  return (
    <a class={`tile card ${isStopping ? 'stopping' : ''}`} href={href(`/tasks/${task.id}`, {tab: 'log'})}>
      <div class="line">
        <span class={`tile-icon ${isStopping ? 's-stalled' : 's-running'}`}><Icon name={isStopping ? 'stop' : 'running'} /></span>
        <strong class="clip">{task.type}</strong>
        <span class="faint clip grow">{task.owner}</span>
        <span class="nowrap"><Took from={task.started_at} to={null} /></span>
      </div>
      <div class="tile-prompt clip" title={task.excerpt ?? ''}>{task.excerpt === null ? shortId(task.id) : showHidden(task.excerpt)}</div>
      <LastLine task={task} />
      <div class="tile-foot">
        <Progress percent={percent} />
        {task.attempts > 1 && <span class="badge-word warning">attempt {task.attempts} of {task.max_attempts}</span>}
        <span class={task.usage?.cost_usd == null ? 'faint' : ''} title="Cost so far">{task.usage?.cost_usd == null ? 'cost not reported' : money(task.usage.cost_usd)}</span>
      </div>
    </a>
  );
}

export function Running({amount}: {amount: number}) {
  const running = useResource('running', async abort => (await call('GET /v1/tasks', {query: {view: 'summary', state: 'running', order: 'oldest', limit: TILES}, signal: abort})) as TaskSummaryPage,
    {on: event => event.run !== null && event.name.startsWith('task.'), quietMs: 2000, everyMs: 15_000});
  const {items: tasks, hold} = useSteady(running.data.value?.tasks ?? [], task => task.id);
  return (
    <Section title="Running now" note={amount ? plural(amount, 'task') : ''}
      tools={amount > tasks.length && <a href={href('/tasks', {q: 'state:running'})}>All {amount} running</a>}>
      {running.error.value && <Problem text={running.error.value} retry={running.reload} />}
      {tasks.length > 0 ? <div class="tiles" {...hold}>{tasks.map(task => <Tile key={task.id} task={task} />)}</div>
        : <div class="card all-well faint">{running.data.value ? 'Nothing runs.' : 'Loading…'}</div>}
    </Section>
  );
}
