import {may} from '../../api/session';
import type {ErrorGroup} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {breachWords, limitText} from '../../lib/budgets';
import {alertWords} from '../../lib/fleet';
import {count, plural} from '../../lib/format';
import type {Need} from '../../lib/needs';
import {areNeedsLoaded, loadNeeds, needs, needsError, setSeen} from '../../live/needs';
import {href} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Cell, List, PageHead, useSteady} from '../../ui/list';
import {Time} from '../../ui/time';
import {toast} from '../../ui/toast';
import {AlertActions, FixText, Severity} from '../alerts/alert_parts';
import {openVerdict} from '../dlq/verdict_dialog';
import {RaiseButton, Resets, Spent} from '../queues/budgets';
import {AnswerButtons, QuestionFacts, textOf} from '../questions/question_parts';

const HEADS = [{label: 'Kind'}, {label: 'What and why'}, {label: 'Age', end: true}, {label: 'Actions', isHidden: true}];
const ROWS_MAX = 100;

const reload = (): void => void loadNeeds();

function knowIt(group: ErrorGroup): void {
  const fingerprint = group.fingerprint!;
  setSeen(fingerprint, true);
  toast('done', 'Not new any more; it stays under Dead letters.', {label: 'Undo', run: () => setSeen(fingerprint, false)});
}

function GroupActions({group, isEscalated}: {group: ErrorGroup; isEscalated: boolean}) {
  const target = group.fingerprint === null ? href(`/tasks/${group.example}`) : href(`/dlq/${group.fingerprint}`, {escalated: isEscalated ? 'yes' : null});
  return (
    <div class="line">
      {may('operate') && group.fingerprint !== null && <button class="button small" onClick={() => openVerdict('retry', group, isEscalated)}><Icon name="retry" size={12} />Retry</button>}
      <a class="button small" href={target}>Look</a>
      {!isEscalated && <button class="button small" title="It is known: do not count it as new" onClick={() => knowIt(group)}>Known</button>}
    </div>
  );
}

function Row({need}: {need: Need}) {
  switch (need.kind) {
    case 'question':
      return (
        <tr>
          <Cell className="lead"><span class="badge-word info"><Icon name="question" />question</span></Cell>
          <Cell main>
            <div class="question-line clip-3">{textOf(need.question.text)}</div>
            <QuestionFacts question={need.question} />
            <AnswerButtons question={need.question} />
          </Cell>
          <Cell end label="Asked" className="corner"><Time at={need.at} form="age" /></Cell>
          <Cell className="actions" />
        </tr>
      );
    case 'budget':
      return (
        <tr>
          <Cell className="lead"><span class="badge-word warning"><Icon name="costs" />budget</span></Cell>
          <Cell main>
            <div><strong>The budget of {need.budget.gate} is used up</strong>: {breachWords(need.budget)}</div>
            <div class="sub"><Spent budget={need.budget} /> of {limitText(need.budget)}, resets <Resets budget={need.budget} /></div>
          </Cell>
          <Cell end className="corner" />
          <Cell className="actions"><div class="line"><RaiseButton budget={need.budget} /><a class="button small" href={href('/queues', {find: need.budget.gate})}>Look</a></div></Cell>
        </tr>
      );
    case 'alert':
      return (
        <tr>
          <Cell className="lead"><Severity severity={need.alert.severity} /></Cell>
          <Cell main>
            <div class="line wrap"><strong>{alertWords(need.alert.kind)}</strong><span class="mono">{showHidden(need.alert.subject)}</span></div>
            <div>{showHidden(need.alert.detail)}</div>
            <FixText fix={need.alert.fix} />
          </Cell>
          <Cell end label="Since" className="corner"><Time at={need.at} form="age" /></Cell>
          <Cell className="actions"><AlertActions alert={need.alert} reload={reload} /></Cell>
        </tr>
      );
    case 'escalated':
      return (
        <tr>
          <Cell className="lead"><span class="badge-word info"><Icon name="person" />escalated</span></Cell>
          <Cell main>
            <div>
              <strong>{plural(need.group.count, 'dead letter')}</strong> of {need.group.types.join(', ')}
              {need.escalation?.to && <> for <strong>{showHidden(need.escalation.to)}</strong></>}
              {need.escalation?.why && <>: {showHidden(need.escalation.why)}</>}
            </div>
            <div class="line wrap sub"><span class="tag">{need.group.class}</span><span class="clip-3">{showHidden(need.group.pattern)}</span></div>
          </Cell>
          <Cell end label="Since" className="corner"><Time at={need.at} form="age" /></Cell>
          <Cell className="actions"><GroupActions group={need.group} isEscalated /></Cell>
        </tr>
      );
    case 'new_failure':
      return (
        <tr>
          <Cell className="lead"><span class="badge-word warning"><Icon name="dead" />new failure</span></Cell>
          <Cell main>
            <div class="strong clip-3">{showHidden(need.group.pattern) || 'no message'}</div>
            <div class="line wrap sub"><span class="tag">{need.group.class}</span><span>{plural(need.group.count - need.group.escalated, 'task')} of {need.group.types.join(', ')}</span></div>
          </Cell>
          <Cell end label="First" className="corner"><Time at={need.at} form="age" /></Cell>
          <Cell className="actions"><GroupActions group={need.group} isEscalated={false} /></Cell>
        </tr>
      );
  }
}

export function NeedsPage() {
  const {items: rows, hold} = useSteady(needs.value, need => need.key);
  const isLoaded = areNeedsLoaded.value;
  return (
    <div class="page">
      <PageHead title="Needs you" note={isLoaded && rows.length ? plural(rows.length, 'thing') : ''}><a href={href('/questions')}>All questions</a></PageHead>
      {needsError.value && <Problem text={needsError.value} retry={reload} />}
      {!isLoaded ? !needsError.value && <Loading /> : rows.length === 0
        ? <Empty icon="completed" title="Nothing needs you" command="drover doctor">Nobody asks, there is no critical alert, nothing is escalated, no budget is used up, and nothing fails in a new way. This checks the machine as well:</Empty>
        : <List heads={HEADS} caption="What needs a person" hold={hold}>{rows.slice(0, ROWS_MAX).map(need => <Row key={need.key} need={need} />)}</List>}
      {rows.length > ROWS_MAX && <p class="faint">{count(rows.length - ROWS_MAX)} more are under <a href={href('/dlq')}>Dead letters</a>.</p>}
    </div>
  );
}
