import type {ComponentChildren} from 'preact';
import {now} from '../lib/clock';
import {absolute, count, timeOfDay} from '../lib/format';
import {timeZone} from '../lib/settings';
import {eventsPerSecond, heldBack, isFrozen, liveState, offlineSince, reconnectNow, setFrozen, type LiveState} from '../live/live';

const WORDS: Record<LiveState, string> = {
  connecting: 'connecting', live: 'live', frozen: 'frozen', resuming: 'resuming', gap: 'fetched again', offline: 'offline',
};

function explain(state: LiveState): string {
  switch (state) {
    case 'connecting': return 'Connecting to the server.';
    case 'live': return `What you see is up to date; ${count(eventsPerSecond.value)} events a second. Click to freeze the page (key .).`;
    case 'frozen': return `You froze the page; ${count(heldBack.value)} events wait. Click to go on (key .).`;
    case 'resuming': return 'The connection was cut and is being resumed. Nothing is lost.';
    case 'gap': return 'Events were missed, so everything was fetched again.';
    case 'offline': return `The server cannot be reached since ${absolute(offlineSince.value ?? now.value, timeZone.value === 'utc')}. What you see is from then, and actions are off. Click to try again.`;
  }
}

function label(state: LiveState): ComponentChildren {
  // A narrow screen has no room for the time beside the server's name.
  if (state === 'offline') return <>offline<span class="live-since"> since {timeOfDay(offlineSince.value ?? now.value, timeZone.value === 'utc').slice(0, 8)}</span></>;
  if (state === 'frozen' && heldBack.value) return `frozen, ${count(heldBack.value)} wait`;
  return WORDS[state];
}

export function LiveDot() {
  const state = liveState.value;
  const onClick = () => (state === 'offline' ? reconnectNow() : setFrozen(!isFrozen.peek()));
  return (
    <button class={`live ${state}`} onClick={onClick} title={explain(state)}>
      <span class="live-dot" aria-hidden="true" />
      <span role="status" aria-live={state === 'offline' || state === 'gap' ? 'assertive' : 'off'}>{label(state)}</span>
    </button>
  );
}
