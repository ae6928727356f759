// Budgets of gates: what is spent, what is set aside for runs that go on, what is left, and the way to raise one.
import {useState} from 'preact/hooks';
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Budget} from '../../api/types';
import {now} from '../../lib/clock';
import {AMOUNT_HINTS, amountText, breachWords, budgetKey, byUse, isUsedUp, limitText, parseAmount, raiseCommand, sharesOf} from '../../lib/budgets';
import {OTHER_OWNERS} from '../../lib/fleet';
import {countdown, parseTime, plural} from '../../lib/format';
import {canAct} from '../../live/live';
import {loadGates} from '../../live/gates';
import {loadNeeds} from '../../live/needs';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Cell, List, Section, useSteady} from '../../ui/list';
import {Time} from '../../ui/time';

function Raise({budget, done}: {budget: Budget; done: () => void}) {
  const {gate, unit, per} = budget;
  const [typed, setTyped] = useState('');
  const amount = parseAmount(typed, unit);
  return (
    <ActionDialog title={`Raise the budget of ${gate}`} label="Raise" isReady={amount !== null} command={why => raiseCommand(budget, typed, why)}
      run={async why => {
        await call('POST /v1/budgets/{name}/raise', {path: {name: gate}, body: {unit, per, amount: amount!, why: why || null}});
        done();
        await Promise.all([loadNeeds(), loadGates()]);
        return `Raised by ${amountText(amount!, unit)}`;
      }}>
      <p><Spent budget={budget} /> of {limitText(budget)}. Waiting tasks go on at once. <Until budget={budget} /> The policy stays as it is.</p>
      <label class="field"><span>Add <span class="faint">({AMOUNT_HINTS[unit]})</span></span>
        <input type="text" autoFocus value={typed} onInput={event => setTyped(event.currentTarget.value.trim())} />
      </label>
    </ActionDialog>
  );
}

function Until({budget: {resets_at: at}}: {budget: Budget}) {
  return at === null ? <>The raise stays, as this budget never resets.</> : <>The raise lasts until the budget resets, <Time at={at} form="absolute" />.</>;
}

/** Nothing booked may also mean that nobody reported it. */
export function Spent({budget: {spent, unit}}: {budget: Budget}) {
  return spent === 0 ? <span class="faint">nothing reported</span> : <>{amountText(spent, unit)} spent</>;
}

export const raiseDialog = (budget: Budget, done: () => void = () => {}): void => showDialog(() => <Raise budget={budget} done={done} />);

export function RaiseButton({budget, done}: {budget: Budget; done?: () => void}) {
  return may('operate') ? <button class="button small" disabled={!canAct.value} onClick={() => raiseDialog(budget, done)}>Raise</button> : null;
}

export function BudgetBar({budget}: {budget: Budget}) {
  const {spent, aside} = sharesOf(budget);
  return (
    <div class={`bar-parts ${isUsedUp(budget) ? 'over' : ''}`} aria-hidden="true">
      <span style={{width: `${spent}%`}} /><span class="aside" style={{width: `${aside}%`}} />
    </div>
  );
}

export function Resets({budget: {resets_at: at}}: {budget: Budget}) {
  const time = parseTime(at);
  return time === null ? <span class="faint">never</span> : <span title={at!}>in {countdown(time - now.value)}</span>;
}

/** Of a gate's card: "$18.20 spent of $20 a day". */
export function GateBudget({budget}: {budget: Budget}) {
  if (budget.gate === OTHER_OWNERS) return <div>{limitText(budget)} for each</div>;
  return <div><Spent budget={budget} /> of {limitText(budget)}<BudgetBar budget={budget} /></div>;
}

const HEADS = [{label: 'Gate'}, {label: 'Spent'}, {label: 'Set aside', end: true}, {label: 'Left', end: true}, {label: 'Resets', end: true}, {label: 'Actions', isHidden: true}];

function Row({budget, reload}: {budget: Budget; reload: () => void}) {
  const {gate, unit, set_aside: aside, left, uncertain, zone, period} = budget;
  return (
    <tr>
      <Cell main label="Gate">
        <div class="line wrap"><a class="strong" href={href('/queues', {find: gate})}>{gate}</a>
          {isUsedUp(budget) && <span class="badge-word critical"><Icon name="pause" />used up</span>}
          {uncertain && <span class="badge-word warning" title="The store lost something in this period: more may have been spent."><Icon name="warning" />uncertain</span>}</div>
        <div class="sub">{limitText(budget)}; when used up {breachWords(budget)}</div>
      </Cell>
      <Cell label="Spent" className="wide budget-spent"><Spent budget={budget} /><BudgetBar budget={budget} /></Cell>
      <Cell end label="Set aside">{aside === 0 ? <span class="faint">nothing</span> : amountText(aside, unit)}</Cell>
      <Cell end label="Left">{left <= 0 ? <span class="s-failed">nothing</span> : amountText(left, unit)}</Cell>
      <Cell end label="Resets" className="nowrap"><Resets budget={budget} />{budget.per !== 'none' && <div class="sub" title={`Period ${period}`}>{zone}</div>}</Cell>
      <Cell className="actions"><RaiseButton budget={budget} done={reload} /></Cell>
    </tr>
  );
}

const SHOWN = 100;
const EVERY_MS = 10_000;

export function Budgets({find}: {find: string}) {
  const loaded = useResource('budgets', abort => call('GET /v1/budgets', {signal: abort}),
    {on: event => event.name.startsWith('budget.') || event.name === 'config.applied' || event.name === 'task.claimed', quietMs: 2000, everyMs: EVERY_MS});
  // What the policy gives every other owner is no budget that anything is spent of; the card of that gate shows it.
  const all = (loaded.data.value?.budgets ?? []).filter(budget => budget.gate !== OTHER_OWNERS);
  const {items: shown, hold} = useSteady(all.filter(budget => budget.gate.includes(find)).sort(byUse), budgetKey);
  const over = all.filter(isUsedUp).length;
  if (loaded.error.value) return <Problem text={loaded.error.value} retry={loaded.reload} />;
  if (shown.length === 0) return null;
  return (
    <Section title="Budgets" note={over ? `${plural(over, 'budget')} used up` : ''}>
      <List heads={HEADS} caption="Budgets" hold={hold}>{shown.slice(0, SHOWN).map(budget => <Row key={budgetKey(budget)} budget={budget} reload={loaded.reload} />)}</List>
      {shown.length > SHOWN && <p class="faint">{shown.length - SHOWN} more: <code>drover budget list</code></p>}
    </Section>
  );
}
