import {useEffect, useRef, useState} from 'preact/hooks';
import type {PageProps} from '..';
import {useTitle} from '../../frame/identity';
import {useKeys} from '../../keys/keyboard';
import {usePaletteActions} from '../../keys/palette';
import {shortId} from '../../lib/format';
import {showHidden} from '../../lib/ansi';
import {go, here, href, setQuery} from '../../router';
import {copyText} from '../../ui/command';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {latestList, listFor, type TaskList} from '../tasks/task_list';
import {actionsFor, TaskActions} from './actions';
import {DataTab, ReportTab} from './data_tab';
import {EventsTab} from './events_tab';
import {ExplainCard} from './explain';
import {GraphTab} from './graph_tab';
import {ErrorBox, TaskTitle, Why} from './header';
import {LogTab} from './log_tab';
import {Questions} from './questions';
import {Runs} from './runs';
import {Facts} from './side';
import {TranscriptTab} from './transcript_tab';
import {useExplanation, useRuns, useTask} from './use_task';

const TABS = [
  ['log', 'Log'], ['transcript', 'Transcript'], ['data', 'Payload and result'], ['report', 'Decision report'], ['events', 'Events'], ['graph', 'Graph'],
] as const;
type Tab = (typeof TABS)[number][0];

const WALK_PAGES_MAX = 10;

/** The list that the task was opened from, so that `[` and `]` walk what was filtered. It is fetched if the page was reloaded. */
function useList(q: string | null, id: string): {list: TaskList | null; at: number} {
  const [, redraw] = useState(0);
  // Without a filter the address has no q; the list of everything is walked if the task was opened from it.
  const list = q !== null ? listFor(q) : latestList()?.text === '' ? latestList() : null;
  const rows = list?.rows.value;
  useEffect(() => {
    if (!list) return;
    list.start();
    let isStopped = false;
    void (async () => {
      for (let page = 0; page < WALK_PAGES_MAX && !isStopped && list.indexOf(id) < 0 && list.rows.peek().length && !list.isComplete.peek(); page++) await list.more();
      redraw(value => value + 1);
    })();
    return () => {
      isStopped = true;
      list.stop();
    };
  }, [list, id, (rows?.length ?? 0) > 0]);
  return {list, at: list && rows ? list.indexOf(id) : -1};
}

interface Walk {
  at: number;
  text: string;
  isFirst: boolean;
  isLast: boolean;
  to: (index: number) => void;
}

/** Part of the page and not of its header, so that keys work while the next task is being read. */
function useWalk(id: string, q: string | null): Walk {
  const {list, at} = useList(q, id);
  const rows = list?.rows.value ?? [];
  const to = (index: number) => {
    const row = at < 0 ? undefined : rows[index];
    if (!row) return;
    const query: Record<string, string> = {};
    here.peek().query.forEach((value, key) => key !== 'run' && (query[key] = value));
    go(href(`/tasks/${row.id}`, query));
    if (index > rows.length - 5) void list?.more();
  };
  useKeys('Walk the list', [
    {keys: '[', label: 'Previous task of the list', run: () => to(at - 1)},
    {keys: ']', label: 'Next task of the list', run: () => to(at + 1)},
    {keys: 'u', label: 'Back to the list', run: () => go(href('/tasks', {q}))},
  ]);
  const total = list?.total.value;
  return {at, to, isFirst: at <= 0, isLast: at >= rows.length - 1, text: `${at + 1} of ${total ? `${total.tasks}${total.isCapped ? '+' : ''}` : rows.length}`};
}

function WalkButtons({walk}: {walk: Walk}) {
  if (walk.at < 0) return null;
  return (
    <div class="walk">
      <span class="faint">{walk.text}</span>
      <button class="icon-button" title="Previous (key [)" aria-label="Previous task of the list" disabled={walk.isFirst} onClick={() => walk.to(walk.at - 1)}><Icon name="up" /></button>
      <button class="icon-button" title="Next (key ])" aria-label="Next task of the list" disabled={walk.isLast} onClick={() => walk.to(walk.at + 1)}><Icon name="down" /></button>
    </div>
  );
}

function Tabs({tab}: {tab: Tab}) {
  return (
    <div class="tabs" role="tablist" aria-label="Parts of the task">
      {TABS.map(([name, label]) => (
        <button key={name} role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="tab-panel" onClick={() => setQuery({tab: name})}>{label}</button>
      ))}
    </div>
  );
}

export function TaskPage({params}: PageProps) {
  const id = params['id']!;
  const loaded = useTask(id);
  const runs = useRuns(id);
  const explanation = useExplanation(id);
  const {query} = here.value;
  const q = query.get('q');
  const walk = useWalk(id, q);
  const data = loaded.data.value;
  const task = data?.task;
  // A task that has not run has no log. What was chosen for it stays when it starts: nobody is torn away from what they read.
  const first = useRef<{id: string; tab: Tab} | null>(null);
  if (task && first.current?.id !== id) first.current = {id, tab: task.run === 0 ? 'data' : 'log'};
  const tab: Tab = TABS.find(([name]) => name === query.get('tab'))?.[0] ?? first.current?.tab ?? 'log';
  useTitle(task ? `${task.state} · ${task.type} ${shortId(task.id)}` : '');
  const actions = task ? actionsFor(task, true) : [];
  const key = (letter: string) => actions.find(action => action.key === letter)?.run();
  useKeys('Task', [
    {keys: 'l', label: 'Log', run: () => setQuery({tab: 'log'})},
    {keys: 'r', label: 'Retry', run: () => key('r')},
    {keys: 'c', label: 'Cancel', run: () => key('c')},
    {keys: 'e', label: 'Edit', run: () => key('e')},
  ]);
  usePaletteActions('Task', [
    ...actions.map(action => ({label: `${action.label} this task`, detail: task ? shortId(task.id) : '', icon: action.icon, run: action.run})),
    {label: 'Copy the id of this task', icon: 'copy', run: () => void copyText(id)},
  ]);
  if (!data || !task) {
    if (!loaded.error.value) return <Loading label="Reading the task" />;
    return <Empty icon="info" title="There is no such task here" command={`drover show ${/^[0-9a-f-]{36}$/.test(id) ? id : 'ID'}`}>{loaded.error.value}</Empty>;
  }
  return (
    <div class="task-page">
      <div class="task-main">
        <div class="task-head">
          <div class="task-top">
            <a class="icon-button" href={href('/tasks', {q})} title="Back to the list (key u)" aria-label="Back to the list"><Icon name="tasks" /></a>
            <TaskTitle task={task} />
            <span class="grow" />
            <WalkButtons walk={walk} />
            <TaskActions task={task} isPage />
          </div>
          {loaded.error.value && <Problem text={`${loaded.error.value} What is shown is older.`} retry={loaded.reload} />}
          {task.prompt && <p class="task-prompt" title={showHidden(task.prompt)}>{showHidden(task.prompt.slice(0, 400)).replaceAll('␊', ' ')}</p>}
          <Why task={task} explanation={explanation.data.value} />
          <Questions task={task} />
          <ErrorBox task={task} />
          <Runs task={task} runs={runs.data.value} />
        </div>
        <Tabs tab={tab} />
        <div class={`tab-panel t-${tab}`} id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          {tab === 'log' && <LogTab key={id} task={task} runs={runs.data.value} />}
          {tab === 'transcript' && <TranscriptTab key={id} task={task} />}
          {tab === 'data' && <DataTab key={id} task={task} text={data.text} />}
          {tab === 'report' && <ReportTab text={data.text} />}
          {tab === 'events' && <EventsTab key={id} task={task} />}
          {tab === 'graph' && <GraphTab key={id} task={task} />}
        </div>
      </div>
      <aside class="task-side" aria-label="About the task">
        <ExplainCard task={task} explanation={explanation.data.value} />
        <Facts task={task} />
      </aside>
    </div>
  );
}
