// What every list of alerts shows of one: how bad, what, since when, and what to do about it.
import {useState} from 'preact/hooks';
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Alert} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {isSnoozed, placeOf} from '../../lib/fleet';
import {now} from '../../lib/clock';
import {drover, flag} from '../../lib/shell';
import {gates, isClosed} from '../../live/gates';
import {href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {Icon} from '../../ui/icons';
import {Time} from '../../ui/time';
import {openGateDialog} from '../queues/gate_dialogs';

export function Severity({severity}: {severity: Alert['severity']}) {
  return <span class={`badge-word ${severity}`}><Icon name={severity === 'critical' ? 'failed' : 'warning'} />{severity}</span>;
}

const FOR = [['30m', '30 minutes'], ['2h', '2 hours'], ['8h', '8 hours'], ['24h', 'a day'], ['168h', 'a week']] as const;

function Snooze({alert, done}: {alert: Alert; done: () => void}) {
  const [duration, setDuration] = useState('2h');
  return (
    <ActionDialog title="Snooze this alert" label="Snooze" command={why => drover('alerts', '--snooze', alert.key, '--for', duration, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/alerts/{key}/snooze', {path: {key: alert.key}, body: {for: duration, why: why || null}});
        done();
        return 'Snoozed';
      }}>
      <p>It stays in the list, but asks for nobody. It wakes up after that time, when it gets worse, and when it is raised anew.</p>
      <label class="field"><span>For</span>
        <select value={duration} onChange={event => setDuration(event.currentTarget.value)}>
          {FOR.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
        </select>
      </label>
    </ActionDialog>
  );
}

function Wake({alert, done}: {alert: Alert; done: () => void}) {
  return (
    <ActionDialog title="Wake this alert up" label="Wake up" reason="none" command={() => drover('alerts', '--snooze', alert.key, '--for', '0s')}
      run={async () => {
        await call('POST /v1/alerts/{key}/snooze', {path: {key: alert.key}, body: {for: '0s'}});
        done();
      }}>
      <p>It counts again from now on.</p>
    </ActionDialog>
  );
}

function Look({alert}: {alert: Alert}) {
  const place = placeOf(alert);
  switch (place.page) {
    case 'gate':
    case 'queue': return <a class="button small" href={href('/queues', {find: place.page === 'gate' ? place.subject : `queue:${place.subject}`})}>Look</a>;
    case 'worker': return <a class="button small" href={href('/workers')}>Look</a>;
    case 'task': return <a class="button small" href={href(`/tasks/${place.subject}`)}>Look</a>;
    case 'dlq': return <a class="button small" href={href('/dlq', {queue: place.subject})}>Look</a>;
    case 'none': return null;
  }
}

function Fix({alert}: {alert: Alert}) {
  const place = placeOf(alert);
  const gate = place.page === 'gate' ? gates.value.find(one => one.name === place.subject) : undefined;
  if (!gate || !isClosed(gate, now.value) || !may('operate')) return null;
  return <button class="button small" onClick={() => openGateDialog(gate.name)}><Icon name="play" size={12} />Open</button>;
}

export function AlertActions({alert, reload}: {alert: Alert; reload: () => void}) {
  const isAsleep = isSnoozed(alert, now.value);
  return (
    <div class="line">
      <Fix alert={alert} />
      <Look alert={alert} />
      {may('operate') && (isAsleep
        ? <button class="button small" onClick={() => showDialog(() => <Wake alert={alert} done={reload} />)}>Wake up</button>
        : <button class="button small" onClick={() => showDialog(() => <Snooze alert={alert} done={reload} />)}>Snooze</button>)}
    </div>
  );
}

/** How the server says that it is repaired; a command if it is one. */
export function FixText({fix}: {fix: string}) {
  return fix ? <div class={fix.startsWith('drover ') ? 'fix' : 'sub'}>{showHidden(fix)}</div> : null;
}

export function SnoozedNote({alert}: {alert: Alert}) {
  if (!isSnoozed(alert, now.value)) return null;
  return <span class="badge-word"><Icon name="moon" />snoozed <Time at={alert.snoozed_until} />{alert.snoozed_by && ` by ${alert.snoozed_by}`}{alert.snoozed_why && `: ${showHidden(alert.snoozed_why)}`}</span>;
}
