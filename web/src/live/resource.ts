// Something that a page shows: fetched once, fetched again when events say that it may have changed. What was loaded stays on
// the screen when a later fetch fails; the error is shown beside it.
import {signal, type Signal} from '@preact/signals';
import {useEffect, useRef} from 'preact/hooks';
import {describe, isAbort} from '../api/client';
import type {Event} from '../api/types';
import {onEvents, resync} from './live';

export interface Resource<T> {
  data: Signal<T | null>;
  error: Signal<string | null>;
  isLoading: Signal<boolean>;
  reload: () => void;
}

export interface ResourceOptions {
  /** Fetch again after events for which this is true, at most once in `quietMs`. */
  on?: (event: Event) => boolean;
  /** How long to wait between two fetches that events ask for. */
  quietMs?: number;
  /** Fetch again this often, for numbers that have no events. */
  everyMs?: number;
}

const QUIET_MS = 1000;

class Fetcher<T> implements Resource<T> {
  data = signal<T | null>(null);
  error = signal<string | null>(null);
  isLoading = signal(false);
  private controller: AbortController | null = null;
  private timer = 0;
  private lastAt = 0;
  private isWanted = false;

  constructor(private load: (abort: AbortSignal) => Promise<T>, private quietMs: number) {}

  reload = (): void => void this.run();

  async run(): Promise<void> {
    if (this.controller) {
      this.isWanted = true;
      return;
    }
    clearTimeout(this.timer);
    this.timer = 0;
    this.isWanted = false;
    this.lastAt = Date.now();
    const controller = (this.controller = new AbortController());
    this.isLoading.value = true;
    try {
      const data = await this.load(controller.signal);
      if (controller.signal.aborted) return;
      this.data.value = data;
      this.error.value = null;
    } catch (error) {
      if (controller.signal.aborted || isAbort(error)) return;
      this.error.value = describe(error);
    } finally {
      if (this.controller === controller) {
        this.controller = null;
        this.isLoading.value = false;
        if (this.isWanted) this.soon();
      }
    }
  }

  /** Fetches after a pause; many wishes make one fetch. */
  soon(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => void this.run(), Math.max(0, this.lastAt + this.quietMs - Date.now()));
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.isWanted = false;
    this.controller?.abort();
    this.controller = null;
  }
}

/** `key` names what is loaded: another key loads afresh and forgets the old data. A null key loads nothing. */
export function useResource<T>(key: string | null, load: (abort: AbortSignal) => Promise<T>, options: ResourceOptions = {}): Resource<T> {
  const held = useRef<{key: string | null; fetcher: Fetcher<T>} | null>(null);
  const latest = useRef(load);
  latest.current = load;
  const wishes = useRef(options);
  wishes.current = options;
  if (held.current === null || held.current.key !== key)
    held.current = {key, fetcher: new Fetcher<T>(abort => latest.current(abort), options.quietMs ?? QUIET_MS)};
  const {fetcher} = held.current;
  useEffect(() => {
    if (key === null) return;
    void fetcher.run();
    const stopEvents = onEvents(events => {
      if (wishes.current.on && events.some(wishes.current.on)) fetcher.soon();
    });
    let seen = resync.peek();
    const stopResync = resync.subscribe(value => {
      if (value !== seen) fetcher.soon();
      seen = value;
    });
    const every = wishes.current.everyMs;
    const timer = every ? window.setInterval(() => !document.hidden && fetcher.soon(), every) : 0;
    return () => {
      stopEvents();
      stopResync();
      clearInterval(timer);
      fetcher.stop();
    };
  }, [key, fetcher]);
  return fetcher;
}
