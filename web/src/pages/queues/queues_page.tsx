// Queues, and the gates that decide what may start.
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Queue, Stats} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {now} from '../../lib/clock';
import {byUrgency, GATE_KINDS, gateKind, isGateClosed} from '../../lib/fleet';
import {count, duration, plural} from '../../lib/format';
import {gates, gatesError, loadGates} from '../../live/gates';
import {useResource} from '../../live/resource';
import {here, href, setQuery} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Cell, Choices, List, PageHead, Section, useSteady} from '../../ui/list';
import {Time} from '../../ui/time';
import {Budgets} from './budgets';
import {GateCard} from './gate_card';
import {closeGateDialog, openGateDialog} from './gate_dialogs';

type QueueStats = Stats['queues'][number];

// Who has an owner is not told of workers, which serve everybody.
const headsOf = (isOperator: boolean) => [
  {label: 'Queue'}, ...['Waiting', 'Oldest', 'Running', 'Last minute', 'Wait p95'].map(label => ({label, end: true})),
  ...(isOperator ? [{label: 'Workers', end: true}, {label: 'Actions', isHidden: true}] : []),
];
const EVERY_MS = 8000;
const GATES_SHOWN = 60;

function QueueState({queue, isPaused}: {queue: Queue; isPaused: boolean}) {
  if (isPaused) return <span class="badge-word warning"><Icon name="pause" />paused</span>;
  if (queue.waiting > 0 && queue.held.some(held => held.shut)) return <span class="badge-word warning"><Icon name="gate" />held</span>;
  return null;
}

function Held({queue}: {queue: Queue}) {
  return (
    <>
      {queue.held.map(held => (
        <div key={held.gate} class="sub">{count(held.tasks)} {held.shut ? 'held' : 'wait'} at <a href={href('/queues', {find: held.gate})}>{held.gate}</a>{held.why && ': '}{showHidden(held.why).replace(/ until \d{4}-\d\d-\d\dT[\d:.]+Z/, '')}</div>
      ))}
    </>
  );
}

function Workers({stats, waiting}: {stats: QueueStats | undefined; waiting: number}) {
  if (!stats) return <>–</>;
  if (stats.workers === 0) return waiting > 0 ? <span class="badge-word warning"><Icon name="warning" />none</span> : <span class="faint">none</span>;
  return <>{stats.workers} <span class="faint">· {stats.free_slots} free</span></>;
}

function Rate({stats}: {stats: QueueStats | undefined}) {
  if (!stats) return <>–</>;
  const {completed, failed} = stats.rates;
  return <span title="Completed and failed in the last minute">{count(completed)}{failed > 0 && <span class="s-failed"> +{count(failed)} failed</span>}</span>;
}

function QueueRow({queue, stats}: {queue: Queue; stats: QueueStats | undefined}) {
  const gate = queue.gate;
  const isPaused = gate !== null && isGateClosed(gate, now.value);
  const name = `queue:${queue.name}`;
  return (
    <tr>
      <Cell main label="Queue">
        <div class="line wrap"><a class="strong" href={href('/tasks', {q: name})}>{queue.name}</a><QueueState queue={queue} isPaused={isPaused} />
          {queue.scheduled > 0 && <span class="faint">{count(queue.scheduled)} later</span>}{queue.blocked > 0 && <span class="faint">{count(queue.blocked)} behind others</span>}</div>
        <Held queue={queue} />
      </Cell>
      <Cell end label="Waiting"><a href={href('/tasks', {q: `state:pending,stalled ${name}`})} class={queue.waiting ? 'strong' : 'faint'}>{count(queue.waiting)}</a></Cell>
      <Cell end label="Oldest">{stats?.waiting_since ? <Time at={stats.waiting_since} form="age" /> : <span class="faint">–</span>}</Cell>
      <Cell end label="Running">{count(queue.running)}{gate?.permits != null && <span class="faint"> of {count(gate.permits)}</span>}</Cell>
      <Cell end label="Last minute" className="nowrap"><Rate stats={stats} />{gate?.rate && <div class="sub">at most {gate.rate}</div>}</Cell>
      <Cell end label="Wait p95" className="nowrap">{stats?.waits.p95_ms != null ? duration(stats.waits.p95_ms) : <span class="faint">–</span>}</Cell>
      {may('operate') && <Cell end label="Workers" className="nowrap"><Workers stats={stats} waiting={queue.waiting} /></Cell>}
      {may('operate') && <Cell className="actions"><div class="line">{isPaused
        ? <button class="button small" onClick={() => openGateDialog(name)}><Icon name="play" size={12} />Resume</button>
        : <button class="button small" onClick={() => closeGateDialog(name)}><Icon name="pause" size={12} />Pause</button>}</div></Cell>}
    </tr>
  );
}

const KINDS = [{value: '', label: 'All'}, ...GATE_KINDS.filter(kind => kind !== 'all' && kind !== 'session').map(kind => ({value: kind as string, label: kind}))];

const LIMIT_EXAMPLE = "drover gate limit type:review 2 --reason 'reviewers cannot keep up'";

function NoGates({isFiltered}: {isFiltered: boolean}) {
  if (isFiltered) return <Empty icon="gate" title="No gate matches"><a href={href('/queues')}>Show all</a></Empty>;
  const isOperator = may('operate');
  return (
    <Empty icon="gate" title="No gate holds anything back" command={isOperator ? LIMIT_EXAMPLE : undefined}>
      Tasks start as soon as a worker is free.{isOperator ? ' This would limit a type:' : ''}
    </Empty>
  );
}

function Gates({find, stats}: {find: string; stats: Stats | null}) {
  const kind = here.value.query.get('kind') ?? '';
  const at = now.value;
  const {items: shown, hold} = useSteady(gates.value.filter(gate => (!kind || gateKind(gate.name) === kind) && (!find || gate.name.includes(find))).sort(byUrgency(at)), gate => gate.name);
  const closed = gates.value.filter(gate => isGateClosed(gate, at)).length;
  return (
    <Section title="Gates" note={gates.value.length ? `${closed ? plural(closed, 'gate') + ' closed' : 'all open'}, of ${gates.value.length}` : ''}
      tools={<div class="line wrap">{may('operate') && <button class="button small" onClick={() => closeGateDialog('all')}>Close all</button>}<Choices name="kind" values={KINDS} fallback="" label="Kind of gate" /></div>}>
      {gatesError.value && <Problem text={gatesError.value} retry={() => void loadGates()} />}
      {shown.length === 0
        ? !gatesError.value && <NoGates isFiltered={gates.value.length > 0} />
        : <div class="gates" {...hold}>{shown.slice(0, GATES_SHOWN).map(gate => <GateCard key={gate.name} gate={gate} stats={stats} />)}</div>}
      {shown.length > GATES_SHOWN && <p class="faint">{count(shown.length - GATES_SHOWN)} more; type a part of their name above, or: <code>drover gate list</code></p>}
    </Section>
  );
}

export function QueuesPage() {
  const onTasks = (event: {name: string}) => /^(task|gate|breaker|worker)\./.test(event.name) && event.name !== 'task.progressed';
  const queues = useResource('queues', abort => call('GET /v1/queues', {signal: abort}), {on: onTasks, quietMs: 2000, everyMs: EVERY_MS});
  const stats = useResource('queue-stats', abort => call('GET /v1/stats', {signal: abort}), {on: onTasks, quietMs: 4000, everyMs: EVERY_MS});
  const byName = new Map(stats.data.value?.queues.map(one => [one.name, one]));
  const find = here.value.query.get('find') ?? '';
  const plain = find.replace(/^queue:/, '');
  const all = queues.data.value?.queues;
  const shown = all?.filter(queue => !find || queue.name.includes(plain) || queue.held.some(held => held.gate.includes(find))) ?? [];
  const error = queues.error.value ?? stats.error.value;
  return (
    <div class="page">
      <PageHead title="Queues and gates" note={all?.length ? plural(all.length, 'queue') : ''}>
        <input type="search" class="find" aria-label="Find queues and gates" placeholder="Find: queue:eng, provider:…" value={find} onInput={event => setQuery({find: event.currentTarget.value.trim()})} />
      </PageHead>
      {error && <Problem text={error} retry={() => { queues.reload(); stats.reload(); }} />}
      {!all ? !error && <Loading /> : all.length === 0
        ? <Empty icon="queues" title="No queues yet" command="drover enqueue greet --queue eng">A queue is there as soon as a task is in it.</Empty>
        : shown.length > 0 && <List heads={headsOf(may('operate'))} caption="Queues">{shown.map(queue => <QueueRow key={queue.name} queue={queue} stats={byName.get(queue.name)} />)}</List>}
      <Budgets find={find} />
      <Gates find={find} stats={stats.data.value} />
    </div>
  );
}
