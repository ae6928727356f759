// What may be done with a task, by its state and by the rights of whoever looks. Each opens a dialog that shows the command.
import {useEffect, useState} from 'preact/hooks';
import {call, callWithText, describe, JsonText} from '../../api/client';
import {may} from '../../api/session';
import type {CancelEffect, Task} from '../../api/types';
import {plural, shortId} from '../../lib/format';
import {compactText, parseJsonText, pretty} from '../../lib/json_text';
import {drover, flag} from '../../lib/shell';
import {mayCancel, mayDelete, mayEdit, mayEscalate, mayRetry} from '../../lib/states';
import {canAct} from '../../live/live';
import {go, href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {Problem} from '../../ui/empty';
import {Icon, type IconName} from '../../ui/icons';
import {Menu} from '../../ui/menu';
import {State} from '../../ui/state';
import {setMember} from './data_tab';

export interface TaskFacts {
  id: string;
  type: string;
  state: Task['state'];
}

const name = (task: TaskFacts): string => `${task.type} ${shortId(task.id)}`;

function RetryDialog({task}: {task: TaskFacts}) {
  return (
    <ActionDialog title={`Retry ${name(task)}`} label="Retry" command={why => drover('retry', task.id, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/tasks/{id}/retry', {path: {id: task.id}, body: {why: why || null}});
        return `Retried ${name(task)}`;
      }}>
      <p>It starts a new generation: attempts count from zero, the earlier runs stay on record. Tasks that ended because of it come back.</p>
    </ActionDialog>
  );
}

interface FullTask {
  task: Task;
  /** The payload as it is stored, laid out for reading; '' if there is none. */
  payload: string;
}

function useFullTask(id: string): {full: FullTask | null; problem: string} {
  const [full, setFull] = useState<FullTask | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => void callWithText('GET /v1/tasks/{id}', {path: {id}}).then(({data, text}) => {
    const node = setMember(parseJsonText(text), text, 'payload');
    setFull({task: data, payload: node ? pretty(text, node) : ''});
  }, error => setProblem(describe(error))), [id]);
  return {full, problem};
}

const isJson = (text: string): boolean => parseJsonText(text) !== null;

// Without the layout, and with every number as it was typed.
const oneLine = (text: string): string => {
  const node = parseJsonText(text);
  return node ? compactText(text, node) : text;
};

/** A body whose payload is taken as it is typed: JSON.parse would change long numbers. */
const withPayload = (body: object, payload: string | null): JsonText => {
  const rest = JSON.stringify(body);
  return new JsonText(payload === null ? rest : `${rest.slice(0, -1)}${rest === '{}' ? '' : ','}"payload":${payload}}`);
};

function PayloadField({value, onInput}: {value: string; onInput: (text: string) => void}) {
  return (
    <label class="field"><span>Payload</span>
      <textarea rows={8} spellcheck={false} value={value} aria-invalid={value.trim() !== '' && !isJson(value)} onInput={event => onInput(event.currentTarget.value)} />
      {value.trim() !== '' && !isJson(value) && <span class="faint">This is not JSON yet.</span>}
    </label>
  );
}

function EditRetryDialog({task}: {task: TaskFacts}) {
  const {full, problem} = useFullTask(task.id);
  const [typed, setTyped] = useState<string | null>(null);
  const payload = typed ?? full?.payload ?? '';
  const isChanged = typed !== null && typed !== full?.payload;
  return (
    <ActionDialog title={`Edit and retry ${name(task)}`} label="Retry with this payload" isReady={isChanged && isJson(payload)} size="large"
      command={why => drover('dlq', 'retry', task.id, '--payload', oneLine(payload), ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/tasks/{id}/retry', {path: {id: task.id}, body: withPayload(why ? {why} : {}, payload)});
        return `Retried ${name(task)} with another payload`;
      }}>
      {problem && <Problem text={problem} />}
      <PayloadField value={payload} onInput={setTyped} />
    </ActionDialog>
  );
}

function EditDialog({task}: {task: TaskFacts}) {
  const {full, problem} = useFullTask(task.id);
  const [priority, setPriority] = useState('');
  const [delay, setDelay] = useState('');
  const [tags, setTags] = useState<string | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const newTags = tags === null ? null : tags.split(/[\s,]+/).filter(Boolean);
  const payload = typed !== null && typed !== full?.payload && typed.trim() !== '' ? typed : null;
  const isReady = (priority !== '' || delay !== '' || newTags !== null || payload !== null) && (payload === null || isJson(payload));
  return (
    <ActionDialog title={`Edit ${name(task)}`} label="Save" reason="none" isReady={isReady}
      command={() => drover('edit', task.id, ...flag('priority', priority), ...flag('delay', delay), ...(newTags ?? []).flatMap(tag => ['--tag', tag]), ...flag('payload', payload && oneLine(payload)))}
      run={async () => {
        const body = {...(priority ? {priority: Number(priority)} : {}), ...(delay ? {delay} : {}), ...(newTags ? {tags: newTags} : {})};
        await call('PATCH /v1/tasks/{id}', {path: {id: task.id}, body: withPayload(body, payload)});
        return `Changed ${name(task)}`;
      }}>
      {problem && <Problem text={problem} />}
      <div class="line">
        <label class="field grow"><span>Priority <span class="faint">(now {full?.task.priority ?? '…'})</span></span>
          <select value={priority} onChange={event => setPriority(event.currentTarget.value)}>
            <option value="">as it is</option>
            {[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(value => <option key={value} value={String(value)}>{value}{value === 0 ? ' (first)' : ''}</option>)}
          </select>
        </label>
        <label class="field grow"><span>Not before</span>
          <input type="text" placeholder="0s, 30m, 2h from now" value={delay} onInput={event => setDelay(event.currentTarget.value.trim())} />
        </label>
      </div>
      <label class="field"><span>Tags</span>
        <input type="text" value={tags ?? full?.task.tags.join(' ') ?? ''} onInput={event => setTags(event.currentTarget.value)} />
      </label>
      <PayloadField value={typed ?? full?.payload ?? ''} onInput={setTyped} />
    </ActionDialog>
  );
}

const EFFECTS_SHOWN = 12;

function CancelDialog({task}: {task: TaskFacts}) {
  const [effects, setEffects] = useState<CancelEffect[] | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => void call('GET /v1/tasks/{id}/cancel', {path: {id: task.id}})
    .then(answer => setEffects(answer.effects), error => setProblem(describe(error))), [task.id]);
  const others = (effects ?? []).filter(effect => effect.id !== task.id);
  return (
    <ActionDialog title={`Cancel ${name(task)}`} label={others.length ? `Cancel, and ${plural(others.length, 'other')}` : 'Cancel the task'} danger
      command={why => drover('cancel', task.id, ...flag('reason', why))}
      run={async why => {
        const outcome = await call('POST /v1/tasks/{id}/cancel', {path: {id: task.id}, body: {reason: why || null}});
        return outcome.requested ? `${plural(outcome.requested, 'task')} asked to stop, ${outcome.cancelled} cancelled` : `${plural(outcome.cancelled, 'task')} cancelled`;
      }}>
      <p>{task.state === 'running' ? 'Its processes get TERM and, ten seconds later, KILL. It is cancelled when they are dead.' : 'It ends at once.'}</p>
      {problem && <Problem text={problem} />}
      {effects === null && !problem && <p class="faint">Looking at what depends on it…</p>}
      {others.length > 0 && (
        <div class="stack">
          <strong>This happens to {plural(others.length, 'task')} that {others.length === 1 ? 'depends' : 'depend'} on it:</strong>
          <ul class="effects">
            {others.slice(0, EFFECTS_SHOWN).map(effect => (
              <li key={effect.id} class="line">
                <span class="mono faint">{shortId(effect.id)}</span><span class="grow clip">{effect.type}</span>
                {effect.from && <State state={effect.from} />}<Icon name="chevron" size={12} /><State state={effect.to} />
              </li>
            ))}
          </ul>
          {others.length > EFFECTS_SHOWN && <span class="faint">and {others.length - EFFECTS_SHOWN} more</span>}
        </div>
      )}
      {effects !== null && others.length === 0 && <p class="faint">Nothing else depends on it.</p>}
    </ActionDialog>
  );
}

function EscalateDialog({task}: {task: TaskFacts}) {
  const [to, setTo] = useState('');
  return (
    <ActionDialog title={`Escalate ${name(task)}`} label="Escalate" isReady={to.trim() !== ''}
      command={why => drover('dlq', 'escalate', task.id, '--to', to.trim() || 'WHO', ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/tasks/{id}/escalate', {path: {id: task.id}, body: {to: to.trim(), why: why || null}});
        return `Escalated to ${to.trim()}`;
      }}>
      <p>It stays a dead letter, and somebody has it.</p>
      <label class="field"><span>To</span><input type="text" value={to} placeholder="a person or a team" onInput={event => setTo(event.currentTarget.value)} /></label>
    </ActionDialog>
  );
}

function DeleteDialog({task, isPage}: {task: TaskFacts; isPage: boolean}) {
  return (
    <ActionDialog title={`Delete ${name(task)}`} label="Delete for good" danger
      command={why => drover('dlq', 'delete', task.id, ...flag('reason', why))}
      run={async why => {
        await call('DELETE /v1/tasks/{id}', {path: {id: task.id}, query: {why: why || undefined}});
        if (isPage) go(href('/tasks'));
        return `Deleted ${name(task)}`;
      }}>
      <p>The task, its log and its result are gone for good; only its events stay.</p>
    </ActionDialog>
  );
}

export const openRetry = (task: TaskFacts): void => showDialog(() => <RetryDialog task={task} />);
export const openEditRetry = (task: TaskFacts): void => showDialog(() => <EditRetryDialog task={task} />);
export const openEdit = (task: TaskFacts): void => showDialog(() => <EditDialog task={task} />);
export const openCancel = (task: TaskFacts): void => showDialog(() => <CancelDialog task={task} />);
export const openEscalate = (task: TaskFacts): void => showDialog(() => <EscalateDialog task={task} />);
export const openDelete = (task: TaskFacts, isPage = false): void => showDialog(() => <DeleteDialog task={task} isPage={isPage} />);

export interface TaskAction {
  label: string;
  icon: IconName;
  key?: string;
  isDangerous?: boolean;
  run: () => void;
}

/** The actions that make sense for a task now, the most likely first. */
export function actionsFor(task: TaskFacts, isPage: boolean): TaskAction[] {
  const {state} = task;
  const actions: (TaskAction | false)[] = [
    mayRetry(state) && may('operate') && {label: 'Retry', icon: 'retry', key: 'r', run: () => openRetry(task)},
    mayCancel(state) && may('produce') && {label: 'Cancel', icon: 'cancelled', key: 'c', isDangerous: true, run: () => openCancel(task)},
    mayEdit(state) && may('produce') && {label: 'Edit', icon: 'edit', key: 'e', run: () => openEdit(task)},
    mayRetry(state) && may('operate') && {label: 'Edit and retry', icon: 'edit', key: 'e', run: () => openEditRetry(task)},
    mayEscalate(state) && may('operate') && {label: 'Escalate', icon: 'person', run: () => openEscalate(task)},
    mayDelete(state) && may('operate') && {label: 'Delete', icon: 'trash', isDangerous: true, run: () => openDelete(task, isPage)},
  ];
  return actions.filter((action): action is TaskAction => action !== false);
}

const BUTTONS = 2;

export function TaskActions({task, isPage = false}: {task: TaskFacts; isPage?: boolean}) {
  const actions = actionsFor(task, isPage);
  const shown = actions.slice(0, BUTTONS);
  const rest = actions.slice(BUTTONS);
  const isOff = !canAct.value;
  return (
    <div class="line task-actions">
      {shown.map(action => (
        <button key={action.label} class="button" disabled={isOff} title={isOff ? 'The server cannot be reached' : action.key && `Key ${action.key}`} onClick={action.run}>
          <Icon name={action.icon} size={14} />{action.label}
        </button>
      ))}
      {rest.length > 0 && (
        <Menu className="button" title="More actions" align="end" label="More">
          {close => rest.map(action => (
            <button key={action.label} class={`menu-item ${action.isDangerous ? 'danger' : ''}`} disabled={isOff} onClick={() => { close(); action.run(); }}>
              <Icon name={action.icon} />{action.label}
            </button>
          ))}
        </Menu>
      )}
    </div>
  );
}
