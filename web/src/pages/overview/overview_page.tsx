import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Stats, TaskState} from '../../api/types';
import {count, duration, plural} from '../../lib/format';
import {TASK_STATES} from '../../lib/states';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {PageHead} from '../../ui/list';
import {Running} from './running';
import {Stuck} from './stuck';
import {Trends} from './trends';

const QUIET_MS = 2000;
const EVERY_MS = 10_000;

function StateCount({state, number}: {state: TaskState; number: number}) {
  return (
    <a class={`figure card ${number ? '' : 'zero'}`} href={href('/tasks', {q: `state:${state}`})}>
      <span class="figure-label"><Icon name={state} size={14} className={number ? `s-${state}` : ''} />{state}</span>
      <span class="figure-value">{count(number)}</span>
    </a>
  );
}

function fleetWords(stats: Stats): string {
  const {workers, rates, waits} = stats;
  const parts = [`${plural(workers.working, 'worker')}, ${count(workers.running)} of ${plural(workers.slots, 'slot')} in use`];
  if (workers.silent) parts.push(`${workers.silent} silent`);
  if (rates.completed) parts.push(`${count(rates.completed)} completed in the last minute`);
  if (waits.p95_ms !== null) parts.push(`wait p95 ${duration(waits.p95_ms)}`);
  return parts.join(' · ');
}

export function OverviewPage() {
  const onTasks = (event: {name: string}) => event.name.startsWith('task.') && event.name !== 'task.progressed';
  const stats = useResource('stats', abort => call('GET /v1/stats', {signal: abort}), {on: onTasks, quietMs: QUIET_MS, everyMs: EVERY_MS});
  const stuck = useResource('stuck', abort => call('GET /v1/stuck', {signal: abort}),
    {on: event => onTasks(event) || /^(gate|breaker|worker)\./.test(event.name), quietMs: QUIET_MS, everyMs: EVERY_MS});
  const data = stats.data.value;
  const error = stats.error.value ?? stuck.error.value;
  if (!data) return <div class="page">{error ? <Problem text={error} retry={() => { stats.reload(); stuck.reload(); }} /> : <Loading />}</div>;
  const all = TASK_STATES.reduce((sum, state) => sum + data.tasks[state], 0);
  return (
    <div class="page">
      <PageHead title="Overview" note={may('operate') ? fleetWords(data) : ''} />
      {error && <Problem text={error} retry={() => { stats.reload(); stuck.reload(); }} />}
      {all === 0
        ? <Empty icon="overview" title="No tasks yet" command="drover enqueue greet --payload '{&quot;name&quot;: &quot;Ada&quot;}'">Store one, and it shows up here at once.</Empty>
        : <>
            <div class="figures states">{TASK_STATES.map(state => <StateCount key={state} state={state} number={data.tasks[state]} />)}</div>
            {stuck.data.value && <Stuck report={stuck.data.value} />}
            <Running amount={data.tasks.running} />
          </>}
      {may('operate') && all > 0 && <Trends />}
    </div>
  );
}
