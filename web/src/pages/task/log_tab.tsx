import {useEffect, useRef, useState} from 'preact/hooks';
import {addressOf, call, describe, isAbort, rawCall} from '../../api/client';
import type {Run, Task} from '../../api/types';
import {count} from '../../lib/format';
import {findLines, LogLines, type LogLine} from '../../lib/log_lines';
import {remembered, timeZone} from '../../lib/settings';
import {isEnded} from '../../lib/states';
import {useKeys} from '../../keys/keyboard';
import {here, setHash, setQuery} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {toast} from '../../ui/toast';
import {LogView} from './log_view';

const logWrap = remembered('log.wrap', ['on', 'off'] as const, typeof innerWidth !== 'undefined' && innerWidth < 760 ? 'on' : 'off');
const logTimes = remembered('log.times', ['on', 'off'] as const, 'off');

const PAGE = 1000;
const LINES_MAX = 200_000;
const WAIT = '20s';
const PAUSE_MS = 400;
const RETRY_MS = 2000;
const STREAMS = ['all', 'stdout', 'stderr', 'drover'] as const;
type Stream = (typeof STREAMS)[number];

interface Loaded {
  lines: readonly LogLine[];
  isLoaded: boolean;
  problem: string;
  isCut: boolean;
}

const pause = (ms: number, abort: AbortSignal) => new Promise<void>(resolve => {
  const timer = setTimeout(resolve, ms);
  abort.addEventListener('abort', () => {
    clearTimeout(timer);
    resolve();
  });
});

/** Reads a log from its start, then waits for more while the task has not ended. An error leaves what is there. */
function useLog(id: string, run: number | null, isDone: boolean): Loaded {
  const [state, setState] = useState<Loaded>({lines: [], isLoaded: false, problem: '', isCut: false});
  const done = useRef(isDone);
  done.current = isDone;
  useEffect(() => {
    const abort = new AbortController();
    const log = new LogLines(run === null);
    setState({lines: [], isLoaded: false, problem: '', isCut: false});
    const read = async () => {
      let hasRead = false;
      while (!abort.signal.aborted) {
        const wasDone = done.current;
        try {
          const page = await call('GET /v1/tasks/{id}/log', {
            path: {id}, query: {after: log.lastSeq, limit: PAGE, ...(run === null ? {} : {run}), ...(hasRead && !wasDone ? {wait: WAIT} : {})}, signal: abort.signal,
          });
          if (abort.signal.aborted) return;
          hasRead = true;
          log.add(page.records);
          const isCut = log.lines.length > LINES_MAX;
          setState({lines: log.lines.slice(0, LINES_MAX), isLoaded: true, problem: '', isCut});
          if (isCut || (wasDone && page.records.length < PAGE)) return;
          if (page.records.length < PAGE) await pause(PAUSE_MS, abort.signal);
        } catch (error) {
          if (abort.signal.aborted || isAbort(error)) return;
          setState(before => ({...before, isLoaded: true, problem: describe(error)}));
          await pause(RETRY_MS, abort.signal);
        }
      }
    };
    void read();
    return () => abort.abort();
  }, [id, run]);
  return state;
}

async function download(task: Task, run: number | null): Promise<void> {
  try {
    const address = addressOf('GET /v1/tasks/{id}/log', {id: task.id}, {format: 'text', run});
    const blob = await (await rawCall(address, 'GET', undefined, {headers: {Accept: 'text/plain'}})).blob();
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${task.type}-${task.id}${run === null ? '' : `-run-${run}`}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    toast('problem', describe(error));
  }
}

function useSearch(lines: readonly LogLine[], view: { current: LogView | null }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = text ? findLines(lines, text) : [];
  const current = found.length ? found[Math.min(at, found.length - 1)]! : -1;
  const move = (by: number) => {
    if (!found.length) return;
    const next = (Math.min(at, found.length - 1) + by + found.length) % found.length;
    setAt(next);
    view.current?.show(found[next]!);
  };
  const change = (value: string) => {
    setText(value);
    setAt(0);
    const first = value ? findLines(lines, value)[0] : undefined;
    if (first !== undefined) view.current?.show(first);
  };
  return {text, found, current, position: found.length ? Math.min(at, found.length - 1) + 1 : 0, move, change};
}

const LINE = /^L([0-9]{1,7})$/;

export function LogTab({task, runs}: {task: Task; runs: Run[] | null}) {
  const {query, hash} = here.value;
  const asked = query.get('run');
  const run = asked === 'all' ? null : asked ? Number(asked) || null : task.run > 0 ? task.run : null;
  const stream = (STREAMS.find(one => one === query.get('stream')) ?? 'all') as Stream;
  const loaded = useLog(task.id, run, isEnded(task.state) || (run !== null && run !== task.run));
  const lines = stream === 'all' ? loaded.lines : loaded.lines.filter(line => line.kind !== 'text' || line.stream === stream);
  const linked = Number(LINE.exec(hash)?.[1] ?? 0) - 1;
  const [isFollowing, setFollowing] = useState(linked < 0);
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<LogView | null>(null);
  const following = useRef(isFollowing);
  following.current = isFollowing;
  const shownLink = useRef(-1);
  const search = useSearch(lines, view);
  const box = useRef<HTMLInputElement>(null);
  const hasText = lines.some(line => line.kind === 'text');

  useEffect(() => {
    const made = (view.current = new LogView(line => setHash(`L${line}`), isAtEnd => setFollowing(isAtEnd)));
    holder.current!.append(made.element);
    return () => made.destroy();
  }, []);
  useEffect(() => view.current!.setLook({
    wrap: logWrap.value === 'on', times: logTimes.value === 'on', utc: timeZone.value === 'utc', found: new Set(search.found), search: search.text, linked, current: search.current,
  }), [logWrap.value, logTimes.value, timeZone.value, search.text, search.found.length, search.current, linked]);
  useEffect(() => {
    view.current!.setLines(lines, following.current);
    if (linked >= 0 && linked < lines.length && shownLink.current !== linked) {
      shownLink.current = linked;
      setFollowing(false);
      view.current!.show(linked);
    }
  }, [loaded.lines, stream, linked]);
  useKeys('Log', [
    {keys: '/', label: 'Search the log', run: () => box.current?.focus()},
    {keys: 'n', label: 'Next match', run: () => search.move(1)},
    {keys: 'N', label: 'Previous match', run: () => search.move(-1)},
    {keys: 'f', label: 'Follow the end', run: () => { setFollowing(true); view.current?.toEnd(); }},
  ]);

  const isLive = !isEnded(task.state) && (run === null || run === task.run);
  return (
    <div class="log-tab">
      <div class="log-bar">
        <select aria-label="Run" value={run === null ? 'all' : String(run)} onChange={event => setQuery({run: event.currentTarget.value === String(task.run) ? null : event.currentTarget.value})}>
          {(runs ?? []).map(one => <option key={one.run} value={String(one.run)}>run {one.run}{one.outcome ? `, ${one.outcome}` : ''}</option>)}
          {run !== null && !runs?.some(one => one.run === run) && <option value={String(run)}>run {run}</option>}
          <option value="all">all runs</option>
        </select>
        <select aria-label="Stream" value={stream} onChange={event => setQuery({stream: event.currentTarget.value === 'all' ? null : event.currentTarget.value})}>
          {STREAMS.map(one => <option key={one} value={one}>{one === 'all' ? 'all streams' : one}</option>)}
        </select>
        <div class="log-search">
          <Icon name="search" size={14} />
          <input ref={box} type="text" placeholder="Search" aria-label="Search the log" value={search.text} onInput={event => search.change(event.currentTarget.value)}
            onKeyDown={event => { if (event.key === 'Enter') search.move(event.shiftKey ? -1 : 1); if (event.key === 'Escape') { search.change(''); event.currentTarget.blur(); } }} />
          {search.text && <span class="faint" role="status">{search.found.length ? `${count(search.position)} of ${count(search.found.length)}` : 'none'}</span>}
          {search.found.length > 0 && <>
            <button class="icon-button" aria-label="Previous match" onClick={() => search.move(-1)}><Icon name="up" size={14} /></button>
            <button class="icon-button" aria-label="Next match" onClick={() => search.move(1)}><Icon name="down" size={14} /></button>
          </>}
        </div>
        <span class="grow" />
        <button class="chip" aria-pressed={logTimes.value === 'on'} onClick={() => (logTimes.value = logTimes.value === 'on' ? 'off' : 'on')}>Times</button>
        <button class="chip" aria-pressed={logWrap.value === 'on'} onClick={() => (logWrap.value = logWrap.value === 'on' ? 'off' : 'on')}>Wrap</button>
        {isLive && <button class="chip" aria-pressed={isFollowing} title="Stay at the end (key f)" onClick={() => { setFollowing(!isFollowing); if (!isFollowing) view.current?.toEnd(); }}>Follow</button>}
        <button class="icon-button" title="Download as text" aria-label="Download as text" onClick={() => void download(task, run)}><Icon name="download" /></button>
      </div>
      {loaded.problem && <Problem text={`${loaded.problem} What is shown stays; trying again.`} />}
      {loaded.isCut && <Problem text={`Only the first ${count(LINES_MAX)} lines are shown. Download the log to see the rest.`} />}
      <div class={`log-holder ${hasText || lines.length ? '' : 'is-empty'}`} ref={holder} />
      {!loaded.isLoaded && <Loading label="Reading the log" />}
      {loaded.isLoaded && lines.length === 0 && (
        <Empty icon="command" title={task.run === 0 ? 'It has not run yet' : 'Nothing was printed'} command={`drover logs ${task.id} -f`}>
          {task.run === 0 ? 'The log starts with the first run.' : isLive ? 'Lines appear here as the agent prints them.' : 'This run printed nothing.'}
        </Empty>
      )}
    </div>
  );
}
