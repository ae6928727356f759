// Questions in every state: what was asked, who answered and what. Those that wait for an answer are on Needs you as well.
import {call} from '../../api/client';
import type {Question, QuestionState} from '../../api/types';
import {useResource} from '../../live/resource';
import {here} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Cell, Choices, List, PageHead} from '../../ui/list';
import {Time} from '../../ui/time';
import {AnswerButtons, Ended, QuestionFacts, textOf} from './question_parts';

const STATES = [{value: '', label: 'All'}, ...['open', 'answered', 'expired', 'withdrawn'].map(value => ({value, label: value}))];
const HEADS = [{label: 'Question'}, {label: 'Answer'}, {label: 'Asked', end: true}];
const SHOWN = 200;

function Row({question}: {question: Question}) {
  return (
    <tr>
      <Cell main label="Question"><div class="question-line clip-3">{textOf(question.text)}</div><QuestionFacts question={question} /></Cell>
      <Cell label="Answer" className="wide">{question.state === 'open' ? <AnswerButtons question={question} /> : <Ended question={question} />}</Cell>
      <Cell end label="Asked"><Time at={question.asked_at} form="age" /></Cell>
    </tr>
  );
}

export function QuestionsPage() {
  const state = (here.value.query.get('state') ?? '') as QuestionState | '';
  const page = useResource(`questions ${state}`, abort => call('GET /v1/questions', {query: {limit: SHOWN, ...(state ? {state} : {})}, signal: abort}),
    {on: event => event.name.startsWith('question.')});
  const all = page.data.value?.questions;
  return (
    <div class="page">
      <PageHead title="Questions"><Choices name="state" values={STATES} fallback="" label="State" /></PageHead>
      {page.error.value && <Problem text={page.error.value} retry={page.reload} />}
      {!all ? !page.error.value && <Loading /> : all.length === 0
        ? <Empty icon="question" title="No question" command="drover ask 'Deploy to production?' --option yes --option no">A task asks like this while it runs:</Empty>
        : <List heads={HEADS} caption="Questions">{all.map(question => <Row key={question.id} question={question} />)}</List>}
      {page.data.value?.cursor && <p class="faint">There may be more: <code>drover question list --all</code></p>}
    </div>
  );
}
