// A question wherever it is shown: what is asked, by whom, until when, and the ways to answer it.
import {useState} from 'preact/hooks';
import {call, JsonText} from '../../api/client';
import {may} from '../../api/session';
import type {Question, TaskSummary} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {shortId} from '../../lib/format';
import {answerCommand, answerText, choicesOf, isJsonTyped, rightToAnswer, typedAnswer} from '../../lib/questions';
import {drover, flag} from '../../lib/shell';
import {canAct} from '../../live/live';
import {loadNeeds} from '../../live/needs';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {Time} from '../../ui/time';

/** Text of others, with its lines. */
export const textOf = (text: string): string => showHidden(text).replaceAll('␊', '\n');

// The type of a task never changes, so each is asked for once.
const askers = new Map<string, Promise<TaskSummary | null>>();

function askerOf(id: string): Promise<TaskSummary | null> {
  const known = askers.get(id);
  if (known) return known;
  const found = call('GET /v1/tasks', {query: {view: 'summary', id, limit: 1}}).then(({tasks}) => (tasks[0] as TaskSummary | undefined) ?? null);
  found.catch(() => askers.delete(id));
  askers.set(id, found);
  return found;
}

function Asker({question: {task_id: id, gate, owner}}: {question: Question}) {
  const task = useResource(id && `asker ${id}`, () => askerOf(id!)).data.value;
  if (id === null) return gate === null ? null : <a href={href('/queues', {find: gate})}>{gate}</a>;
  return <><a href={href(`/tasks/${id}`)}>{task?.type} <span class="mono">{shortId(id)}</span></a> of {owner}</>;
}

function Deadline({question: {expires_at: at, default: fallback, gate}}: {question: Question}) {
  if (gate !== null) return at === null ? null : <>, open until the period ends <Time at={at} /></>;
  if (at === null) return fallback === null ? null : <>, default “{showHidden(answerText(fallback))}”</>;
  return <>, expires <Time at={at} />, then {fallback === null ? 'the task fails' : <>“{showHidden(answerText(fallback))}” is used</>}</>;
}

/** "fix 1a2b3c4d of ann, expires in 2 h, then “no” is used". */
export function QuestionFacts({question, isAtTask = false}: {question: Question; isAtTask?: boolean}) {
  const {to, patient_until: until, state} = question;
  return (
    <div class="sub">
      {isAtTask ? <>asked <Time at={question.asked_at} /> in run {question.run}</> : <Asker question={question} />}
      {state === 'open' && to === 'spawner' && <>, asks the task that spawned it; people from <Time at={until} /> on</>}
      {state === 'open' && <Deadline question={question} />}
    </div>
  );
}

/** How a question that is closed ended. */
export function Ended({question: {state, answer, answered_by: by, why, closed_at: at}}: {question: Question}) {
  return (
    <div>
      {state === 'answered' ? <strong class="answer">{textOf(answerText(answer))}</strong> : <strong>{state}</strong>}
      {why && <>: {showHidden(why)}</>} <span class="faint">{by && <>by {showHidden(by)}, </>}<Time at={at} /></span>
    </div>
  );
}

function TypedAnswer({question, typed, onInput}: {question: Question; typed: string; onInput: (text: string) => void}) {
  const isJson = isJsonTyped(question);
  const isWrong = isJson && typed.trim() !== '' && typedAnswer(question, typed) === null;
  return (
    <>
      <label class="field"><span>Answer {isJson && <span class="faint">(JSON)</span>}</span>
        <textarea rows={isJson ? 5 : 3} autoFocus spellcheck={!isJson} value={typed} aria-invalid={isWrong} onInput={event => onInput(event.currentTarget.value)} />
        {isWrong && <span class="faint">This is not JSON yet.</span>}
      </label>
      {isJson && <details><summary>What it must match</summary><pre class="text-block" tabIndex={0} aria-label="JSON Schema">{JSON.stringify(question.schema, null, 2)}</pre></details>}
    </>
  );
}

function AnswerDialog({question, chosen}: {question: Question; chosen: string | null}) {
  const choices = choicesOf(question);
  const [json, setJson] = useState(chosen);
  const [typed, setTyped] = useState('');
  const answer = choices.length ? json : typedAnswer(question, typed);
  return (
    <ActionDialog title="Answer" label="Answer" reason="none" isReady={answer !== null} command={() => answerCommand(question, answer)}
      run={async () => {
        await call('POST /v1/questions/{id}/answer', {path: {id: question.id}, body: new JsonText(`{"value":${answer}}`)});
        await loadNeeds();
        return question.task_id === null ? 'Answered' : 'Answered; the task goes on';
      }}>
      <div class="question-text" tabIndex={0} role="region" aria-label="Question">{textOf(question.text)}</div>
      <QuestionFacts question={question} />
      {choices.length
        ? <fieldset class="choices"><legend class="visually-hidden">Answer</legend>
            {choices.map(choice => (
              <label key={choice.json} class="check"><input type="radio" name="answer" checked={choice.json === json} autoFocus={choice.json === json} onChange={() => setJson(choice.json)} />
                <span>{showHidden(choice.label)}</span></label>
            ))}
          </fieldset>
        : <TypedAnswer question={question} typed={typed} onInput={setTyped} />}
      <p class="faint">The first answer wins, and it cannot be taken back.</p>
    </ActionDialog>
  );
}

function WithdrawDialog({question}: {question: Question}) {
  return (
    <ActionDialog title="Withdraw the question" label="Withdraw" danger command={why => drover('question', 'withdraw', question.id, ...flag('reason', why))}
      run={async why => {
        await call('POST /v1/questions/{id}/withdraw', {path: {id: question.id}, body: why ? {why} : {}});
        await loadNeeds();
        return 'Withdrawn';
      }}>
      <div class="question-text" tabIndex={0} role="region" aria-label="Question">{textOf(question.text)}</div>
      <p>Nobody need answer it any more. {question.task_id !== null && 'Its task goes on without an answer, and is told so.'}</p>
    </ActionDialog>
  );
}

const openAnswer = (question: Question, chosen: string | null = null): void => showDialog(() => <AnswerDialog question={question} chosen={chosen} />);

const BUTTONS_MAX = 4;
const BUTTON_CHARACTERS = 28;

/** The answers as buttons, if they are few and short; otherwise one that opens the dialog. */
export function AnswerButtons({question}: {question: Question}) {
  if (!may(rightToAnswer(question)) || question.state !== 'open') return null;
  const isOff = !canAct.value;
  const choices = choicesOf(question);
  const fit = choices.length > 0 && choices.length <= BUTTONS_MAX && choices.every(choice => choice.label.length <= BUTTON_CHARACTERS);
  return (
    <div class="line wrap answers">
      {fit
        ? choices.map(choice => <button key={choice.json} class="button small" disabled={isOff} onClick={() => openAnswer(question, choice.json)}>{showHidden(choice.label) || '“”'}</button>)
        : <button class="button small primary" disabled={isOff} onClick={() => openAnswer(question)}>Answer…</button>}
      <button class="button small quiet" disabled={isOff} onClick={() => showDialog(() => <WithdrawDialog question={question} />)}>Withdraw</button>
    </div>
  );
}
