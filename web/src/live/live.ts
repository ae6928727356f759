// What happens on the server, as it happens. One WebSocket for the page; pages fetch their lists with a sequence number and then
// apply the events after it. A gap, a server that went backwards or a pause that was too long make them fetch again.
import {batch, computed, signal} from '@preact/signals';
import {ApiError, addressOf, call} from '../api/client';
import {signedOut} from '../api/session';
import type {Event} from '../api/types';
import {serverNow} from '../lib/clock';

export type LiveState = 'connecting' | 'live' | 'frozen' | 'resuming' | 'gap' | 'offline';

export interface Tally {
  name: string;
  state: string | null;
  count: number;
}

interface Frame {
  kind: 'events' | 'gap' | 'snapshot' | 'tally' | 'watching';
  seq: number;
  events?: Event[];
  counts?: Tally[];
}

/** Whether the connection stands, whatever the user froze. */
const connection = signal<Exclude<LiveState, 'frozen'>>('connecting');
export const isFrozen = signal(false);
export const offlineSince = signal<number | null>(null);
/** Events that came while the page was frozen. */
export const heldBack = signal(0);
/** Grows whenever what pages show may have missed something: they fetch again. */
export const resync = signal(0);
/** Events in the last second, for the dot's label. */
export const eventsPerSecond = signal(0);

export const liveState = computed<LiveState>(() =>
  isFrozen.value && connection.value !== 'offline' ? 'frozen' : connection.value);
/** Actions are off while the server cannot be reached: what is shown may be wrong by now. */
export const canAct = computed(() => connection.value !== 'offline');

type Listener = (events: readonly Event[]) => void;
const listeners = new Set<Listener>();

// A list is fetched as of a number that may be older than the last event that came; these are the events in between.
const RECENT_MAX = 4000;
let recent: Event[] = [];
let lastSeq: number | null = null;

const GAP_SHOWN_MS = 4000;
const ACCEPTED_MS = 300;
const SILENCE_MS = 40_000;  // the server says something every 15 s
const RETRY_FIRST_MS = 500;
const RETRY_MOST_MS = 8000;
const FROZEN_EVENTS_MAX = 20_000;

/** Calls the listener with each batch of events; the events after `asOf` that are known already come at once. */
export function onEvents(listener: Listener, asOf: number | null = null): () => void {
  listeners.add(listener);
  if (asOf !== null && !isFrozen.peek()) {
    const missed = recent.filter(event => event.seq > asOf);
    if (missed.length) listener(missed);
  }
  return () => listeners.delete(listener);
}

export const lastSequence = (): number | null => lastSeq;

let frozenEvents: Event[] = [];
let frozenTooMany = false;

function deliver(events: readonly Event[]): void {
  if (!events.length) return;
  if (isFrozen.peek()) {
    heldBack.value += events.length;
    if (frozenEvents.length + events.length > FROZEN_EVENTS_MAX) {
      frozenTooMany = true;
      frozenEvents = [];
    } else if (!frozenTooMany) {
      frozenEvents.push(...events);
    }
    return;
  }
  batch(() => {
    for (const listener of listeners) listener(events);
  });
}

/** Stops applying what happens, so that somebody can read in peace; or goes on. */
export function setFrozen(frozen: boolean): void {
  if (frozen === isFrozen.peek()) return;
  batch(() => {
    isFrozen.value = frozen;
    if (frozen) return;
    const events = frozenEvents;
    const again = frozenTooMany;
    frozenEvents = [];
    frozenTooMany = false;
    heldBack.value = 0;
    if (again) resync.value++;
    else deliver(events);
  });
}

function keep(events: Event[]): void {
  recent.push(...events);
  if (recent.length > RECENT_MAX) recent = recent.slice(-RECENT_MAX);
}

let counted = 0;
let countedSince = 0;
function measure(amount: number): void {
  counted += amount;
  const at = Date.now();
  if (at - countedSince < 1000) return;
  eventsPerSecond.value = Math.round((counted * 1000) / Math.max(1000, at - countedSince));
  counted = 0;
  countedSince = at;
}

let gapTimer = 0;
function onGap(seq: number): void {
  recent = [];
  lastSeq = seq;
  batch(() => {
    connection.value = 'gap';
    resync.value++;
  });
  clearTimeout(gapTimer);
  gapTimer = window.setTimeout(() => {
    if (connection.peek() === 'gap') connection.value = 'live';
  }, GAP_SHOWN_MS);
}

function onFrame(frame: Frame): void {
  if (frame.kind === 'gap') {
    onGap(frame.seq);
    return;
  }
  if (frame.kind === 'events') {
    const events = (frame.events ?? []).filter(event => lastSeq === null || event.seq > lastSeq);
    measure(events.length);
    keep(events);
    lastSeq = Math.max(lastSeq ?? 0, frame.seq);
    deliver(events);
  }
  connected();
}

function connected(): void {
  batch(() => {
    if (connection.peek() !== 'gap') connection.value = 'live';
    offlineSince.value = null;
  });
}

function offline(): void {
  batch(() => {
    connection.value = 'offline';
    offlineSince.value ??= serverNow();
  });
}

let socket: WebSocket | null = null;
let retryMs = RETRY_FIRST_MS;
let retryTimer = 0;
let silenceTimer = 0;
let isStarted = false;

function watchSilence(): void {
  clearTimeout(silenceTimer);
  silenceTimer = window.setTimeout(() => socket?.close(4000, 'silent'), SILENCE_MS);
}

async function connect(): Promise<void> {
  if (!isStarted) return;
  let ticket: string;
  try {
    if (lastSeq === null) lastSeq = (await call('GET /v1/events/last')).seq;
    ticket = (await call('POST /v1/ws-tickets')).ticket;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;  // the sign-in form comes, and starts again
    offline();
    retry();
    return;
  }
  open(ticket, lastSeq);
}

function open(ticket: string, after: number): void {
  const address = addressOf('GET /v1/ws', undefined, {after, snapshot: false});
  const url = new URL(address, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const made = new WebSocket(url);
  socket = made;
  made.onopen = () => {
    made.send(JSON.stringify({ticket}));
    watchSilence();
    // The server says nothing while nothing happens; a ticket that it refuses closes the socket at once.
    setTimeout(() => made.readyState === WebSocket.OPEN && connected(), ACCEPTED_MS);
  };
  made.onmessage = message => {
    watchSilence();
    retryMs = RETRY_FIRST_MS;
    onFrame(JSON.parse(String(message.data)) as Frame);
  };
  made.onclose = event => {
    clearTimeout(silenceTimer);
    if (socket !== made) return;
    socket = null;
    if (!isStarted) return;
    if (event.code === 1008) {
      // The sign-in has ended, or only the ticket: the next call tells which.
      connection.value = 'resuming';
      void call('GET /v1/me').then(() => retry(), error => {
        if (error instanceof ApiError && error.status === 401) signedOut();
        else retry();
      });
      return;
    }
    // 1013: too slow, and 1001: the server stops, are followed by resuming as well.
    if (connection.peek() === 'live' || connection.peek() === 'gap') connection.value = 'resuming';
    else offline();
    retry();
  };
}

function retry(): void {
  clearTimeout(retryTimer);
  retryTimer = window.setTimeout(() => void connect(), retryMs * (0.8 + Math.random() * 0.4));
  retryMs = Math.min(RETRY_MOST_MS, retryMs * 2);
}

/** Tries at once instead of after the pause. */
export function reconnectNow(): void {
  if (socket || !isStarted) return;
  retryMs = RETRY_FIRST_MS;
  clearTimeout(retryTimer);
  void connect();
}

/** Some call failed to reach the server, or reached it again. */
export function reached(isReached: boolean): void {
  if (!isStarted) return;
  if (!isReached) offline();
  else if (connection.peek() === 'offline' && !socket) reconnectNow();
}

let isListening = false;

function listen(): void {
  isListening = true;
  window.addEventListener('online', reconnectNow);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) reconnectNow();
  });
}

export function startLive(): void {
  if (isStarted) return;
  isStarted = true;
  // Signed in again: what was asked for meanwhile was refused.
  if (isListening) resync.value = resync.peek() + 1;
  else listen();
  connection.value = 'connecting';
  void connect();
}

export function stopLive(): void {
  isStarted = false;
  clearTimeout(retryTimer);
  socket?.close(1000);
  socket = null;
}
