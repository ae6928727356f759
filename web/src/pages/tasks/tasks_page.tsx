import {computed, signal} from '@preact/signals';
import {useEffect, useMemo, useRef} from 'preact/hooks';
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {BulkVerb} from '../../api/types';
import {useKeys} from '../../keys/keyboard';
import type {Target} from '../../lib/bulk_order';
import {count, plural} from '../../lib/format';
import {formatQuery, isEmptyQuery, toFlags, type Query, type QueryKey} from '../../lib/query';
import {drover} from '../../lib/shell';
import {density} from '../../lib/settings';
import {canAct} from '../../live/live';
import {useResource} from '../../live/resource';
import {go, here, href, setQuery} from '../../router';
import {copyText} from '../../ui/command';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Table} from '../../ui/table';
import type {TablePool} from '../../ui/table_pool';
import {actionsFor} from '../task/actions';
import {openBulk, VERBS} from './bulk_dialog';
import {TASK_COLUMNS} from './columns';
import {Peek} from './peek';
import {FacetMenu, OtherTerms, QUERY_INPUT, QueryBox, StateChips} from './query_box';
import {listFor, type TaskList} from './task_list';
import type {TaskRow} from './task_row';
import {Views} from './views';

const selection = signal<ReadonlySet<string>>(new Set());
/** Not rows, but everything that matches. */
const isAllSelected = signal(false);
// The table draws its rows again when either changes.
const shownSelection = computed<ReadonlySet<string>>(() => (isAllSelected.value ? new Set(selection.value) : selection.value));
const IDS_MAX = 1000;
const PEEK_FROM_PX = 900;

function clearSelection(): void {
  selection.value = new Set();
  isAllSelected.value = false;
}

const FACETS: {name: QueryKey; label: string; of: (row: TaskRow) => readonly string[]}[] = [
  {name: 'type', label: 'Type', of: row => [row.type]},
  {name: 'queue', label: 'Queue', of: row => [row.queue]},
  {name: 'owner', label: 'Owner', of: row => [row.owner]},
  {name: 'tag', label: 'Tag', of: row => row.tags},
  {name: 'class', label: 'Error', of: row => (row.errorClass ? [row.errorClass] : [])},
];
const FACET_ROWS = 2000;
const FACET_VALUES = 200;

function facetValues(list: TaskList, of: (row: TaskRow) => readonly string[]): string[] {
  const values = new Set<string>();
  for (const row of list.rows.peek().slice(0, FACET_ROWS)) {
    for (const value of of(row)) values.add(value);
    if (values.size > FACET_VALUES) break;
  }
  return [...values];
}

function totalText(list: TaskList): string {
  const total = list.total.value;
  if (!total) return '';
  return total.isCapped ? `${count(total.tasks)}+ tasks` : plural(total.tasks, 'task');
}

function Filters({list, setFilter}: {list: TaskList; setFilter: (query: Query) => void}) {
  const stats = useResource('stats', abort => call('GET /v1/stats', {signal: abort}), {on: event => event.state !== null && event.name !== 'task.progressed', quietMs: 2000});
  return (
    <div class="filters">
      <Views q={list.text}>
        <button class="total faint" title="Copy the same as a command" onClick={() => void copyText(drover('list', ...toFlags(list.query)), 'Command copied')}>
          {totalText(list)}<Icon name="command" size={13} />
        </button>
      </Views>
      <QueryBox query={list.query} onChange={setFilter} />
      <div class="filter-chips">
        <StateChips query={list.query} counts={stats.data.value?.tasks ?? null} onChange={setFilter} />
        <div class="chips">
          {FACETS.map(facet => <FacetMenu key={facet.name} name={facet.name} label={facet.label} values={() => facetValues(list, facet.of)} query={list.query} onChange={setFilter} />)}
          <OtherTerms query={list.query} onChange={setFilter} />
        </div>
      </div>
    </div>
  );
}

function verbsFor(): BulkVerb[] {
  const verbs: BulkVerb[] = [];
  if (may('operate')) verbs.push('retry');
  if (may('produce')) verbs.push('cancel', 'edit');
  if (may('operate')) verbs.push('escalate', 'delete');
  return verbs;
}

function SelectionBar({list}: {list: TaskList}) {
  const chosen = selection.value.size;
  if (!chosen && !isAllSelected.value) return null;
  const target: Target = isAllSelected.value ? {query: list.query} : {ids: [...selection.value]};
  const total = list.total.value;
  const hasMore = total !== null && (total.isCapped || total.tasks > chosen);
  return (
    <div class="selection-bar" role="region" aria-label="Selected tasks">
      <strong>{isAllSelected.value ? `All ${totalText(list)} that match` : `${plural(chosen, 'task')} selected`}</strong>
      {!isAllSelected.value && hasMore && <button class="link" onClick={() => (isAllSelected.value = true)}>Select all {totalText(list)} that match</button>}
      <span class="grow" />
      {verbsFor().map(verb => (
        <button key={verb} class="button small" disabled={!canAct.value || (!isAllSelected.value && chosen > IDS_MAX)} onClick={() => openBulk(verb, target)}>
          <Icon name={VERBS[verb].icon} size={13} />{VERBS[verb].button}…
        </button>
      ))}
      <button class="icon-button" aria-label="Clear the selection" title="Clear the selection" onClick={clearSelection}><Icon name="close" /></button>
    </div>
  );
}

function NothingThere({list}: {list: TaskList}) {
  if (isEmptyQuery(list.query)) {
    return <Empty icon="tasks" title="No tasks yet" command="drover enqueue fix --prompt 'Fix the failing test in src/parser'">Tasks appear here as soon as they are enqueued.</Empty>;
  }
  return (
    <Empty icon="filter" title="No task matches" command={drover('list', ...toFlags(list.query))}>
      Nothing has <code>{formatQuery(list.query)}</code>. <a href={href('/tasks')}>Show all tasks</a>
    </Empty>
  );
}

// The rows from the last click to this one, for Shift.
function useSelecting(list: TaskList) {
  const anchor = useRef(-1);
  return (row: TaskRow, index: number, isRange: boolean) => {
    const chosen = new Set(isAllSelected.peek() ? [] : selection.peek());
    isAllSelected.value = false;
    if (isRange && anchor.current >= 0) {
      const [from, to] = [Math.min(anchor.current, index), Math.max(anchor.current, index)];
      for (const one of list.rows.peek().slice(from, to + 1)) chosen.add(one.id);
    } else if (chosen.has(row.id)) {
      chosen.delete(row.id);
    } else {
      chosen.add(row.id);
    }
    anchor.current = index;
    selection.value = chosen;
  };
}

export function TasksPage() {
  const {query} = here.value;
  const q = query.get('q') ?? '';
  const peek = query.get('peek');
  const list = useMemo(() => listFor(q), [q]);
  const pool = useRef<TablePool<TaskRow> | null>(null);
  useEffect(() => {
    list.start();
    clearSelection();
    return () => list.stop();
  }, [list]);
  useEffect(() => selection.subscribe(chosen => list.setBusy(chosen.size > 0)), [list]);
  const onSelect = useSelecting(list);
  const setFilter = (next: Query) => go(href('/tasks', {q: formatQuery(next), peek}), 'push');
  const open = (row: TaskRow) => go(href(`/tasks/${row.id}`, {q}));
  // A second click, or Enter, on the row whose pane is open goes to its page.
  const onOpen = (row: TaskRow) => (innerWidth < PEEK_FROM_PX || peek === row.id ? open(row) : setQuery({peek: row.id}, peek ? 'replace' : 'push'));
  const active = () => pool.current?.active ?? null;
  const act = (letter: string) => {
    const row = active();
    if (row) actionsFor(row, false).find(action => action.key === letter)?.run();
  };
  const move = (by: number) => {
    pool.current?.move(by);
    const row = active();
    if (row && here.peek().query.get('peek')) setQuery({peek: row.id});
  };
  useKeys('Tasks', [
    {keys: '/', label: 'Filter', run: () => document.getElementById(QUERY_INPUT)?.focus()},
    {keys: 'j', label: 'Next task', run: () => move(1)},
    {keys: 'k', label: 'Previous task', run: () => move(-1)},
    {keys: 'Enter', label: 'Open the task', run: () => { const row = active(); if (row) open(row); }},
    {keys: 'p', label: 'Peek at the task', run: () => { const row = active(); if (row) setQuery({peek: peek === row.id ? null : row.id}); }},
    {keys: 'x', label: 'Select the task', run: () => pool.current?.toggleActive()},
    {keys: 'l', label: 'Its log', run: () => { const row = active(); if (row) open(row); }},
    {keys: 'r', label: 'Retry', run: () => act('r')},
    {keys: 'c', label: 'Cancel', run: () => act('c')},
    {keys: 'e', label: 'Edit', run: () => act('e')},
    {keys: 'Escape', label: 'Close the pane, clear the selection', run: () => { if (peek) setQuery({peek: null}); else clearSelection(); }},
  ]);
  const rowHeight = density.value === 'compact' ? 34 : 42;
  const isEmpty = list.isEmpty.value;
  return (
    <div class="tasks-page">
      <div class="tasks-main">
        <h1 class="visually-hidden">Tasks</h1>
        <Filters list={list} setFilter={setFilter} />
        {list.error.value && <Problem text={list.error.value} retry={() => void list.load()} />}
        <SelectionBar list={list} />
        {list.waiting.value > 0 && (
          <button class="new-rows" onClick={() => list.showNew()}><Icon name="up" size={13} />{count(list.waiting.value)} new</button>
        )}
        {isEmpty && list.isLoading.value && <Loading label="Reading tasks" />}
        {isEmpty && !list.isLoading.value && !list.error.value && <NothingThere list={list} />}
        <div class={`tasks-table ${isEmpty ? 'is-empty' : ''}`}>
          <Table<TaskRow> key={list.text} name="tasks" label="Tasks" rows={list.rows} columns={TASK_COLUMNS} keyOf={row => row.id}
            hrefOf={row => href(`/tasks/${row.id}`, {q})} rowClass={row => (row.isGone ? 'gone' : '')} onOpen={onOpen} onSelect={onSelect} isSelected={key => isAllSelected.peek() || selection.peek().has(key)}
            selection={shownSelection} activeKey={peek} rowHeight={rowHeight} cardHeight={76} onBusy={isBusy => list.setBusy(isBusy || selection.peek().size > 0)}
            onEnd={() => void list.more()} poolRef={made => (pool.current = made)} />
        </div>
      </div>
      {peek && <Peek id={peek} q={q} />}
    </div>
  );
}
