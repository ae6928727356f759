// One gate: whether it lets tasks start, who holds it and why, and what opening it would do.
import {may} from '../../api/session';
import type {Gate, Hold, Stats} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {budgetKey} from '../../lib/budgets';
import {now} from '../../lib/clock';
import {canOpen, gateKind, gateSubject, isGateClosed, isHoldClosed, isProbing, OTHER_OWNERS, startsAtOnce} from '../../lib/fleet';
import {count, countdown, parseTime, plural} from '../../lib/format';
import {href} from '../../router';
import {Icon} from '../../ui/icons';
import {Time} from '../../ui/time';
import {GateBudget} from './budgets';
import {closeGateDialog, gateWords, limitGateDialog, openGateDialog} from './gate_dialogs';

const SOURCES: Record<Hold['source'], string> = {policy: 'policy', operator: 'by hand', breaker: 'breaker', provider: 'provider'};

function Until({until}: {until: Gate['closed_until']}) {
  const at = until === 'opened' ? null : parseTime(until);
  return <>{at === null ? 'until opened' : `opens in ${countdown(at - now.value)}`}</>;
}

function holdText(hold: Hold, at: number): string {
  if (isProbing(hold, at)) return 'one task may run as a probe; it decides';
  const parts: string[] = [];
  if (isHoldClosed(hold, at)) parts.push('closed');
  if (hold.permits !== null) parts.push(`at most ${count(hold.permits)} at once`);
  return parts.join(', ') || 'open';
}

function HoldRow({hold}: {hold: Hold}) {
  const at = now.value;
  const isShut = isHoldClosed(hold, at);
  return (
    <li class="gate-hold">
      <span class={`badge-word ${isShut ? 'warning' : ''}`}>{SOURCES[hold.source]}</span>
      <div class="grow">
        <div>{holdText(hold, at)}{isShut && <>, <Until until={hold.closed_until} /></>}</div>
        {hold.source !== 'policy' && <div class="sub">{hold.why && <>“{showHidden(hold.why)}” · </>}{hold.by && <>{showHidden(hold.by)} · </>}<Time at={hold.since} /></div>}
      </div>
    </li>
  );
}

function Status({gate}: {gate: Gate}) {
  if (isGateClosed(gate, now.value)) return <span class="badge-word critical"><Icon name="pause" />closed · <Until until={gate.closed_until} /></span>;
  if (gate.permits !== null && gate.in_use !== null && gate.in_use >= gate.permits) return <span class="badge-word warning"><Icon name="queues" />full</span>;
  return <span class="badge-word good"><Icon name="check" />open</span>;
}

function Use({gate}: {gate: Gate}) {
  if (gate.permits === null) return null;
  const used = gate.in_use ?? 0;
  return (
    <div class="gate-use">
      <span>{count(used)} of {count(gate.permits)} in use</span>
      <div class="bar"><span style={{width: `${gate.permits > 0 ? Math.min(100, (used / gate.permits) * 100) : 100}%`}} /></div>
    </div>
  );
}

/** Tasks that wait at the gate, in the query of the page Tasks. */
export function waitingQuery(name: string): string {
  const kind = gateKind(name);
  const waiting = 'state:pending,stalled';
  if (kind === 'all') return waiting;
  return kind === 'queue' || kind === 'type' || kind === 'owner' ? `${waiting} ${kind}:${gateSubject(name)}` : `${waiting} gate:${name}`;
}

function Waiting({gate, stats}: {gate: Gate; stats: Stats | null}) {
  if (gate.waiting_tasks === 0) return <span class="faint">nothing waits here</span>;
  return (
    <span>
      <a href={href('/tasks', {q: waitingQuery(gate.name)})}>{plural(gate.waiting_tasks, 'task')} {gate.waiting_tasks === 1 ? 'waits' : 'wait'}</a>
      {isGateClosed(gate, now.value) && <>; opening it releases <strong>{count(gate.would_start)}</strong>{stats && may('operate') && `, of which ${count(startsAtOnce(gate, stats))} can start at once`}</>}
    </span>
  );
}

export function GateCard({gate, stats}: {gate: Gate; stats: Stats | null}) {
  const isShut = isGateClosed(gate, now.value);
  const type = gateKind(gate.name) === 'type' && gate.holds.some(hold => hold.source === 'breaker') ? gateSubject(gate.name) : null;
  return (
    <article class={`gate card ${isShut ? 'shut' : ''}`} aria-label={gate.name}>
      <header>
        <div class="grow"><div class="mono strong clip" title={gate.name}>{gate.name}</div><div class="sub">{gateWords(gate.name)}</div></div>
        <Status gate={gate} />
      </header>
      <div class="body stack">
        <Use gate={gate} />
        {gate.rate && <span>at most {gate.rate}{gate.burst !== null && <span class="faint">, {count(gate.burst)} at once</span>}</span>}
        {gate.budgets?.map(budget => <GateBudget key={budgetKey(budget)} budget={budget} />)}
        <Waiting gate={gate} stats={stats} />
        {gate.holds.length > 0 && <ul class="holds">{gate.holds.map(hold => <HoldRow key={hold.source} hold={hold} />)}</ul>}
        {type && <a href={href('/dlq', {type})}>Its failures</a>}
      </div>
      {may('operate') && gate.name !== OTHER_OWNERS && (
        <footer>
          {isShut ? <button class="button small primary" onClick={() => openGateDialog(gate.name)}><Icon name="play" size={12} />Open</button>
            : <button class="button small" onClick={() => closeGateDialog(gate.name)}><Icon name="pause" size={12} />Close</button>}
          {!isShut && canOpen(gate) && <button class="button small" onClick={() => openGateDialog(gate.name)}>Lift holds</button>}
          <button class="button small" onClick={() => limitGateDialog(gate.name)}>Limit</button>
        </footer>
      )}
    </article>
  );
}
