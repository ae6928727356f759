// What agents used and what it cost, from the ledger; runs that failed or were tried again are wasted.
import {useMemo} from 'preact/hooks';
import {call} from '../../api/client';
import type {TaskSummary, TaskSummaryPage, UsageRow} from '../../api/types';
import {Chart} from '../../charts/chart';
import {serverNow} from '../../lib/clock';
import {compact, count, money, NOT_REPORTED, percent, plural} from '../../lib/format';
import {drover, flag} from '../../lib/shell';
import {byCost, costOf, costOfTasks, costText, firstDay, hasRuns, roundMoney, tokensOf, total, unpricedText, USAGE_KEYS, wastedBy, type UsageKey, type Wasted} from '../../lib/usage';
import {useResource} from '../../live/resource';
import {here, href} from '../../router';
import {Command} from '../../ui/command';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Cell, Choices, Figure, List, PageHead, Section} from '../../ui/list';

const DAYS = [{value: '1', label: 'Today'}, {value: '7', label: '7 days'}, {value: '30', label: '30 days'}, {value: 'all', label: 'All'}];
const BY = USAGE_KEYS.map(key => ({value: key as string, label: key}));
const EVERY_MS = 30_000;
const ROWS_SHOWN = 200;
const FAILED_PAGES = 3;
const DAY_S = 86_400;

const onEnds = (event: {name: string}): boolean => /^task\.(completed|failed|retrying|deferred|cancelled)$/.test(event.name);

function Summary({sum, runs, failed}: {sum: UsageRow; runs: Wasted; failed: FailedCost | null}) {
  return (
    <div class="figures">
      <Figure label="Spent" value={<Cost row={sum} />} note={unpricedText(sum)} />
      <Figure label="Tokens" value={compact(tokensOf(sum))} note={`${compact(sum.cached_input_tokens ?? 0)} of them from a cache`} />
      <Figure label="Runs" value={count(runs.runs)} note={`${count(sum.turns ?? 0)} turns, ${count(sum.tool_calls ?? 0)} tool calls`} />
      <Figure label="Wasted runs" value={<>{count(runs.wasted)} <span class="faint small-part">{percent(runs.wasted, runs.runs)}</span></>} note="failed, or tried again" />
      <Figure label="Burnt on tasks that failed" value={failed ? <Burnt failed={failed} /> : '…'} note={failed ? `${plural(failed.tasks, 'dead letter')} still stored` : ''} />
    </div>
  );
}

function Burnt({failed}: {failed: FailedCost}) {
  return <span class={failed.cost === null ? 'faint' : ''}>{failed.isWhole || failed.cost === null ? '' : 'over '}{money(failed.cost)}</span>;
}

interface FailedCost {
  cost: number | null;
  tasks: number;
  isWhole: boolean;
}

async function costOfFailed(after: string | null, abort: AbortSignal): Promise<FailedCost> {
  const tasks: TaskSummary[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < FAILED_PAGES; page++) {
    const answer = (await call('GET /v1/tasks', {query: {view: 'summary', state: 'failed', limit: 1000, ...(after ? {finished_after: after} : {}), ...(cursor ? {cursor} : {})}, signal: abort})) as TaskSummaryPage;
    tasks.push(...answer.tasks);
    cursor = answer.cursor;
    if (!cursor) break;
  }
  return {cost: costOfTasks(tasks.map(task => task.usage)), tasks: tasks.length, isWhole: cursor === null};
}

function Cost({row}: {row: UsageRow}) {
  const cost = costOf(row);
  return <span class={cost === null ? 'faint' : ''}>{cost === null ? NOT_REPORTED : costText(row)}</span>;
}

function linkOf(key: UsageKey, name: string): string | null {
  return key === 'type' || key === 'owner' || key === 'tag' || key === 'model' ? href('/tasks', {q: `${key}:${/\s/.test(name) ? `"${name}"` : name}`}) : null;
}

function WastedShare({of}: {of: Wasted | undefined}) {
  if (!of || of.wasted === 0) return <span class="faint">0</span>;
  return (
    <>
      {count(of.wasted)} <span class="faint">{percent(of.wasted, of.runs)}</span>
      <div class="share"><span class="wasted" style={{width: `${(of.wasted / of.runs) * 100}%`}} /></div>
    </>
  );
}

function Row({row, name, by, most, wasted}: {row: UsageRow; name: string; by: UsageKey; most: number; wasted: Wasted | undefined}) {
  const link = linkOf(by, name);
  const unpriced = unpricedText(row);
  return (
    <tr>
      <Cell main label={by}>{name === '' ? <span class="faint">no {by}</span> : link ? <a class="strong" href={link}>{name}</a> : <span class="strong">{name}</span>}
        <div class="share"><span style={{width: `${most > 0 ? ((costOf(row) ?? 0) / most) * 100 : 0}%`}} /></div></Cell>
      <Cell end label="Cost" className="nowrap"><Cost row={row} />{unpriced && costOf(row) !== null && <div class="sub">{unpriced}</div>}</Cell>
      <Cell end label="Tokens">{compact(tokensOf(row))}</Cell>
      <Cell end label="Output">{compact(row.output_tokens ?? 0)}</Cell>
      {hasRuns(by) && <Cell end label="Runs">{count(wasted?.runs ?? row.runs ?? 0)}</Cell>}
      {hasRuns(by) && <Cell end label="Wasted" className="nowrap"><WastedShare of={wasted} /></Cell>}
    </tr>
  );
}

function headsOf(by: UsageKey) {
  const heads = [{label: by}, {label: 'Cost', end: true}, {label: 'Tokens', end: true}, {label: 'Output', end: true}];
  return hasRuns(by) ? [...heads, {label: 'Runs', end: true}, {label: 'Wasted', end: true}] : heads;
}

/** Days without gaps, so that a quiet day is seen. */
function dayColumns(rows: readonly UsageRow[]): {times: number[]; spend: (number | null)[]} {
  const byDay = new Map(rows.map(row => [row.day!, row]));
  const days = [...byDay.keys()].sort();
  const times: number[] = [];
  const spend: (number | null)[] = [];
  if (!days.length) return {times, spend};
  for (let at = Date.parse(days[0]!) / 1000; at <= Date.parse(days.at(-1)!) / 1000; at += DAY_S) {
    const row = byDay.get(new Date(at * 1000).toISOString().slice(0, 10));
    times.push(at);
    spend.push(row ? costOf(row) : null);
  }
  return {times, spend};
}

function SpendByDay({rows}: {rows: readonly UsageRow[]}) {
  const {times, spend} = useMemo(() => dayColumns(rows), [rows]);
  if (times.length < 2) return null;
  return <Chart title="By day" summary="in UTC, as the ledger counts" times={times} days format={roundMoney} series={[{label: 'spent', tone: 'c-spend', kind: 'bars', values: spend}]} />;
}

const NOTES: Partial<Record<UsageKey, string>> = {tag: 'of tasks that are still stored; one with two tags counts for both', model: 'a run may use several'};

const nameOf = (row: UsageRow, by: UsageKey): string => String(row[by] ?? '');

export function CostsPage() {
  const query = here.value.query;
  const by = (USAGE_KEYS as readonly string[]).includes(query.get('by') ?? '') ? (query.get('by') as UsageKey) : 'type';
  const days = query.get('days') ?? '7';
  const from = days === 'all' ? undefined : firstDay(serverNow(), Number(days) || 7);
  const options = {on: onEnds, quietMs: EVERY_MS};
  // The ledger by tag is of the tasks that are stored, whatever the day.
  const range = by === 'tag' ? {} : {from};
  const rows = useResource(`usage ${by} ${from}`, abort => call('GET /v1/usage', {query: {by, ...range}, signal: abort}), options);
  const ends = useResource(hasRuns(by) ? `ends ${by} ${from}` : null, abort => call('GET /v1/usage', {query: {by: `${by},class`, from}, signal: abort}), options);
  const daily = useResource(`daily ${from}`, abort => call('GET /v1/usage', {query: {by: 'day', from}, signal: abort}), options);
  const classes = useResource(`classes ${from}`, abort => call('GET /v1/usage', {query: {by: 'class', from}, signal: abort}), options);
  const failed = useResource(`failed ${from}`, abort => costOfFailed(from ? `${from}T00:00:00Z` : null, abort));
  const list = rows.data.value?.rows;
  const error = rows.error.value ?? ends.error.value ?? daily.error.value ?? classes.error.value ?? failed.error.value;
  const wasted = useMemo(() => wastedBy(ends.data.value?.rows ?? [], by), [ends.data.value, by]);
  const runs = [...wastedBy(classes.data.value?.rows ?? [], 'type').values()].reduce((sum, one) => ({runs: sum.runs + one.runs, wasted: sum.wasted + one.wasted}), {runs: 0, wasted: 0});
  const sorted = useMemo(() => [...(list ?? [])].sort(by === 'day' ? (one, other) => (one.day! < other.day! ? 1 : -1) : byCost), [list, by]);
  const most = Math.max(0, ...sorted.map(row => costOf(row) ?? 0));
  const isEmpty = list?.length === 0 && daily.data.value?.rows.length === 0;
  return (
    <div class="page">
      <PageHead title="Costs" note={from ? `since ${from} (UTC)` : 'since the ledger began'}><Choices name="days" values={DAYS} fallback="7" label="Days" /></PageHead>
      {error && <Problem text={error} retry={() => { rows.reload(); ends.reload(); daily.reload(); classes.reload(); failed.reload(); }} />}
      {!list ? !error && <Loading /> : isEmpty
        ? <Empty icon="costs" title="No agent has reported what it used" command="drover work --preset claude --queue default">
            Agents of a preset report tokens and cost by themselves; others report them with a call. None did in this period.
          </Empty>
        : <>
            {daily.data.value && <Summary sum={total(daily.data.value.rows)} runs={runs} failed={failed.data.value} />}
            {daily.data.value && <SpendByDay rows={daily.data.value.rows} />}
            <Section title={`By ${by}`} note={NOTES[by] ?? ''} tools={<Choices name="by" values={BY} fallback="type" label="By" />}>
              <List heads={headsOf(by)} caption={`Costs by ${by}`}>
                {sorted.slice(0, ROWS_SHOWN).map(row => <Row key={nameOf(row, by)} row={row} name={nameOf(row, by)} by={by} most={most} wasted={wasted.get(nameOf(row, by))} />)}
              </List>
              {sorted.length > ROWS_SHOWN && <p class="faint">{count(sorted.length - ROWS_SHOWN)} more</p>}
            </Section>
            <Command text={drover('usage', '--by', by, ...(by === 'tag' ? [] : flag('from', from)))} />
          </>}
    </div>
  );
}
