import type {Explanation, Gate, Task} from '../../api/types';
import {now} from '../../lib/clock';
import {count, countdown, parseTime, plural, shortId} from '../../lib/format';
import {showHidden} from '../../lib/ansi';
import {href} from '../../router';
import {Icon, type IconName} from '../../ui/icons';
import {State} from '../../ui/state';
import {Time} from '../../ui/time';

const REASON_ICONS: Record<Explanation['reason'], IconName> = {
  running: 'running', ended: 'check', blocked: 'blocked', question: 'blocked', scheduled: 'scheduled', gate: 'gate', in_line: 'queues', no_worker: 'workers', store_regressed: 'warning',
};

function Until({until}: {until: string | null}) {
  if (until === null) return null;
  if (until === 'opened') return <>until somebody opens it</>;
  const at = parseTime(until);
  return at === null ? null : <>for {countdown(at - now.value)} more</>;
}

function Refusing({gate}: {gate: Gate}) {
  return (
    <li class="hold">
      <div class="line"><Icon name="gate" size={14} /><strong class="grow clip">{gate.name}</strong>
        {gate.permits !== null && <span class="faint">{count(gate.in_use ?? 0)} of {count(gate.permits)} in use</span>}</div>
      {gate.holds.map(hold => (
        <div key={hold.source} class="hold-line">
          <span class="tag">{hold.source}</span>{' '}
          {hold.closed_until !== null ? <>closed <Until until={hold.closed_until} /></> : hold.permits !== null ? <>allows {plural(hold.permits, 'run')} at once</> : null}
          {hold.why ? <>: {showHidden(hold.why)}</> : null}
          <div class="faint">{hold.by ? `by ${hold.by}, ` : ''}<Time at={hold.since} /></div>
        </div>
      ))}
      {gate.rate && <div class="hold-line faint">rate {gate.rate}{gate.burst ? `, burst ${gate.burst}` : ''}</div>}
    </li>
  );
}

const SPECIAL = /(`[^`]+`|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z)/;

/** A sentence of the server: commands as code, times as this page shows times. */
export function Sentence({text}: {text: string}) {
  const parts = showHidden(text).split(SPECIAL);
  return (
    <>
      {parts.map((part, at) => {
        if (at % 2 === 0) return at === 0 && /^[a-z]+ /.test(part) ? part.charAt(0).toUpperCase() + part.slice(1) : part;
        return part.startsWith('`') ? <code key={at}>{part.slice(1, -1)}</code> : <Time key={at} at={part} form="absolute" />;
      })}
    </>
  );
}

/** From a parent that is not done to the task that holds everything up. */
function Chain({chain}: {chain: Explanation['chain']}) {
  return (
    <ol class="chain" aria-label="What it waits for, and what that waits for">
      {chain.map((link, at) => (
        <li key={link.id}>
          <span class="line"><State state={link.state} /><a class="mono" href={href(`/tasks/${link.id}`)}>{shortId(link.id)}</a>{at === chain.length - 1 && <span class="tag">holds all</span>}</span>
          <span class="soft"><Sentence text={link.text} /></span>
        </li>
      ))}
    </ol>
  );
}

const PARENTS_SHOWN = 8;

/** Why it does not run, and what will release it: every gate that it passes, the ones that refuse, its place in line. */
export function ExplainCard({task, explanation}: {task: Task; explanation: Explanation | null}) {
  if (!explanation || explanation.reason === 'ended') return null;
  const refusing = new Set(explanation.refusing.map(gate => gate.name));
  if (explanation.gate) refusing.add(explanation.gate);
  const isWaiting = explanation.reason !== 'running';
  return (
    <section class="side-card">
      <h2>{isWaiting ? 'Why it waits' : 'Gates that it passed'}</h2>
      <p class="explain-text"><Icon name={REASON_ICONS[explanation.reason]} size={15} /><span><Sentence text={explanation.text} /></span></p>
      {explanation.ahead !== null && explanation.ahead > 0 && <p class="faint">{plural(explanation.ahead, 'task')} of its lane come before it.</p>}
      {explanation.refusing.length > 0 && <ul class="stack">{explanation.refusing.map(gate => <Refusing key={gate.name} gate={gate} />)}</ul>}
      {explanation.waits_for.length > 0 && (
        <div class="stack">
          <span class="faint">Waits for</span>
          <div class="chips">
            {explanation.waits_for.slice(0, PARENTS_SHOWN).map(id => <a key={id} class="chip mono" href={href(`/tasks/${id}`)}>{shortId(id)}</a>)}
            {explanation.waits_for.length > PARENTS_SHOWN && <span class="faint">and {explanation.waits_for.length - PARENTS_SHOWN} more</span>}
          </div>
        </div>
      )}
      {(explanation.chain ?? []).length > 0 && <Chain chain={explanation.chain} />}
      {task.gates.length > 0 && (
        <ul class="gate-list" aria-label="Gates that it passes">
          {task.gates.map(gate => (
            <li key={gate} class={refusing.has(gate) ? 'refused' : ''}>
              <Icon name={refusing.has(gate) ? 'close' : 'check'} size={12} /><span class="clip">{gate}</span>
              <span class="visually-hidden">{refusing.has(gate) ? 'refuses' : 'open'}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
