// Opening, closing and limiting a gate: the one place for it, whichever page has the button.
import {useState} from 'preact/hooks';
import {call} from '../../api/client';
import type {Gate} from '../../api/types';
import {gateKind, gateSubject, startsAtOnce} from '../../lib/fleet';
import {count, plural} from '../../lib/format';
import {serverNow} from '../../lib/clock';
import {drover, flag} from '../../lib/shell';
import {gates, loadGates} from '../../live/gates';
import {useResource} from '../../live/resource';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';

const find = (name: string): Gate | undefined => gates.value.find(gate => gate.name === name);

/** What the gate is about, in words. */
export function gateWords(name: string): string {
  const subject = gateSubject(name);
  switch (gateKind(name)) {
    case 'all': return 'everything';
    case 'queue': return `the queue ${subject}`;
    case 'type': return `tasks of type ${subject}`;
    case 'owner': return `tasks of ${subject === '*' ? 'every other owner' : subject}`;
    case 'provider': return `tasks that use ${subject}`;
    case 'lock': return `tasks with the lock ${subject}`;
    case 'tag': return `tasks with the tag ${subject}`;
    case 'tree': return `all tasks below ${subject}`;
    case 'session': return `tasks of the session ${subject}`;
  }
}

function OpenGate({name}: {name: string}) {
  const gate = find(name);
  const isQueue = gateKind(name) === 'queue';
  const others = gate ? gate.waiting_tasks - gate.would_start : 0;
  const stats = useResource('slots', abort => call('GET /v1/stats', {signal: abort})).data.value;
  return (
    <ActionDialog title={isQueue ? `Resume ${gateSubject(name)}` : `Open ${name}`} label={isQueue ? 'Resume' : 'Open'}
      command={why => isQueue ? drover('queue', 'resume', gateSubject(name), ...flag('reason', why)) : drover('gate', 'open', name, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/gates/{name}', {path: {name}, body: {action: 'open', why: why || null}});
        await loadGates();
        return `${name} is open`;
      }}>
      <p>
        This lifts every hold on {gateWords(name)}, except the limits of the policy.
        {gate && gate.waiting_tasks > 0 && <> <strong>Opening it releases {plural(gate.would_start, 'task')}</strong>{stats && `: workers have room for ${count(startsAtOnce(gate, stats))} at once`}.
          {others > 0 && ` ${count(others)} more wait here and at other gates.`}</>}
      </p>
    </ActionDialog>
  );
}

const FOR = [['', 'until opened'], ['15m', '15 minutes'], ['1h', 'an hour'], ['6h', '6 hours'], ['24h', 'a day']] as const;
const MINUTES: Record<string, number> = {'15m': 15, '1h': 60, '6h': 360, '24h': 1440};

function CloseGate({name}: {name: string}) {
  const [duration, setDuration] = useState('');
  const isQueue = gateKind(name) === 'queue';
  const words = isQueue ? ['queue', 'pause', gateSubject(name)] : ['gate', 'close', name];
  return (
    <ActionDialog title={isQueue ? `Pause ${gateSubject(name)}` : `Close ${name}`} label={isQueue ? 'Pause' : 'Close'} danger={name === 'all'}
      command={why => drover(...words, ...flag('for', duration), ...flag('reason', why))}
      run={async why => {
        const until = duration ? new Date(serverNow() + MINUTES[duration]! * 60_000).toISOString() : null;
        await call('POST /v1/gates/{name}', {path: {name}, body: {action: 'close', until, why: why || null}});
        await loadGates();
        return `${name} is closed`;
      }}>
      <p>Nothing of {gateWords(name)} starts any more. What runs goes on, and waiting tasks keep their place.</p>
      <label class="field"><span>For</span>
        <select value={duration} onChange={event => setDuration(event.currentTarget.value)}>
          {FOR.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
        </select>
      </label>
    </ActionDialog>
  );
}

function LimitGate({name}: {name: string}) {
  const gate = find(name);
  const byHand = gate?.holds.find(hold => hold.source === 'operator' && hold.permits !== null)?.permits ?? null;
  const byPolicy = gate?.holds.find(hold => hold.source === 'policy')?.permits ?? null;
  const [permits, setPermits] = useState(byHand === null ? '' : String(byHand));
  const isReady = permits === '' ? byHand !== null : /^[0-9]{1,7}$/.test(permits) && Number(permits) <= 1_000_000;
  return (
    <ActionDialog title={`Limit ${name}`} label={permits === '' ? 'Remove the limit' : 'Limit'} isReady={isReady}
      command={why => drover('gate', 'limit', name, permits === '' ? 'none' : permits, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/gates/{name}', {path: {name}, body: {action: 'limit', permits: permits === '' ? null : Number(permits), why: why || null}});
        await loadGates();
        return permits === '' ? `${name} has no limit by hand any more` : `${name} is limited to ${permits}`;
      }}>
      <p>
        How many of {gateWords(name)} may run at once. What runs goes on; fewer start.
        {byPolicy !== null && ` The policy allows ${count(byPolicy)}; the smaller of both counts.`}
      </p>
      <label class="field"><span>At most <span class="faint">(empty: no limit by hand)</span></span>
        <input type="text" inputMode="numeric" value={permits} onInput={event => setPermits(event.currentTarget.value.trim())} />
      </label>
    </ActionDialog>
  );
}

export const openGateDialog = (name: string): void => showDialog(() => <OpenGate name={name} />);
export const closeGateDialog = (name: string): void => showDialog(() => <CloseGate name={name} />);
export const limitGateDialog = (name: string): void => showDialog(() => <LimitGate name={name} />);
