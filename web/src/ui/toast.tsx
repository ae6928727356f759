import {signal} from '@preact/signals';
import {Icon} from './icons';

interface Toast {
  id: number;
  kind: 'done' | 'problem';
  text: string;
  action?: {label: string; run: () => void};
}

const toasts = signal<Toast[]>([]);
let nextId = 1;
const SHOWN_MS = {done: 5000, problem: 12_000};
const MOST = 4;

export function toast(kind: Toast['kind'], text: string, action?: Toast['action']): void {
  const id = nextId++;
  toasts.value = [...toasts.value.slice(-(MOST - 1)), {id, kind, text, action}];
  window.setTimeout(() => dismiss(id), SHOWN_MS[kind]);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter(one => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({id, kind, text, action}) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <span class="grow">{text}</span>
          {action && <button class="link" onClick={() => { action.run(); dismiss(id); }}>{action.label}</button>}
          <button class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}><Icon name="close" /></button>
        </div>
      ))}
    </div>
  );
}
