// One clock for the page: ticks once a second while somebody looks. Relative times subscribe to it; nothing else has a timer.
import {signal} from '@preact/signals';

/** The server's time as this page believes it, in milliseconds. */
export const now = signal(Date.now());

// What the server's clock is ahead of this computer's; ages must not depend on a wrong clock here.
let ahead = 0;

export function setServerTime(text: string): void {
  const at = Date.parse(text);
  if (!Number.isNaN(at)) ahead = Math.abs(at - Date.now()) < 1500 ? 0 : at - Date.now();
  now.value = serverNow();
}

export const serverNow = (): number => Date.now() + ahead;

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = serverNow();
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) now.value = serverNow();
  });
}
