import {useState} from 'preact/hooks';
import {describe} from '../api/client';
import {sessionState, signIn, signInNote, startSession} from '../api/session';
import {Command} from '../ui/command';
import {Loading, Problem} from '../ui/empty';
import {Icon} from '../ui/icons';

export function SignIn() {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      await signIn({token: token.trim()});
    } catch (error) {
      setProblem(describe(error));
    }
    setBusy(false);
  };
  return (
    <div class="sign-in">
      <form class="sign-in-card stack" onSubmit={submit}>
        <h1><span class="server-swatch" aria-hidden="true" /> Drover</h1>
        {signInNote.value && <p role="status">{signInNote.value}</p>}
        <p>Make a link that signs you in, on the machine of the server or wherever you have a token:</p>
        <Command text="drover dashboard" />
        <div class="or">or paste a token</div>
        <label class="field">
          <span>Token</span>
          <input type="password" autocomplete="off" spellcheck={false} placeholder="drv_…" value={token} onInput={event => setToken(event.currentTarget.value)} />
        </label>
        {problem && <Problem text={problem} />}
        <button class="button primary" type="submit" disabled={isBusy || token.trim() === ''}>{isBusy ? 'Signing in…' : 'Sign in'}</button>
      </form>
    </div>
  );
}

export function Unreachable() {
  return (
    <div class="sign-in">
      <div class="sign-in-card stack">
        <h1><Icon name="warning" size={20} /> The server cannot be reached</h1>
        <p>Check that it runs at this address. A server on this machine is started with:</p>
        <Command text="drover up" />
        <button class="button primary" onClick={() => { sessionState.value = 'loading'; void startSession(); }}>Try again</button>
      </div>
    </div>
  );
}

export function Starting() {
  return <div class="sign-in"><Loading label="Connecting" /></div>;
}
