// Sessions, in which tasks go on with the same agent, one at a time: the list, and what is known of one.
import type {PageProps} from '..';
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Session, TaskSummary} from '../../api/types';
import {useTitle} from '../../frame/identity';
import {showHidden} from '../../lib/ansi';
import {compact, count, money, plural, shortId} from '../../lib/format';
import {drover, flag} from '../../lib/shell';
import {tokensOf} from '../../lib/usage';
import {canAct} from '../../live/live';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {Command, Copyable} from '../../ui/command';
import {showDialog} from '../../ui/dialog';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon, type IconName} from '../../ui/icons';
import {Cell, Facts, Figure, List, PageHead, Section} from '../../ui/list';
import {State} from '../../ui/state';
import {Time} from '../../ui/time';

const EVERY_MS = 10_000;
const SHOWN = 500;
const TASKS_SHOWN = 50;

const LOOKS: Record<Session['state'], {tone: string; icon: IconName; words: string}> = {
  busy: {tone: 'info', icon: 'running', words: 'a task runs in it'},
  waiting: {tone: 'warning', icon: 'pending', words: 'tasks wait for it'},
  warm: {tone: 'good', icon: 'check', words: 'the next task goes on with its agent'},
  cold: {tone: '', icon: 'moon', words: 'the next task begins afresh'},
};

const onSessions = (event: {name: string}): boolean => /^(session\.|task\.(?!progressed))/.test(event.name);
const pathOf = ({owner, name}: {owner: string; name: string}): string => `/sessions/${owner}/${name}`;
const gateOf = ({owner, name}: Session): string => `session:${owner}::${name}`;

function SessionState({session: {state}}: {session: Session}) {
  const {tone, icon, words} = LOOKS[state];
  return <span class={`badge-word ${tone}`} title={words}><Icon name={icon} />{state}</span>;
}

function Agent({session: {agent}}: {session: Session}) {
  return agent ? <>{agent.preset}{agent.host && <span class="faint"> on {showHidden(agent.host)}</span>}</> : <span class="faint">none yet</span>;
}

function Reset({session: {owner, name, running}, done}: {session: Session; done: () => void}) {
  return (
    <ActionDialog title={`Reset ${name}`} label="Reset" command={why => drover('session', 'reset', name, '--owner', owner, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/sessions/{owner}/{name}/reset', {path: {owner, name}, body: why ? {why} : {}});
        done();
        return `The next task of ${name} begins afresh`;
      }}>
      <p>The next task gets a new agent, which is told preflight and bootstrap again.{running && ' The task that runs goes on, and leaves nothing behind for the next one.'}</p>
    </ActionDialog>
  );
}

function ResetButton({session, done}: {session: Session; done: () => void}) {
  return may('produce') ? <button class="button small" disabled={!canAct.value} onClick={() => showDialog(() => <Reset session={session} done={done} />)}>Reset</button> : null;
}

const HEADS = [{label: 'Session'}, {label: 'State'}, {label: 'Agent'}, {label: 'Tasks', end: true}, {label: 'Runs', end: true}, {label: 'Last used', end: true}, {label: 'Actions', isHidden: true}];

function Row({session, reload}: {session: Session; reload: () => void}) {
  return (
    <tr>
      <Cell main label="Session"><a class="strong" href={href(pathOf(session))}>{session.name}</a><div class="sub">of {session.owner}</div></Cell>
      <Cell label="State" className="nowrap"><SessionState session={session} /></Cell>
      <Cell label="Agent"><Agent session={session} /></Cell>
      <Cell end label="Tasks">{count(session.tasks.length)}</Cell>
      <Cell end label="Runs">{count(session.runs)}</Cell>
      <Cell end label="Last used"><Time at={session.last_used_at} /></Cell>
      <Cell className="actions"><ResetButton session={session} done={reload} /></Cell>
    </tr>
  );
}

export function SessionsPage() {
  const page = useResource('sessions', abort => call('GET /v1/sessions', {query: {limit: SHOWN}, signal: abort}), {on: onSessions, quietMs: 2000, everyMs: EVERY_MS});
  const all = page.data.value?.sessions;
  return (
    <div class="page">
      <PageHead title="Sessions" note={all?.length ? plural(all.length, 'session') : ''} />
      {page.error.value && <Problem text={page.error.value} retry={page.reload} />}
      {!all ? !page.error.value && <Loading /> : all.length === 0
        ? <Empty icon="sessions" title="No session" command="drover enqueue review --session reviewer --prompt 'Look at the parser'">Tasks that name the same session go on with the same agent, one at a time.</Empty>
        : <List heads={HEADS} caption="Sessions">{all.map(session => <Row key={pathOf(session)} session={session} reload={page.reload} />)}</List>}
      {page.data.value?.cursor && <p class="faint">There are more: <code>drover session list --limit 1000</code></p>}
    </div>
  );
}

function Tasks({session}: {session: Session}) {
  const tasks = useResource(`session tasks ${pathOf(session)}`, async abort =>
    (await call('GET /v1/tasks', {query: {view: 'summary', gate: gateOf(session), limit: TASKS_SHOWN}, signal: abort})).tasks as TaskSummary[], {on: onSessions, quietMs: 2000}).data.value;
  return (
    <Section title="Its tasks" note={session.tasks.length ? `${plural(session.tasks.length, 'task')} not done` : ''} tools={<a href={href('/tasks', {q: `gate:${gateOf(session)}`})}>All in Tasks</a>}>
      {tasks && (tasks.length === 0 ? <p class="faint">None is stored any more.</p> : (
        <List heads={[{label: 'Task'}, {label: 'State'}, {label: 'Created', end: true}]} caption="Tasks of the session">
          {tasks.map(task => (
            <tr key={task.id}>
              <Cell main label="Task"><a href={href(`/tasks/${task.id}`)}>{task.type} <span class="mono">{shortId(task.id)}</span></a>{task.excerpt && <div class="sub clip-2">{showHidden(task.excerpt)}</div>}</Cell>
              <Cell label="State"><State state={task.state} /></Cell>
              <Cell end label="Created"><Time at={task.created_at} form="age" /></Cell>
            </tr>
          ))}
        </List>
      ))}
    </Section>
  );
}

function Record({session}: {session: Session}) {
  const {agent} = session;
  const totals = agent?.totals;
  return (
    <>
      <div class="figures">
        <Figure label="State" value={<SessionState session={session} />} note={LOOKS[session.state].words} />
        <Figure label="Runs" value={count(session.runs)} note="since it began" />
        <Figure label="Cost" value={money(totals?.cost_usd)} note={totals ? `${compact(tokensOf(totals))} tokens` : ''} />
        <Figure label="Preflight" value={session.preflight_done ? 'told' : 'not told'} note={session.bootstrap_keys.length ? `bootstrap: ${session.bootstrap_keys.join(', ')}` : 'no bootstrap'} />
        <Figure label="Last used" value={<Time at={session.last_used_at} />} note={session.idle_at && <>cold <Time at={session.idle_at} /></>} />
      </div>
      <section class="card"><div class="body"><Facts facts={[
        ['Agent', <Agent session={session} />], ['Its session', agent?.session_id && <Copyable text={agent.session_id} />],
        ['Model', agent?.model && showHidden(agent.model)], ['Workspace', agent?.workspace && <span class="mono">{showHidden(agent.workspace)}</span>],
        ['Created', <Time at={session.created_at} />], ['Reset', session.reset_at && <Time at={session.reset_at} />],
      ]} /></div></section>
      <Tasks session={session} />
      <Command text={drover('session', 'show', session.name, '--owner', session.owner)} />
    </>
  );
}

export function SessionPage({params}: PageProps) {
  const path = {owner: params['owner']!, name: params['name']!};
  const loaded = useResource(pathOf(path), abort => call('GET /v1/sessions/{owner}/{name}', {path, signal: abort}), {on: onSessions, quietMs: 1000, everyMs: EVERY_MS});
  const session = loaded.data.value;
  useTitle(path.name);
  return (
    <div class="page">
      <div class="line"><a href={href('/sessions')}>Sessions</a><Icon name="chevron" size={12} /><span class="faint">{path.owner}</span></div>
      <PageHead title={path.name}>{session && <ResetButton session={session} done={loaded.reload} />}</PageHead>
      {loaded.error.value && <Problem text={loaded.error.value} retry={loaded.reload} />}
      {session ? <Record session={session} /> : !loaded.error.value && <Loading />}
    </div>
  );
}
