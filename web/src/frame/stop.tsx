// Stop everything, and prove that it stopped: the gate `all` closes, running tasks are asked to stop if wanted, and the dialog
// counts down what still runs. "Stopped" is said only when the server counts nothing that runs.
import {signal} from '@preact/signals';
import {useEffect, useState} from 'preact/hooks';
import {call, describe} from '../api/client';
import {may} from '../api/session';
import type {Gate} from '../api/types';
import {count, plural} from '../lib/format';
import {drover, flag} from '../lib/shell';
import {allGate, loadGates} from '../live/gates';
import {canAct, onEvents} from '../live/live';
import {href} from '../router';
import {Command} from '../ui/command';
import {closeDialog, Dialog, showDialog} from '../ui/dialog';
import {Problem} from '../ui/empty';
import {Icon} from '../ui/icons';
import {Time} from '../ui/time';

/** How many tasks run by the server's count; null until it is known. */
const running = signal<number | null>(null);

const COUNT_EVERY_MS = 1500;

async function countRunning(): Promise<void> {
  running.value = (await call('GET /v1/stats')).tasks.running;
}

// The server's count, refreshed by every event that ends or starts a run, and by the clock in case one was missed.
function useRunning(): void {
  useEffect(() => {
    let timer = 0;
    let isStopped = false;
    const again = (ms: number) => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void countRunning().catch(() => undefined).finally(() => !isStopped && again(COUNT_EVERY_MS)), ms);
    };
    again(0);
    const stop = onEvents(events => {
      if (events.some(event => event.run !== null)) again(200);
    });
    return () => {
      isStopped = true;
      clearTimeout(timer);
      stop();
    };
  }, []);
}

const CANCEL_REASON = 'stopped from the dashboard';

async function cancelRunning(why: string): Promise<void> {
  await call('POST /v1/bulk', {body: {verb: 'cancel', filter: {state: ['running']}, why: why || CANCEL_REASON}});
}

function commands(reason: string, isCancelling: boolean): string {
  const close = drover('gate', 'close', 'all', ...flag('reason', reason));
  return isCancelling ? `${close} && ${drover('cancel', '--state', 'running', ...flag('reason', reason || CANCEL_REASON))}` : close;
}

function StopForm({done}: {done: (asked: number) => void}) {
  const [reason, setReason] = useState('');
  const [isCancelling, setCancelling] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const stop = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      await call('POST /v1/gates/{name}', {path: {name: 'all'}, body: {action: 'close', why: reason.trim() || CANCEL_REASON}});
      await countRunning();
      const asked = running.peek() ?? 0;
      if (isCancelling && asked > 0) await cancelRunning(reason.trim());
      await loadGates();
      done(isCancelling ? asked : 0);
    } catch (error) {
      setProblem(describe(error));
      setBusy(false);
    }
  };
  const runs = running.value;
  return (
    <Dialog title="Stop everything" onClose={closeDialog} actions={<>
      <button class="button" type="button" onClick={closeDialog}>Back</button>
      <button class="button danger" type="submit" form="stop-form" disabled={isBusy || !canAct.value}>{isBusy ? 'Stopping…' : isCancelling ? 'Stop and cancel' : 'Stop'}</button>
    </>}>
      <form id="stop-form" class="stack" onSubmit={stop}>
        <p>This closes the gate <code>all</code>: no task starts on any worker until you open it again. Nothing is lost; waiting tasks keep their place.</p>
        <label class="check big">
          <input type="checkbox" checked={isCancelling} onChange={event => setCancelling(event.currentTarget.checked)} />
          <span>
            <strong>Also cancel what is running{runs === null ? '' : ` (${plural(runs, 'task')})`}</strong>
            <span class="faint">Their processes are ended, and tasks that depend on them follow their own rule. Cancelled tasks can be retried.</span>
          </span>
        </label>
        <label class="field">
          <span>Reason <span class="faint">(everybody who asks why nothing runs will read it)</span></span>
          <input type="text" value={reason} maxLength={500} autoFocus onInput={event => setReason(event.currentTarget.value)} />
        </label>
        {!canAct.value && <Problem text="The server cannot be reached. Stop workers on their machines instead: SIGTERM drains a worker." />}
        {problem && <Problem text={problem} />}
        <Command text={commands(reason.trim(), isCancelling)} />
      </form>
    </Dialog>
  );
}

function Countdown({asked}: {asked: number}) {
  const left = running.value;
  if (left === 0) {
    return (
      <div class="stop-count done" role="status">
        <Icon name="completed" size={32} />
        <div><strong>Stopped.</strong><br />Nothing runs, and nothing can start.</div>
      </div>
    );
  }
  return (
    <div class="stop-count" role="status">
      <span class="stop-number">{left === null ? '…' : count(left)}</span>
      <div>
        <strong>{left === 1 ? 'task still runs' : 'tasks still run'}</strong><br />
        {asked > 0
          ? <>{count(Math.max(0, asked - (left ?? asked)))} of {count(asked)} ended. A process that does not end by itself is killed after its grace time.</>
          : <>They finish their work; nothing new starts. <a href={href('/tasks', {q: 'state:running'})} onClick={closeDialog}>Look at them</a></>}
      </div>
    </div>
  );
}

function Stopped({gate, asked}: {gate: Gate; asked: number}) {
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const hold = gate.holds.find(one => one.source === 'operator') ?? gate.holds[0];
  const attempt = (action: () => Promise<unknown>) => async () => {
    setBusy(true);
    setProblem('');
    try {
      await action();
    } catch (error) {
      setProblem(describe(error));
    }
    setBusy(false);
  };
  const open = attempt(async () => {
    await call('POST /v1/gates/{name}', {path: {name: 'all'}, body: {action: 'open'}});
    await loadGates();
    closeDialog();
  });
  const left = running.value ?? 0;
  return (
    <Dialog title={left > 0 ? 'Nothing new starts' : 'Everything is stopped'} onClose={closeDialog} actions={<>
      {left > 0 && asked === 0 && <button class="button danger" disabled={isBusy || !canAct.value} onClick={attempt(() => cancelRunning(''))}>Cancel {plural(left, 'running task')}</button>}
      <span class="grow" />
      <button class="button" onClick={closeDialog}>Leave it stopped</button>
      <button class="button primary" disabled={isBusy || !canAct.value} onClick={open}>Open again</button>
    </>}>
      <div class="stack">
        <Countdown asked={asked} />
        <p>
          The gate <code>all</code> was closed <Time at={hold?.since ?? null} />{hold?.by ? <> by <strong>{hold.by}</strong></> : null}
          {hold?.why ? <>: “{hold.why}”</> : null}. {gate.waiting_tasks ? <>Opening it releases {count(gate.would_start)} of {plural(gate.waiting_tasks, 'waiting task')}.</> : null}
        </p>
        {problem && <Problem text={problem} />}
        <Command text={drover('gate', 'open', 'all')} />
      </div>
    </Dialog>
  );
}

function StopDialog() {
  useRunning();
  const [asked, setAsked] = useState(0);
  const gate = allGate.value;
  return gate ? <Stopped gate={gate} asked={asked} /> : <StopForm done={setAsked} />;
}

export const openStop = (): void => showDialog(() => <StopDialog />);

export function StopButton() {
  if (!may('operate')) return null;
  const isStopped = allGate.value !== null;
  return (
    <button class={`stop-button ${isStopped ? 'stopped' : ''}`} onClick={openStop}
      title={isStopped ? 'Nothing starts: the gate all is closed' : 'Stop everything'}>
      <Icon name={isStopped ? 'pause' : 'stop'} />
      <span>{isStopped ? 'Stopped' : 'Stop'}</span>
    </button>
  );
}
