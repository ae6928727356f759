import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Worker} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {now} from '../../lib/clock';
import {workerState, type WorkerState} from '../../lib/fleet';
import {count, plural} from '../../lib/format';
import {drover, flag} from '../../lib/shell';
import {useResource} from '../../live/resource';
import {here, href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon, type IconName} from '../../ui/icons';
import {Cell, Choices, List, PageHead} from '../../ui/list';
import {Time} from '../../ui/time';

const HEADS = [{label: 'Worker'}, {label: 'State'}, {label: 'Serves'}, {label: 'Running', end: true}, {label: 'Last beat', end: true}, {label: 'Since', end: true}, {label: 'Actions', isHidden: true}];
const EVERY_MS = 5000;
const SHOWN = 500;

const LOOKS: Record<WorkerState, {tone: string; icon: IconName}> = {
  working: {tone: 'info', icon: 'running'}, full: {tone: 'info', icon: 'running'}, idle: {tone: '', icon: 'pending'},
  draining: {tone: 'warning', icon: 'signout'}, silent: {tone: 'critical', icon: 'warning'},
};

function Drain({worker, done}: {worker: Worker; done: () => void}) {
  return (
    <ActionDialog title="Drain this worker" label="Drain" command={why => drover('worker', 'drain', worker.id, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/workers/{id}/drain', {path: {id: worker.id}, body: {why: why || null}});
        done();
        return `${worker.id} takes no more work`;
      }}>
      <p>
        <strong class="mono">{worker.id}</strong> takes no more work{worker.running ? `, finishes the ${plural(worker.running, 'task')} that it has` : ''} and goes.
        This cannot be taken back; start it again afterwards.
      </p>
    </ActionDialog>
  );
}

function Serves({worker}: {worker: Worker}) {
  return (
    <div class="chips">
      {worker.serves.map(({queue, type, trouble}) => (
        <span key={`${queue} ${type}`} class={`tag ${trouble ? 'trouble' : ''}`} title={trouble}>{queue}{type && ` / ${type}`}{trouble && `: ${showHidden(trouble)}`}</span>
      ))}
    </div>
  );
}

function Row({worker, reload}: {worker: Worker; reload: () => void}) {
  const state = workerState(worker, now.value);
  const {tone, icon} = LOOKS[state];
  return (
    <tr>
      <Cell main label="Worker"><span class="mono">{worker.id}</span><div class="sub">drover {showHidden(worker.version)}{worker.token_id && ` · token ${worker.token_id}`}</div></Cell>
      <Cell label="State" className="nowrap"><span class={`badge-word ${tone}`}><Icon name={icon} />{state}</span>
        {worker.draining && <div class="sub">{state === 'silent' && 'draining '}{showHidden(worker.drain_reason)}{worker.drain_by && ` (${worker.drain_by})`}</div>}</Cell>
      <Cell label="Serves" className="wide"><Serves worker={worker} /></Cell>
      <Cell end label="Running">
        <a href={href('/tasks', {q: `state:running worker:${worker.id}`})}>{count(worker.running)} of {count(worker.capacity)}</a>
        <div class="share"><span style={{width: `${worker.capacity ? Math.min(100, (worker.running / worker.capacity) * 100) : 0}%`}} /></div>
      </Cell>
      <Cell end label="Last beat"><Time at={worker.last_beat_at} /></Cell>
      <Cell end label="Since"><Time at={worker.registered_at} form="age" /></Cell>
      <Cell className="actions">{may('operate') && !worker.draining && <button class="button small" onClick={() => showDialog(() => <Drain worker={worker} done={reload} />)}>Drain</button>}</Cell>
    </tr>
  );
}

const STATES: readonly {value: string; label: string}[] =
  [{value: '', label: 'All'}, {value: 'busy', label: 'Working'}, {value: 'idle', label: 'Idle'}, {value: 'draining', label: 'Draining'}, {value: 'silent', label: 'Silent'}];

const groupOf = (state: WorkerState): string => (state === 'working' || state === 'full' ? 'busy' : state);

function summary(workers: readonly Worker[], at: number): string {
  const idle = workers.filter(worker => workerState(worker, at) === 'idle').length;
  const silent = workers.filter(worker => workerState(worker, at) === 'silent').length;
  const slots = workers.reduce((sum, worker) => sum + worker.capacity, 0);
  const used = workers.reduce((sum, worker) => sum + worker.running, 0);
  return [plural(workers.length, 'worker'), `${count(used)} of ${count(slots)} slots in use`, idle ? `${idle} idle` : '', silent ? `${silent} silent` : ''].filter(Boolean).join(' · ');
}

export function WorkersPage() {
  const workers = useResource('workers', abort => call('GET /v1/workers', {signal: abort}),
    {on: event => event.name.startsWith('worker.') || event.name === 'task.claimed', quietMs: 2000, everyMs: EVERY_MS});
  const all = workers.data.value?.workers;
  const wanted = here.value.query.get('state') ?? '';
  const shown = all?.filter(worker => !wanted || groupOf(workerState(worker, now.value)) === wanted) ?? [];
  return (
    <div class="page">
      <PageHead title="Workers" note={all?.length ? summary(all, now.value) : ''}>
        <Choices name="state" values={STATES} fallback="" label="State" />
      </PageHead>
      {workers.error.value && <Problem text={workers.error.value} retry={workers.reload} />}
      {!all ? !workers.error.value && <Loading /> : all.length === 0
        ? <Empty icon="workers" title="No worker is registered" command="drover work --queue default -- COMMAND">Tasks wait until one serves their queue.</Empty>
        : shown.length === 0 ? <Empty icon="filter" title="No worker is in this state"><a href={href('/workers')}>Show all</a></Empty>
        : <List heads={HEADS} caption="Workers">{shown.slice(0, SHOWN).map(worker => <Row key={worker.id} worker={worker} reload={workers.reload} />)}</List>}
      {shown.length > SHOWN && <p class="faint">{count(shown.length - SHOWN)} more: <code>drover worker list</code></p>}
    </div>
  );
}
