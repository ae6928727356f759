import {useEffect, useRef, useState} from 'preact/hooks';
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {ErrorGroup, TaskSummaryPage} from '../../api/types';
import {Sparkline} from '../../charts/chart';
import {showHidden} from '../../lib/ansi';
import {now} from '../../lib/clock';
import {count, money, plural} from '../../lib/format';
import {histogram} from '../../lib/history';
import {costOfTasks} from '../../lib/usage';
import {useResource} from '../../live/resource';
import {here, href, setQuery} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Cell, Choices, List, PageHead, useSteady} from '../../ui/list';
import {Time} from '../../ui/time';
import {Operations} from './operations';
import {openVerdict} from './verdict_dialog';

const HEADS = [{label: 'Kind of failure'}, {label: 'Tasks', end: true}, {label: 'When'}, {label: 'Last', end: true}, {label: 'Cost burnt', end: true}, {label: 'Verdict', isHidden: true}];
const SAMPLE = 200;
const SAMPLE_EVERY_MS = 60_000;
const BARS = 16;
const DAY_MS = 86_400_000;

export const onDeadLetters = (event: {name: string}): boolean => /^task\.(failed|retried|deleted|escalated|deadline_passed)$/.test(event.name);

// A group's times and costs are those of its newest tasks; they are fetched when its row comes into view.
function useSeen(): [ref: {current: HTMLTableRowElement | null}, isSeen: boolean] {
  const row = useRef<HTMLTableRowElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || !row.current) return;
    const watcher = new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && setSeen(true), {rootMargin: '200px'});
    watcher.observe(row.current);
    return () => watcher.disconnect();
  }, [isSeen]);
  return [row, isSeen];
}

function GroupRow({group, query}: {group: ErrorGroup; query: Record<string, string>}) {
  const [row, isSeen] = useSeen();
  const sample = useResource(isSeen && group.fingerprint ? group.fingerprint : null,
    async abort => (await call('GET /v1/tasks', {query: {...query, view: 'summary', state: 'failed', fingerprint: group.fingerprint!, limit: SAMPLE}, signal: abort})) as TaskSummaryPage, {everyMs: SAMPLE_EVERY_MS});
  const tasks = sample.data.value?.tasks;
  const times = tasks?.map(task => Date.parse(task.finished_at ?? task.created_at));
  const until = now.peek();
  const from = Math.min(Date.parse(group.first_at), until - 3_600_000);
  const isWhole = tasks && !sample.data.value!.cursor;
  const cost = tasks ? costOfTasks(tasks.map(task => task.usage)) : undefined;
  const target = group.fingerprint ? href(`/dlq/${group.fingerprint}`) : href(`/tasks/${group.example}`);
  return (
    <tr ref={row}>
      <Cell main label="Kind of failure">
        <a class="pattern" href={target}>{showHidden(group.pattern) || 'no message'}</a>
        <div class="line wrap sub">
          {group.class && <span class="tag">{group.class}</span>}
          {group.types.slice(0, 4).map(type => <span key={type}>{type}</span>)}
          {group.types.length > 4 && <span>and {group.types.length - 4} more types</span>}
          {group.escalated > 0 && <span class="badge-word info"><Icon name="person" />{count(group.escalated)} escalated</span>}
          {until - Date.parse(group.first_at) < DAY_MS && <span class="badge-word warning">new today</span>}
        </div>
      </Cell>
      <Cell end label="Tasks"><strong>{count(group.count)}</strong></Cell>
      <Cell label="When">{times && <Sparkline values={histogram(times, from, until, BARS)} label={`${plural(group.count, 'failure')} since ${group.first_at.slice(0, 16).replace('T', ' ')}`} />}</Cell>
      <Cell end label="Last"><Time at={group.last_at} form="age" /></Cell>
      <Cell end label="Cost burnt" className={`nowrap ${cost === null ? 'faint' : ''}`}>{cost === undefined ? '' : <span title={isWhole ? '' : `Of the newest ${SAMPLE}`}>{cost !== null && !isWhole ? 'over ' : ''}{money(cost)}</span>}</Cell>
      <Cell className="actions">{may('operate') && group.fingerprint && <div class="line">
        <button class="button small" onClick={() => openVerdict('retry', group)}><Icon name="retry" size={12} />Retry</button>
        <a class="button small" href={target}>Judge</a>
      </div>}</Cell>
    </tr>
  );
}

const keyOf = (group: ErrorGroup): string => group.fingerprint ?? `${group.class} ${group.pattern}`;

/** Filters of the address that narrow the list. */
function filters(): Record<string, string> {
  const out: Record<string, string> = {};
  for (const key of ['type', 'queue', 'owner'] as const) {
    const value = here.value.query.get(key);
    if (value) out[key] = value;
  }
  return out;
}

export function DlqPage() {
  const chosen = filters();
  const escalated = here.value.query.get('escalated');
  const query = {...chosen, ...(escalated ? {escalated: escalated === 'yes'} : {})};
  const kinds = useResource(`dlq ${JSON.stringify(query)}`, abort => call('GET /v1/dlq', {query, signal: abort}), {on: onDeadLetters, quietMs: 3000, everyMs: 30_000});
  const groups = kinds.data.value?.groups;
  const {items, hold} = useSteady(groups ?? [], keyOf);
  const isFiltered = Object.keys(query).length > 0;
  const total = groups?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  return (
    <div class="page">
      <PageHead title="Dead letters" note={groups?.length ? `${plural(total, 'task')} in ${plural(groups.length, 'kind')}` : ''}>
        {Object.entries(chosen).map(([key, value]) => (
          <button key={key} class="chip on" onClick={() => setQuery({[key]: null}, 'push')} title="Remove this filter">{key}:{value}<Icon name="close" size={12} /></button>
        ))}
        <Choices name="escalated" fallback="" label="Escalated" values={[{value: '', label: 'All'}, {value: 'no', label: 'Not judged'}, {value: 'yes', label: 'Escalated'}]} />
      </PageHead>
      <Operations />
      {kinds.error.value && <Problem text={kinds.error.value} retry={kinds.reload} />}
      {!groups ? !kinds.error.value && <Loading /> : groups.length === 0
        ? <Empty icon={isFiltered ? 'filter' : 'completed'} title={isFiltered ? 'No dead letter matches' : 'No dead letters'} command={isFiltered ? undefined : 'drover dlq list'}>
            {isFiltered ? <a href={href('/dlq')}>Show all</a> : 'A task that failed for good stays here until somebody judges it. In the terminal:'}
          </Empty>
        : <List heads={HEADS} caption="Kinds of failures" hold={hold}>{items.map(group => <GroupRow key={keyOf(group)} group={group} query={chosen} />)}</List>}
    </div>
  );
}
