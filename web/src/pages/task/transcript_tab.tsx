import {useEffect, useRef, useState} from 'preact/hooks';
import {call, describe, isAbort} from '../../api/client';
import type {Task, TranscriptPage} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {bytes, count, money, timeOfDay} from '../../lib/format';
import {timeZone} from '../../lib/settings';
import {isEnded} from '../../lib/states';
import {onEvents} from '../../live/live';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon, type IconName} from '../../ui/icons';

type Line = TranscriptPage['lines'][number];

const LINES_MAX = 5000;
const SHOWN_FIRST = 400;
const POLL_MS = 1500;

function useTranscript(task: Task): {lines: Line[]; isLoaded: boolean; problem: string; leftOut: number} {
  const [state, setState] = useState({lines: [] as Line[], isLoaded: false, problem: '', leftOut: 0});
  const isDone = useRef(false);
  isDone.current = isEnded(task.state);
  useEffect(() => {
    const abort = new AbortController();
    let next = 0;
    let timer = 0;
    let lines: Line[] = [];
    const read = async (): Promise<void> => {
      clearTimeout(timer);
      try {
        for (let hasMore = true; hasMore && lines.length < LINES_MAX;) {
          const page = await call('GET /v1/tasks/{id}/transcript', {path: {id: task.id}, query: {after: next}, signal: abort.signal});
          next = page.next;
          hasMore = page.has_more;
          if (page.lines.length) lines = [...lines, ...page.lines];
          setState(before => ({lines, isLoaded: true, problem: '', leftOut: Math.max(before.leftOut, page.left_out_bytes)}));
        }
      } catch (error) {
        if (abort.signal.aborted || isAbort(error)) return;
        setState(before => ({...before, isLoaded: true, problem: describe(error)}));
      }
      if (!abort.signal.aborted && !isDone.current) timer = window.setTimeout(() => void read(), POLL_MS);
    };
    void read();
    const stop = onEvents(events => {
      if (events.some(event => event.task_id === task.id && event.name !== 'task.progressed')) void read();
    });
    return () => {
      abort.abort();
      clearTimeout(timer);
      stop();
    };
  }, [task.id]);
  return state;
}

const LOOKS: Record<string, {icon: IconName; label: string; isFolded: boolean}> = {
  session: {icon: 'play', label: 'Session', isFolded: true},
  text: {icon: 'tasks', label: 'Agent', isFolded: false},
  reasoning: {icon: 'more', label: 'Reasoning', isFolded: true},
  tool_call: {icon: 'command', label: 'Tool', isFolded: true},
  tool_result: {icon: 'chevron', label: 'Tool answered', isFolded: true},
  usage: {icon: 'costs', label: 'Usage', isFolded: true},
  retry: {icon: 'retry', label: 'Retry', isFolded: false},
  error: {icon: 'failed', label: 'Error', isFolded: false},
  question: {icon: 'info', label: 'Question', isFolded: false},
  result: {icon: 'completed', label: 'Result', isFolded: false},
  raw: {icon: 'tasks', label: 'Line', isFolded: true},
};

const FOLDED_CHARACTERS = 140;
const SHOWN_CHARACTERS = 20_000;

function usageText(event: Line['event']): string | null {
  const usage = event['usage'] as {input_tokens?: number; output_tokens?: number; cost_usd?: number | null} | undefined;
  if (event.kind !== 'usage' || !usage) return null;
  return `${count(usage.input_tokens ?? 0)} tokens in, ${count(usage.output_tokens ?? 0)} out, cost ${money(usage.cost_usd)}`;
}

const textOf = (event: Line['event']): string => {
  const used = usageText(event);
  if (used) return used;
  const text = event['text'];
  if (typeof text === 'string') return text;
  const {kind: _, ...rest} = event;
  return Object.keys(rest).length ? JSON.stringify(rest) : '';
};

function Entry({line}: {line: Line}) {
  const look = LOOKS[line.event.kind] ?? LOOKS['raw']!;
  const tool = typeof line.event['tool'] === 'string' ? line.event['tool'] : '';
  const text = showHidden(textOf(line.event)).replaceAll('␊', '\n');
  const leftOut = Number(line.event['left_out_bytes'] ?? 0);
  const isShort = text.length <= FOLDED_CHARACTERS && !text.includes('\n');
  const head = (
    <>
      <Icon name={look.icon} size={14} />
      <span class="said-label">{look.label}{tool && <> <code>{showHidden(tool)}</code></>}</span>
    </>
  );
  const at = <span class="said-at faint">{timeOfDay(Date.parse(line.at), timeZone.value === 'utc')}</span>;
  const body = <pre class="said-text">{text.slice(0, SHOWN_CHARACTERS)}{text.length > SHOWN_CHARACTERS ? '…' : ''}{leftOut > 0 && <span class="faint"> [{bytes(leftOut)} left out]</span>}</pre>;
  if (!look.isFolded || isShort)
    return <li class={`said k-${line.event.kind}`}><div class="said-head">{head}{look.isFolded && <span class="clip soft mono said-short">{text}</span>}<span class="grow" />{at}</div>{!look.isFolded && text && body}</li>;
  return (
    <li class={`said k-${line.event.kind}`}>
      <details>
        <summary class="said-head">{head}<span class="clip soft mono said-short">{text.slice(0, FOLDED_CHARACTERS)}</span><span class="grow" />{at}</summary>
        {body}
      </details>
    </li>
  );
}

export function TranscriptTab({task}: {task: Task}) {
  const {lines, isLoaded, problem, leftOut} = useTranscript(task);
  const [shown, setShown] = useState(SHOWN_FIRST);
  const hidden = Math.max(0, lines.length - shown);
  if (!isLoaded) return <Loading label="Reading the transcript" />;
  if (!lines.length && !problem) {
    return (
      <Empty icon="tasks" title="There is no transcript" command={`drover transcript ${task.id} -f`}>
        Runners with a preset (claude, codex, …) write what the agent says and does. Other commands only have a log.
      </Empty>
    );
  }
  let run = 0;
  return (
    <div class="transcript">
      {problem && <Problem text={problem} />}
      {leftOut > 0 && <p class="faint">{bytes(leftOut)} did not fit into the log and were left out.</p>}
      {hidden > 0 && <button class="button" onClick={() => setShown(shown + SHOWN_FIRST)}>Show {Math.min(hidden, SHOWN_FIRST)} earlier lines</button>}
      <ol>
        {lines.slice(hidden).map(line => {
          const isNewRun = line.run !== run;
          run = line.run;
          return [isNewRun && <li key={`r${line.run}`} class="generation">Run {line.run}</li>, <Entry key={line.seq} line={line} />];
        })}
      </ol>
    </div>
  );
}
