import {effect} from '@preact/signals';
import {render} from 'preact';
import {observeCalls} from './api/client';
import {me, sessionState, signedOut, startSession} from './api/session';
import {Frame} from './frame/frame';
import {SignIn, Starting, Unreachable} from './frame/sign_in';
import {startKeyboard} from './keys/keyboard';
import {startClock} from './lib/clock';
import {theme} from './lib/settings';
import {startGates} from './live/gates';
import {startNeeds} from './live/needs';
import {reached, startLive, stopLive} from './live/live';
import {startRouter} from './router';

function App() {
  const state = sessionState.value;
  if (state === 'loading') return <Starting />;
  if (state === 'unreachable') return <Unreachable />;
  // A sign-in that ends while somebody reads does not take away what is on the screen.
  return (
    <>
      {me.value && <Frame />}
      {state === 'signed_out' && <SignIn />}
    </>
  );
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});
effect(() => {
  if (sessionState.value === 'signed_in') startLive();
  else stopLive();
});

observeCalls(signedOut, reached);
startRouter();
startClock();
startKeyboard();
startGates();
startNeeds();
void startSession();
render(<App />, document.body);
