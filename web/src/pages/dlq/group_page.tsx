// One kind of failure: an example, what differs from the last success, the tasks, and the verdict over all of them.
import {useMemo} from 'preact/hooks';
import type {PageProps} from '..';
import {call, callWithText} from '../../api/client';
import {may} from '../../api/session';
import type {ErrorGroup, Task, TaskSummary, TaskSummaryPage} from '../../api/types';
import {useTitle} from '../../frame/identity';
import {showHidden, stripAnsi} from '../../lib/ansi';
import {count, money, plural, shortId} from '../../lib/format';
import {differences} from '../../lib/json_diff';
import {parseJsonText, pretty} from '../../lib/json_text';
import {costOfTasks} from '../../lib/usage';
import type {Verdict} from '../../lib/verdict';
import {useResource} from '../../live/resource';
import {here, href} from '../../router';
import {Command, Copyable} from '../../ui/command';
import {Differences} from '../../ui/differences';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon, type IconName} from '../../ui/icons';
import {Cell, Choices, Figure, List, Section} from '../../ui/list';
import {Time} from '../../ui/time';
import {onDeadLetters} from './dlq_page';
import {Operations} from './operations';
import {openVerdict, payloadText, VERDICT_WORDS} from './verdict_dialog';

const TASKS = 100;
const HEADS = [{label: 'Task'}, {label: 'Message'}, {label: 'Owner'}, {label: 'Attempts', end: true}, {label: 'Failed', end: true}, {label: 'Cost', end: true}];
const ICONS: Record<Verdict, IconName> = {retry: 'retry', patch: 'edit', wait: 'scheduled', escalate: 'person', delete: 'trash'};

function Verdicts({group, escalatedOnly}: {group: ErrorGroup; escalatedOnly: boolean}) {
  if (!may('operate')) return null;
  const button = (verdict: Verdict, look = '') => (
    <button key={verdict} class={`button ${look}`} onClick={() => openVerdict(verdict, group, escalatedOnly)}><Icon name={ICONS[verdict]} size={14} />{VERDICT_WORDS[verdict].label}</button>
  );
  return <div class="line wrap verdicts" role="group" aria-label={`Verdict over ${plural(group.count, 'task')}`}>{button('retry', 'primary')}{button('patch')}{button('wait')}{button('escalate')}{button('delete', 'dangerous')}</div>;
}

const TAIL = 20;

/** Hidden controls made visible; lines stay lines. */
const showText = (text: string): string => text.split('\n').map(showHidden).join('\n');

function Output({id}: {id: string}) {
  const log = useResource(`tail ${id}`, abort => call('GET /v1/tasks/{id}/log', {path: {id}, query: {tail: TAIL}, signal: abort}));
  const text = log.data.value?.records.map(record => record.text.split('\n').map(stripAnsi).join('\n')).join('') ?? '';
  if (log.error.value) return <Problem text={log.error.value} retry={log.reload} />;
  return text.trim() ? <><h3>The end of its output</h3><pre class="text-block">{text}</pre></> : <span class="faint">{log.data.value ? 'It printed nothing.' : ''}</span>;
}

function Json({text}: {text: string}) {
  const node = useMemo(() => parseJsonText(text), [text]);
  return <pre class="text-block">{showText(node ? pretty(text, node) : text)}</pre>;
}

function Example({task, text}: {task: Task; text: string}) {
  return (
    <section class="card" aria-label="An example">
      <header><h2 class="grow">An example</h2><a href={href(`/tasks/${task.id}`)}>{task.type} {shortId(task.id)}</a></header>
      <div class="body stack">
        <div class="message">{showText(task.error?.message ?? 'no message')}</div>
        {task.prompt && <><h3>Prompt</h3><div class="text-block">{showText(task.prompt)}</div></>}
        <h3>Payload</h3>
        <Json text={payloadText(text)} />
        <Output id={task.id} />
      </div>
    </section>
  );
}

// What a task was given; what comes from its life is no cause.
const GIVEN: readonly (keyof Task)[] = ['queue', 'owner', 'model', 'repo', 'base', 'agent_id', 'prompt', 'system_prompt', 'tags', 'locks', 'priority', 'timeout_ms', 'idle_timeout_ms', 'max_attempts', 'retry'];

/** As JSON text: the payload keeps its numbers as they are written. */
function givenOf(task: Task, text: string): string {
  const members = GIVEN.map(key => `${JSON.stringify(key)}:${JSON.stringify(task[key] ?? null)}`);
  return `{${members.join(',')},"payload":${payloadText(text)}}`;
}

interface Told {
  task: Task;
  text: string;
}

async function lastSuccess(type: string, abort: AbortSignal): Promise<Told | null> {
  const page = (await call('GET /v1/tasks', {query: {view: 'summary', type, state: 'completed', limit: 1}, signal: abort})) as TaskSummaryPage;
  const id = page.tasks[0]?.id;
  if (!id) return null;
  const answer = await callWithText('GET /v1/tasks/{id}', {path: {id}, signal: abort});
  return {task: answer.data, text: answer.text};
}

function SuccessDifference({example}: {example: Told}) {
  const success = useResource(`success ${example.task.type}`, abort => lastSuccess(example.task.type, abort));
  const other = success.data.value;
  const found = other ? differences(givenOf(other.task, other.text), givenOf(example.task, example.text)) : null;
  return (
    <section class="card" aria-label="Difference to the last success">
      <header><h2 class="grow">Against the last success</h2>{other && <a href={href(`/tasks/${other.task.id}`)}>{other.task.type} {shortId(other.task.id)}, <Time at={other.task.finished_at} /></a>}</header>
      <div class="body stack">
        {success.error.value && <Problem text={success.error.value} retry={success.reload} />}
        {success.isLoading.value ? <span class="faint">Looking…</span>
          : !other ? <span class="faint">No task of type {example.task.type} has completed, as far as they are stored.</span>
          : found && found.length ? <><span class="faint">Of the success → of this failure</span><Differences found={found} /></>
          : <span>They were given the same. The cause is elsewhere: the code, the model, or what it worked on.</span>}
      </div>
    </section>
  );
}

function TaskRow({task}: {task: TaskSummary}) {
  return (
    <tr>
      <Cell main label="Task">
        <a href={href(`/tasks/${task.id}`)}>{task.type} <span class="mono">{shortId(task.id)}</span></a>
        {task.escalated && <> <span class="badge-word info"><Icon name="person" />escalated</span></>}
        {task.excerpt && <div class="sub clip-2">{showHidden(task.excerpt)}</div>}
      </Cell>
      <Cell label="Message" className="wide sub clip-cell"><span title={task.error?.message}>{showHidden(task.error?.message ?? '')}{task.error?.cut ? '…' : ''}</span></Cell>
      <Cell label="Owner">{task.owner}</Cell>
      <Cell end label="Attempts">{task.attempts} of {task.max_attempts}</Cell>
      <Cell end label="Failed"><Time at={task.finished_at} form="age" /></Cell>
      <Cell end label="Cost" className={'nowrap ' + (task.usage?.cost_usd == null ? 'faint' : '')}>{money(task.usage?.cost_usd)}</Cell>
    </tr>
  );
}

const ESCALATED = [{value: '', label: 'All'}, {value: 'yes', label: 'Escalated'}];

export function DlqGroupPage({params}: PageProps) {
  const fingerprint = params['fingerprint']!;
  const escalatedOnly = here.value.query.get('escalated') === 'yes';
  const filter = {fingerprint, ...(escalatedOnly ? {escalated: true} : {})};
  const key = `${fingerprint} ${escalatedOnly}`;
  const kind = useResource(`kind ${key}`, async abort => (await call('GET /v1/dlq', {query: filter, signal: abort})).groups[0] ?? null, {on: onDeadLetters, quietMs: 2000});
  const tasks = useResource(`tasks ${key}`, async abort => (await call('GET /v1/tasks', {query: {...filter, view: 'summary', state: 'failed', limit: TASKS}, signal: abort})) as TaskSummaryPage, {on: onDeadLetters, quietMs: 3000});
  const group = kind.data.value;
  const example = useResource(group ? `example ${group.example}` : null, async abort => {
    const answer = await callWithText('GET /v1/tasks/{id}', {path: {id: group!.example}, signal: abort});
    return {task: answer.data, text: answer.text};
  });
  useTitle(group ? showHidden(group.pattern.slice(0, 60)) : 'Dead letters');
  const list = tasks.data.value;
  const cost = list ? costOfTasks(list.tasks.map(task => task.usage)) : null;
  const error = kind.error.value ?? tasks.error.value ?? example.error.value;
  const retry = () => { kind.reload(); tasks.reload(); example.reload(); };
  return (
    <div class="page">
      <div class="line">
        <a href={href('/dlq')}>Dead letters</a><Icon name="chevron" size={12} className="faint" /><Copyable text={fingerprint} />
        <span class="grow" />
        <Choices name="escalated" fallback="" label="Which" values={ESCALATED} />
      </div>
      <Operations />
      {error && <Problem text={error} retry={retry} />}
      {!group ? (kind.isLoading.value || kind.error.value
        ? !kind.error.value && <Loading />
        : <Empty icon="completed" title="No dead letter of this kind is left"><a href={href('/dlq')}>All kinds of failures</a></Empty>) : (
        <>
          <div class="stack">
            <div><h1 class="pattern-title">{showHidden(group.pattern) || 'no message'}</h1><div class="line wrap sub">{group.class && <span class="tag">{group.class}</span>}<span>{group.types.join(', ')}</span></div></div>
            <Verdicts group={group} escalatedOnly={escalatedOnly} />
          </div>
          <div class="figures">
            <Figure label="Dead letters" value={count(group.count)} />
            <Figure label="Escalated" value={count(group.escalated)} />
            <Figure label="First" value={<Time at={group.first_at} />} />
            <Figure label="Last" value={<Time at={group.last_at} />} />
            <Figure label="Cost burnt" value={list ? <span class={cost === null ? 'figure-value none' : ''}>{list.cursor && cost !== null ? 'over ' : ''}{money(cost)}</span> : '…'} />
          </div>
          {example.data.value && <div class="two"><Example {...example.data.value} /><SuccessDifference example={example.data.value} /></div>}
          <Section title="The tasks" note={list?.cursor ? `the newest ${TASKS} of ${count(group.count)}` : ''}
            tools={<a href={href('/tasks', {q: `state:failed fingerprint:${fingerprint}`})}>Choose some of them in Tasks</a>}>
            {list && <List heads={HEADS} caption="Tasks that failed so">{list.tasks.map(task => <TaskRow key={task.id} task={task} />)}</List>}
          </Section>
          <Command text={`drover dlq show ${fingerprint}`} />
        </>
      )}
    </div>
  );
}
