// What a task asked: what is open is answered here, the rest is its history.
import {call} from '../../api/client';
import type {Task} from '../../api/types';
import {plural} from '../../lib/format';
import {useResource} from '../../live/resource';
import {Icon} from '../../ui/icons';
import {AnswerButtons, Ended, QuestionFacts, textOf} from '../questions/question_parts';

export function Questions({task}: {task: Task}) {
  const all = useResource(`questions of ${task.id}`, async abort => (await call('GET /v1/questions', {query: {task: task.id}, signal: abort})).questions,
    {on: event => event.task_id === task.id && event.name.startsWith('question.'), quietMs: 300}).data.value ?? [];
  const open = all.filter(question => question.state === 'open');
  const closed = all.filter(question => question.state !== 'open');
  return (
    <>
      {open.map(question => (
        <section key={question.id} class="question-box" aria-label="Question">
          <Icon name="question" />
          <div class="grow stack">
            <div class="question-line" tabIndex={0} role="region" aria-label="What it asks">{textOf(question.text)}</div>
            <QuestionFacts question={question} isAtTask />
            <AnswerButtons question={question} />
          </div>
        </section>
      ))}
      {closed.length > 0 && (
        <details class="asked">
          <summary>It asked {plural(closed.length, 'question')} before</summary>
          <ul class="stack">
            {closed.map(question => <li key={question.id}><div class="question-line clip-3">{textOf(question.text)}</div><Ended question={question} /></li>)}
          </ul>
        </details>
      )}
    </>
  );
}
