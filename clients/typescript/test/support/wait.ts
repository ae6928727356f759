/** Waiting in tests: for something that happens, with a bound. */

import { setImmediate as turn, setTimeout as after } from "node:timers/promises";

/** Looks until something is so. */
export async function eventually<T>(look: () => T | Promise<T>, what: string, timeoutMs = 15_000): Promise<NonNullable<T>> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (performance.now() > giveUpAt) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await after(10);
  }
}

/** A promise that somebody else settles. */
export function signalled<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** When a signal is aborted; its reason. */
export async function aborted(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  return signal.reason;
}

/** Keeps the event loop busy: no timer and no answer is served meanwhile. */
export function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

export { turn };
