// What this browser remembers: theme, time zone, single keys, column widths. Never the data.
import {signal, type Signal} from '@preact/signals';

function read(name: string): string | null {
  try {
    return localStorage.getItem(`drover.${name}`);
  } catch {
    return null;  // storage is switched off: settings last as long as the page
  }
}

export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`drover.${name}`);
    else localStorage.setItem(`drover.${name}`, value);
  } catch {
    // as above
  }
}

export function remembered<T extends string>(name: string, values: readonly T[], fallback: T): Signal<T> {
  const stored = read(name) as T | null;
  const value = signal<T>(stored !== null && values.includes(stored) ? stored : fallback);
  value.subscribe(now => remember(name, now === fallback ? null : now));
  return value;
}

export const recall = read;

export const theme = remembered('theme', ['system', 'light', 'dark'] as const, 'system');
export const timeZone = remembered('times', ['local', 'utc'] as const, 'local');
export const singleKeys = remembered('keys', ['on', 'off'] as const, 'on');
export const density = remembered('density', ['compact', 'roomy'] as const, 'compact');
