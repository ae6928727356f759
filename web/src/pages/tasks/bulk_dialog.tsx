// "All 12,431 that match": what it would do (counted by the server), a sample, the same as a command, a reason; then progress, which
// can be stopped. It runs on the server, so closing the dialog or the browser does not end it.
import {useEffect, useState} from 'preact/hooks';
import {call, describe} from '../../api/client';
import type {BulkOperation, BulkPreview, BulkVerb, TaskState} from '../../api/types';
import {commandOf, orderOf, type BulkDetails, type Target} from '../../lib/bulk_order';
import {serverNow} from '../../lib/clock';
import {count, plural, shortId} from '../../lib/format';
import {canAct} from '../../live/live';
import {href} from '../../router';
import {Command} from '../../ui/command';
import {closeDialog, Dialog, showDialog} from '../../ui/dialog';
import {Loading, Problem} from '../../ui/empty';
import {Icon, type IconName} from '../../ui/icons';
import {State} from '../../ui/state';
import {toast} from '../../ui/toast';

interface VerbWords {
  title: string;
  button: string;
  done: string;
  icon: IconName;
  isDangerous: boolean;
  says: string;
}

export const VERBS: Record<BulkVerb, VerbWords> = {
  cancel: {title: 'Cancel tasks', button: 'Cancel', done: 'cancelled', icon: 'cancelled', isDangerous: true, says: 'Waiting tasks end at once; running ones when their processes are dead. Tasks that depend on them follow their own rule.'},
  retry: {title: 'Retry tasks', button: 'Retry', done: 'retried', icon: 'retry', isDangerous: false, says: 'Each starts a new generation: its attempts count from zero, its earlier runs stay on record.'},
  edit: {title: 'Edit tasks', button: 'Edit', done: 'edited', icon: 'edit', isDangerous: false, says: 'Only tasks that have not started can be edited. A new priority moves a task to the end of its line.'},
  escalate: {title: 'Escalate tasks', button: 'Escalate', done: 'escalated', icon: 'person', isDangerous: false, says: 'They stay failed, and somebody has them.'},
  delete: {title: 'Delete tasks', button: 'Delete', done: 'deleted', icon: 'trash', isDangerous: true, says: 'Tasks, logs and results are gone for good; only their events stay.'},
};

function Preview({preview}: {preview: BulkPreview}) {
  const states = Object.entries(preview.by_state) as [TaskState, number][];
  return (
    <div class="stack">
      <div class="bulk-total">
        <strong>{preview.exact ? '' : 'at least '}{plural(preview.matched, 'task')}</strong>
        {states.map(([state, number]) => <span key={state} class="line"><State state={state} /> {count(number)}</span>)}
      </div>
      {preview.sample.length > 0 && (
        <details>
          <summary>The newest {plural(preview.sample.length, 'task')} of them</summary>
          <div class="bulk-sample">
            {preview.sample.map(id => <a key={id} class="mono" href={href(`/tasks/${id}`)} target="_blank" rel="noopener" title={id}>{shortId(id)}</a>)}
          </div>
        </details>
      )}
    </div>
  );
}

function Fields({verb, details, onChange}: {verb: BulkVerb; details: BulkDetails; onChange: (details: BulkDetails) => void}) {
  const set = (changes: Partial<BulkDetails>) => onChange({...details, ...changes});
  return (
    <>
      {verb === 'escalate' && (
        <label class="field"><span>To</span><input type="text" value={details.to ?? ''} placeholder="a person or a team" onInput={event => set({to: event.currentTarget.value})} /></label>
      )}
      {verb === 'edit' && (
        <div class="line">
          <label class="field grow"><span>Priority</span>
            <select value={details.priority ?? ''} onChange={event => set({priority: event.currentTarget.value})}>
              <option value="">as it is</option>
              {[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(value => <option key={value} value={String(value)}>{value}{value === 0 ? ' (first)' : value === 9 ? ' (last)' : ''}</option>)}
            </select>
          </label>
          <label class="field grow"><span>Not before</span>
            <input type="text" placeholder="as it is; 0s, 30m, 2h from now" value={details.delay ?? ''} onInput={event => set({delay: event.currentTarget.value.trim()})} />
          </label>
        </div>
      )}
      {verb === 'retry' && (
        <details>
          <summary>Change the payload</summary>
          <label class="field"><span>JSON Merge Patch <span class="faint">(for every task's payload)</span></span>
            <textarea rows={3} spellcheck={false} placeholder='{"model": "large"}' value={details.patch ?? ''} onInput={event => set({patch: event.currentTarget.value.trim()})} />
          </label>
        </details>
      )}
      <label class="field"><span>Reason <span class="faint">(kept with every task)</span></span>
        <input type="text" value={details.why} maxLength={500} onInput={event => set({why: event.currentTarget.value})} />
      </label>
    </>
  );
}

function problemOf(verb: BulkVerb, details: BulkDetails): string {
  if (verb === 'escalate' && !details.to?.trim()) return 'Say who should look at them.';
  if (verb === 'edit' && !details.priority && !details.delay) return 'Choose a priority or a time.';
  if (details.delay && !/^([0-9]+(ms|s|m|h|d))+$/.test(details.delay)) return 'A time is written as 30s, 10m, 2h or 1d.';
  if (details.patch) {
    try {
      JSON.parse(details.patch);
    } catch {
      return 'The patch is not JSON yet.';
    }
  }
  return '';
}

const POLL_MS = 600;

function useOperation(start: BulkOperation | null): [BulkOperation | null, (operation: BulkOperation) => void] {
  const [operation, setOperation] = useState(start);
  useEffect(() => {
    if (!operation || operation.state !== 'running') return;
    const timer = setTimeout(() => {
      call('GET /v1/bulk/{id}', {path: {id: operation.id}}).then(setOperation, () => setOperation({...operation}));
    }, POLL_MS);
    return () => clearTimeout(timer);
  }, [operation]);
  return [operation, setOperation];
}

function Progress({operation, onStop}: {operation: BulkOperation; onStop: () => void}) {
  const seen = operation.done + operation.skipped + operation.failed;
  const share = operation.total > 0 ? Math.min(100, (seen / operation.total) * 100) : 100;
  const words = VERBS[operation.verb];
  return (
    <div class="stack" role="status">
      <div class="line">
        <strong class="grow">
          {operation.state === 'running' ? `${count(seen)} of ${operation.total_is_exact ? '' : 'at least '}${count(operation.total)}` :
            operation.state === 'stopped' ? `Stopped after ${count(seen)} of ${count(operation.total)}` : 'Done'}
        </strong>
        {operation.state === 'running' && <button class="button danger small" onClick={onStop} disabled={!canAct.value}><Icon name="stop" />Stop here</button>}
      </div>
      <div class="bar tall"><span style={{width: `${share}%`}} /></div>
      <div class="bulk-total">
        <span class="s-completed">{count(operation.done)} {words.done}</span>
        <span class="faint" title="They were gone, or in another state, when their turn came">{count(operation.skipped)} skipped</span>
        <span class={operation.failed ? 's-failed' : 'faint'}>{count(operation.failed)} refused</span>
      </div>
      {operation.problems.length > 0 && (
        <ul class="bulk-problems">
          {operation.problems.map(problem => (
            <li key={problem.id}><a class="mono" href={href(`/tasks/${problem.id}`)} target="_blank" rel="noopener">{shortId(problem.id)}</a> {problem.message}</li>
          ))}
        </ul>
      )}
      <p class="faint">It runs on the server. You can close this; <code>drover bulk show {operation.id}</code> shows how far it is.</p>
    </div>
  );
}

export function BulkDialog({verb, target, running}: {verb: BulkVerb; target: Target; running?: BulkOperation}) {
  const words = VERBS[verb];
  const [details, setDetails] = useState<BulkDetails>({why: ''});
  const [preview, setPreview] = useState<BulkPreview | null>(null);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [operation, setOperation] = useOperation(running ?? null);
  useEffect(() => {
    if (running) return;
    // The dry run needs the details that the verb cannot do without; their values do not change the count.
    const order = orderOf(verb, target, {why: '', to: 'nobody', priority: '5'}, serverNow(), true);
    call('POST /v1/bulk', {body: order}).then(answer => setPreview(answer as BulkPreview), error => setProblem(describe(error)));
  }, []);
  const start = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      setOperation((await call('POST /v1/bulk', {body: orderOf(verb, target, details, serverNow(), false)})) as BulkOperation);
    } catch (error) {
      setProblem(describe(error));
    }
    setBusy(false);
  };
  const stop = async () => {
    try {
      setOperation(await call('POST /v1/bulk/{id}/stop', {path: {id: operation!.id}}));
    } catch (error) {
      setProblem(describe(error));
    }
  };
  const close = () => {
    closeDialog();
    if (operation?.state === 'running')
      toast('done', `${words.title}: continues on the server`, {label: 'Watch', run: () => showDialog(() => <BulkDialog verb={verb} target={target} running={operation} />)});
  };
  const missing = problemOf(verb, details);
  const matched = preview?.matched ?? 0;
  return (
    <Dialog title={words.title} onClose={close} actions={operation
      ? <button class="button primary" onClick={close}>{operation.state === 'running' ? 'Close, let it run' : 'Close'}</button>
      : <>
          <span class="grow faint">{preview && matched > 0 ? missing : ''}</span>
          <button class="button" onClick={close}>Back</button>
          <button class={`button ${words.isDangerous ? 'danger' : 'primary'}`} type="submit" form="bulk-form" disabled={isBusy || matched === 0 || missing !== '' || !canAct.value}>
            {words.button} {preview ? plural(matched, 'task') : ''}
          </button>
        </>}>
      {operation ? <Progress operation={operation} onStop={stop} /> : (
        <form id="bulk-form" class="stack" onSubmit={start}>
          <p>{words.says}</p>
          {preview ? <Preview preview={preview} /> : !problem && <Loading label="Counting" />}
          {preview && matched === 0 && <Problem text={`None of these tasks can be ${words.done} in its state.`} />}
          <Fields verb={verb} details={details} onChange={setDetails} />
          <Command text={commandOf(verb, target, {...details, why: details.why.trim()})} />
        </form>
      )}
      {problem && <Problem text={problem} />}
    </Dialog>
  );
}

export const openBulk = (verb: BulkVerb, target: Target): void => showDialog(() => <BulkDialog verb={verb} target={target} />);
