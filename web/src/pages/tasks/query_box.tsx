import {useEffect, useRef, useState} from 'preact/hooks';
import {formatQuery, parseQuery, QUERY_KEYS, toggleTerm, withoutTerm, hasTerm, valuesOf, type Query, type QueryKey} from '../../lib/query';
import {count} from '../../lib/format';
import {TASK_STATES} from '../../lib/states';
import type {TaskCounts} from '../../api/types';
import {Icon} from '../../ui/icons';
import {Menu} from '../../ui/menu';

export const QUERY_INPUT = 'task-query';

/** The text, with completion of names; applied on Enter and when it is left. */
export function QueryBox({query, onChange}: {query: Query; onChange: (query: Query) => void}) {
  const shown = formatQuery(query);
  const [draft, setDraft] = useState<string | null>(null);
  const [unknown, setUnknown] = useState<string[]>([]);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setDraft(null), [shown]);
  const apply = () => {
    if (draft === null) return;
    const parsed = parseQuery(draft);
    setUnknown(parsed.unknown);
    if (parsed.unknown.length) return;
    setDraft(null);
    onChange(parsed);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') apply();
    else if (event.key === 'Escape') {
      setDraft(null);
      setUnknown([]);
      input.current?.blur();
    }
  };
  return (
    <div class="query-box">
      <Icon name="search" />
      <input id={QUERY_INPUT} ref={input} type="text" spellcheck={false} autocomplete="off" aria-label="Filter tasks" list="query-names"
        placeholder="Filter: state:failed queue:eng tag:nightly, or words to search for"
        value={draft ?? shown} onInput={event => { setDraft(event.currentTarget.value); setUnknown([]); }} onKeyDown={onKey} onBlur={apply} />
      <datalist id="query-names">{QUERY_KEYS.map(key => <option key={key} value={`${key}:`} />)}</datalist>
      {unknown.length > 0 && <span class="query-problem" role="alert">There is no {unknown.map(name => `“${name}:”`).join(', ')}. Names: {QUERY_KEYS.join(', ')}.</span>}
      {shown !== '' && <button class="icon-button" aria-label="Clear the filter" title="Clear the filter" onClick={() => onChange({terms: [], text: ''})}><Icon name="close" /></button>}
    </div>
  );
}

/** Counts are shown only where they are those of this filter. */
export function StateChips({query, counts, onChange}: {query: Query; counts: TaskCounts | null; onChange: (query: Query) => void}) {
  const isOnlyState = query.text === '' && query.terms.every(term => term.key === 'state' || term.key === 'order');
  return (
    <div class="chips states" role="group" aria-label="States">
      {TASK_STATES.map(state => (
        <button key={state} class="chip" aria-pressed={hasTerm(query, 'state', state)} onClick={() => onChange(toggleTerm(query, 'state', state))}>
          <span class={`s-${state} chip-state`}><Icon name={state} size={13} /></span>
          {state}
          {counts && isOnlyState && <span class="number">{count(counts[state])}</span>}
        </button>
      ))}
    </div>
  );
}

function Values({values, query, name, onChange, close}:
  {values: string[]; query: Query; name: QueryKey; onChange: (query: Query) => void; close: () => void}) {
  const [text, setText] = useState('');
  const shown = values.filter(value => value.toLowerCase().includes(text.toLowerCase())).slice(0, 100);
  const add = (value: string) => onChange(toggleTerm(query, name, value));
  return (
    <>
      <input type="text" placeholder={`Another ${name}`} aria-label={`Another ${name}`} value={text} onInput={event => setText(event.currentTarget.value)}
        onKeyDown={event => { if (event.key === 'Enter' && text.trim()) { add(text.trim()); close(); } }} />
      {shown.map(value => (
        <label key={value} class="menu-item">
          <input type="checkbox" checked={hasTerm(query, name, value)} onChange={() => add(value)} />
          <span class="clip">{value}</span>
        </label>
      ))}
      {shown.length === 0 && <div class="menu-item faint">Press Enter to filter by what you typed</div>}
    </>
  );
}

export function FacetMenu({name, label, values, query, onChange}:
  {name: QueryKey; label: string; values: () => string[]; query: Query; onChange: (query: Query) => void}) {
  const chosen = valuesOf(query, name);
  return (
    <Menu className={`chip ${chosen.length ? 'on' : ''}`} label={chosen.length ? <span class="clip">{label}: {chosen.join(', ')}</span> : label}>
      {close => <Values values={[...new Set([...chosen, ...values()])].sort()} query={query} name={name} onChange={onChange} close={close} />}
    </Menu>
  );
}

const IN_MENUS: readonly QueryKey[] = ['state', 'type', 'queue', 'owner', 'tag', 'class'];

/** Terms that no menu shows, each with a way to remove it. */
export function OtherTerms({query, onChange}: {query: Query; onChange: (query: Query) => void}) {
  const others = query.terms.filter(term => !IN_MENUS.includes(term.key));
  return (
    <>
      {others.map(({key, value}) => (
        <button key={key + value} class="chip on" title="Remove this filter" onClick={() => onChange(withoutTerm(query, key, value))}>
          <span class="clip">{key}: {value}</span><Icon name="close" size={11} />
        </button>
      ))}
      {query.text !== '' && (
        <button class="chip on" title="Remove the search" onClick={() => onChange({...query, text: ''})}>
          <span class="clip">“{query.text}”</span><Icon name="close" size={11} />
        </button>
      )}
    </>
  );
}
