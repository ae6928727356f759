// Keys of the page. A page registers what it understands while it is shown; `?` lists all of it.
import {signal} from '@preact/signals';
import {useEffect, useRef} from 'preact/hooks';
import {singleKeys} from '../lib/settings';

export interface KeyBinding {
  /** "j", "g t" (one after the other), "Ctrl+k", "?", "Escape". */
  keys: string;
  label: string;
  run: () => void;
  /** Works in input fields and without single keys as well. */
  isGlobal?: boolean;
}

const groups = new Map<string, readonly KeyBinding[]>();
export const boundKeys = signal<ReadonlyMap<string, readonly KeyBinding[]>>(groups);

const PREFIX_MS = 1200;
let prefix = '';
let prefixAt = 0;

function nameOf(event: KeyboardEvent): string {
  const modifier = event.ctrlKey || event.metaKey ? 'Ctrl+' : event.altKey ? 'Alt+' : '';
  return modifier + (event.key.length === 1 && modifier ? event.key.toLowerCase() : event.key);
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) &&
    !(element instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(element.type));
}

function find(pressed: string): KeyBinding | undefined {
  // The group that was registered last comes first: a pane before its page, a page before the frame.
  for (const bindings of [...groups.values()].reverse()) {
    const binding = bindings.find(one => one.keys === pressed);
    if (binding) return binding;
  }
  return undefined;
}

// Enter and Space belong to the button or link that has the focus.
function activates(event: KeyboardEvent): boolean {
  return (event.key === 'Enter' || event.key === ' ') && !!(event.target as Element | null)?.closest?.('a, button, summary, select, input');
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || activates(event)) return;
  const isDialogOpen = document.querySelector('dialog[open]') !== null;
  const pressed = nameOf(event);
  const isChord = prefix !== '' && Date.now() - prefixAt < PREFIX_MS;
  const binding = (isChord && find(`${prefix} ${pressed}`)) || find(pressed);
  const isStart = [...groups.values()].some(bindings => bindings.some(one => one.keys.startsWith(pressed + ' ')));
  prefix = '';
  const isFree = !isTyping(event.target) && !isDialogOpen && singleKeys.peek() === 'on';
  if (binding && (binding.isGlobal || isFree || (event.key === 'Escape' && !isDialogOpen && !isTyping(event.target)))) {
    event.preventDefault();
    binding.run();
  } else if (isStart && isFree) {
    prefix = pressed;
    prefixAt = Date.now();
  }
}

export function startKeyboard(): void {
  document.addEventListener('keydown', onKey);
}

/** Registers keys while the component is shown. The latest functions are called, whichever render made them. */
export function useKeys(group: string, bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = bindings.map(one => one.keys).join('|');
  useEffect(() => {
    groups.set(group, latest.current.map((binding, at) => ({...binding, run: () => latest.current[at]?.run()})));
    boundKeys.value = new Map(groups);
    return () => {
      groups.delete(group);
      boundKeys.value = new Map(groups);
    };
  }, [group, names]);
}
