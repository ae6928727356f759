import {useEffect, useState} from 'preact/hooks';
import {call} from '../../api/client';
import type {Task} from '../../api/types';
import {showHidden, stripAnsi} from '../../lib/ansi';
import {LogLines} from '../../lib/log_lines';
import {useResource} from '../../live/resource';
import {href, setQuery} from '../../router';
import {Empty, Loading} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {TaskActions} from '../task/actions';
import {ExplainCard} from '../task/explain';
import {ErrorBox, TaskTitle, Why} from '../task/header';
import {Facts} from '../task/side';
import {Runs} from '../task/runs';
import {useExplanation, useRuns, useTask} from '../task/use_task';

const TAIL_RECORDS = 20;
const TAIL_LINES = 14;
const OPEN_AFTER_MS = 60;

function Tail({task}: {task: Task}) {
  const tail = useResource(`tail ${task.id}`, abort => call('GET /v1/tasks/{id}/log', {path: {id: task.id}, query: {tail: TAIL_RECORDS}, signal: abort}),
    {on: event => event.task_id === task.id, ...(task.state === 'running' ? {everyMs: 2000} : {})});
  const log = new LogLines(false);
  log.add(tail.data.value?.records ?? []);
  const lines = log.lines.filter(line => line.kind === 'text').slice(-TAIL_LINES);
  if (!lines.length) return null;
  return (
    <section class="side-card">
      <h2 class="line"><span class="grow">Last lines</span></h2>
      <pre class="tail" tabIndex={0} aria-label="Last lines of the log">{lines.map(line => stripAnsi(line.text)).join('\n')}</pre>
    </section>
  );
}

/** The side pane of the list: enough to judge a task without leaving the list. */
export function Peek({id, q}: {id: string; q: string}) {
  // Walking through rows with a key does not fetch each of them.
  const [wanted, setWanted] = useState(id);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(id), OPEN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [id]);
  const loaded = useTask(wanted);
  const runs = useRuns(wanted);
  const explanation = useExplanation(wanted);
  const task = loaded.data.value?.task;
  const close = () => setQuery({peek: null});
  return (
    <aside class="peek" aria-label="Task">
      <div class="peek-bar">
        <a class="button small" href={href(`/tasks/${id}`, {q})} title="Open (key Enter)"><Icon name="external" size={13} />Open</a>
        <span class="grow" />
        {task && <TaskActions task={task} />}
        <button class="icon-button" aria-label="Close the pane" title="Close (key Escape)" onClick={close}><Icon name="close" /></button>
      </div>
      {!task ? (loaded.error.value ? <Empty icon="info" title="There is no such task here">{loaded.error.value}</Empty> : <Loading />) : (
        <div class="peek-body">
          <TaskTitle task={task} isSmall />
          {task.prompt && <p class="task-prompt">{showHidden(task.prompt.slice(0, 600)).replaceAll('␊', ' ')}</p>}
          <Why task={task} explanation={explanation.data.value} />
          <ErrorBox task={task} />
          <Runs task={task} runs={runs.data.value} />
          <Tail task={task} />
          <ExplainCard task={task} explanation={explanation.data.value} />
          <Facts task={task} />
        </div>
      )}
    </aside>
  );
}
