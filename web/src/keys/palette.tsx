// Ctrl-K: pages, ids, actions. Pages add their actions with usePaletteActions.
import {signal} from '@preact/signals';
import {useEffect, useRef, useState} from 'preact/hooks';
import {call} from '../api/client';
import {may} from '../api/session';
import {shortId} from '../lib/format';
import {pages} from '../pages';
import {go, href} from '../router';
import {Dialog} from '../ui/dialog';
import {Icon, type IconName} from '../ui/icons';

export interface PaletteAction {
  label: string;
  detail?: string;
  icon: IconName;
  run: () => void;
}

const isOpen = signal(false);
const added = signal<ReadonlyMap<string, readonly PaletteAction[]>>(new Map());

export const openPalette = (): void => void (isOpen.value = true);

export function usePaletteActions(group: string, actions: readonly PaletteAction[]): void {
  const key = actions.map(one => one.label).join('|');
  useEffect(() => {
    added.value = new Map(added.peek()).set(group, actions);
    return () => {
      const rest = new Map(added.peek());
      rest.delete(group);
      added.value = rest;
    };
  }, [group, key]);
}

const ID = /^[0-9a-f-]{6,36}$/;
const ID_SEARCH_MS = 150;

function fixedEntries(): PaletteAction[] {
  const shown = pages.filter(page => page.nav && (!page.needs || may(page.needs)));
  const places = shown.map(page => ({
    label: page.nav!.label, detail: 'page', icon: page.nav!.icon, run: () => go(href(page.path)),
  }));
  return [...[...added.value.values()].flat(), ...places];
}

/** Every word somewhere in the label, in any order. */
export function isMatch(text: string, label: string): boolean {
  const lower = label.toLowerCase();
  return text.toLowerCase().split(/\s+/).every(word => lower.includes(word));
}

async function tasksOfId(text: string, abort: AbortSignal): Promise<PaletteAction[]> {
  const page = await call('GET /v1/tasks', {query: {view: 'summary', id: text, limit: 6}, signal: abort});
  return page.tasks.map(task => ({
    label: `${task.type} ${shortId(task.id)}`, detail: task.state, icon: task.state, run: () => go(href(`/tasks/${task.id}`)),
  }));
}

function searchEntries(text: string): PaletteAction[] {
  if (!text) return [];
  return [{label: `Search tasks for “${text}”`, detail: 'tasks', icon: 'search', run: () => go(href('/tasks', {q: text}))}];
}

function PaletteDialog() {
  const [text, setText] = useState('');
  const [found, setFound] = useState<PaletteAction[]>([]);
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const close = () => (isOpen.value = false);
  useEffect(() => {
    const wanted = text.trim().toLowerCase();
    if (!ID.test(wanted)) return setFound([]);
    const abort = new AbortController();
    const timer = setTimeout(() => tasksOfId(wanted, abort.signal).then(setFound, () => setFound([])), ID_SEARCH_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const wanted = text.trim();
  const entries = [...found, ...fixedEntries().filter(entry => !wanted || isMatch(wanted, entry.label)), ...searchEntries(wanted)];
  const at = Math.min(active, entries.length - 1);
  useEffect(() => list.current?.children[at]?.scrollIntoView({block: 'nearest'}), [at]);
  const choose = (entry: PaletteAction | undefined) => {
    if (!entry) return;
    close();
    entry.run();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setActive(Math.min(entries.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(0, at - 1));
    else if (event.key === 'Enter') choose(entries[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" size="small" onClose={close}>
      <div class="palette">
        <input type="text" class="palette-input" placeholder="A page, an action, a task id, or words to search for" autoFocus
          role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={`palette-${at}`} aria-label="Go to"
          value={text} onInput={event => { setText(event.currentTarget.value); setActive(0); }} onKeyDown={onKey} />
        <ul id="palette-list" role="listbox" aria-label="Results" ref={list}>
          {entries.map((entry, index) => (
            <li key={`${entry.label}${index}`} id={`palette-${index}`} role="option" aria-selected={index === at}
              class={index === at ? 'active' : ''} onPointerMove={() => setActive(index)} onClick={() => choose(entry)}>
              <Icon name={entry.icon} />
              <span class="grow">{entry.label}</span>
              {entry.detail && <span class="faint">{entry.detail}</span>}
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

export function Palette() {
  return isOpen.value ? <PaletteDialog /> : null;
}
