// The gates, for the chips, for Stop and for whoever asks. Fetched again when a gate changed.
import {computed, effect, signal} from '@preact/signals';
import {call, describe} from '../api/client';
import {may, sessionState} from '../api/session';
import type {Gate} from '../api/types';
import {now} from '../lib/clock';
import {parseTime} from '../lib/format';
import {onEvents, resync} from './live';

export const gates = signal<readonly Gate[]>([]);
export const gatesError = signal<string | null>(null);

const QUIET_MS = 700;
const EVERY_MS = 20_000;  // counts of waiting tasks have no events of their own
let timer = 0;

export async function loadGates(): Promise<void> {
  clearTimeout(timer);
  timer = 0;
  if (!may('read') || sessionState.peek() !== 'signed_in') return;
  try {
    gates.value = (await call('GET /v1/gates')).gates;
    gatesError.value = null;
  } catch (error) {
    gatesError.value = describe(error);
  }
}

function soon(): void {
  timer ||= window.setTimeout(() => void loadGates(), QUIET_MS);
}

export function startGates(): void {
  onEvents(events => {
    if (events.some(event => event.name.startsWith('gate.') || event.name.startsWith('breaker.'))) soon();
  });
  effect(() => {
    void resync.value;
    if (sessionState.value === 'signed_in') soon();
  });
  setInterval(() => !document.hidden && soon(), EVERY_MS);
}

export const isClosed = (gate: Gate, at: number): boolean =>
  gate.closed_until === 'opened' || (parseTime(gate.closed_until) ?? 0) > at;

export const closedGates = computed(() => gates.value.filter(gate => isClosed(gate, now.value)));
export const allGate = computed(() => closedGates.value.find(gate => gate.name === 'all') ?? null);
