// Bulk operations while they run: how far, and a button that stops them. They run on the server, whoever watches.
import {signal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {call, describe} from '../../api/client';
import {me, may} from '../../api/session';
import type {BulkOperation} from '../../api/types';
import {serverNow} from '../../lib/clock';
import {count} from '../../lib/format';
import {drover, flag} from '../../lib/shell';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';

const operations = signal<readonly BulkOperation[]>([]);
const problem = signal('');
const POLL_MS = 700;
const SHOWN_AFTER_MS = 20_000;
let timer = 0;

async function load(): Promise<void> {
  timer = 0;
  try {
    const all = (await call('GET /v1/bulk')).operations;
    operations.value = all.filter(one => one.state === 'running' || serverNow() - Date.parse(one.ended_at ?? one.updated_at) < SHOWN_AFTER_MS).slice(0, 5);
    problem.value = '';
  } catch (error) {
    problem.value = describe(error);
  }
  // What ended stays for a moment, so that its numbers can be read.
  if (operations.peek().length) timer ||= window.setTimeout(() => void load(), POLL_MS);
}

/** Looks now, and goes on looking while something runs. */
export function watchOperations(): void {
  clearTimeout(timer);
  void load();
}

const DONE = {cancel: 'cancelled', retry: 'retried', edit: 'edited', escalate: 'escalated', delete: 'deleted'} as const;

function StopOperation({operation}: {operation: BulkOperation}) {
  return (
    <ActionDialog title="Stop this operation" label="Stop it" danger command={why => drover('bulk', 'stop', operation.id, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/bulk/{id}/stop', {path: {id: operation.id}, body: {why: why || null}});
        watchOperations();
        return 'Stopped; what was done stays done';
      }}>
      <p>It changes no further task. What it has done stays done: {count(operation.done)} of {count(operation.total)}.</p>
    </ActionDialog>
  );
}

const maysStop = (operation: BulkOperation): boolean =>
  operation.state === 'running' && (may('operate') || (may('produce') && operation.owner !== null && operation.owner === me.value?.owner));

function Row({operation}: {operation: BulkOperation}) {
  const seen = operation.done + operation.skipped + operation.failed;
  const share = operation.total > 0 ? Math.min(100, (seen / operation.total) * 100) : 100;
  return (
    <div class="operation card" role="status">
      <Icon name={operation.state === 'running' ? 'running' : operation.state === 'stopped' ? 'stop' : 'check'} className={operation.state === 'running' ? 's-running' : ''} />
      <span class="nowrap"><strong>{operation.verb}</strong> {count(operation.done)} of {count(operation.total)} {DONE[operation.verb]}</span>
      <div class="bar grow"><span style={{width: `${share}%`}} /></div>
      {operation.skipped > 0 && <span class="faint nowrap" title="They were gone, or in another state, when their turn came">{count(operation.skipped)} skipped</span>}
      {operation.failed > 0 && <span class="s-failed nowrap" title={operation.problems[0]?.message}>{count(operation.failed)} refused</span>}
      {maysStop(operation)
        ? <button class="button small" onClick={() => showDialog(() => <StopOperation operation={operation} />)}>Stop</button>
        : <span class="faint">{operation.state}</span>}
    </div>
  );
}

export function Operations() {
  useEffect(watchOperations, []);
  return (
    <>
      {problem.value && <Problem text={problem.value} retry={watchOperations} />}
      {operations.value.map(operation => <Row key={operation.id} operation={operation} />)}
    </>
  );
}
