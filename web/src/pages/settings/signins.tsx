import {call} from '../../api/client';
import {me, signOut} from '../../api/session';
import type {Signin} from '../../api/types';
import {browserName} from '../../lib/browser_name';
import {useResource} from '../../live/resource';
import {canAct} from '../../live/live';
import {closeDialog, Dialog, showDialog} from '../../ui/dialog';
import {Loading, Problem} from '../../ui/empty';
import {Cell, List, Section} from '../../ui/list';
import {Command} from '../../ui/command';
import {Time} from '../../ui/time';
import {toast} from '../../ui/toast';
import {describe} from '../../api/client';

const HEADS = [{label: 'Browser'}, {label: 'Role'}, {label: 'From'}, {label: 'Made', end: true}, {label: 'Last used', end: true}, {label: 'Actions', isHidden: true}];

// A sign-in belongs to the browser; the terminal has none of its own, so the command is the one that makes another.
function End({signin, done}: {signin: Signin; done: () => void}) {
  const end = async () => {
    closeDialog();
    try {
      if (signin.id === me.peek()?.signin_id) return await signOut();
      await call('DELETE /v1/signins/{id}', {path: {id: signin.id}});
      done();
      toast('done', 'The sign-in has ended');
    } catch (error) {
      toast('problem', describe(error));
    }
  };
  return (
    <Dialog title={signin.is_current ? 'Sign out here' : 'End this sign-in'} actions={<>
      <button class="button" onClick={closeDialog}>Back</button>
      <button class="button danger" disabled={!canAct.value} onClick={() => void end()}>{signin.is_current ? 'Sign out' : 'End it'}</button>
    </>}>
      <div class="stack">
        <p>{browserName(signin.user_agent)}, from {signin.from}. It is refused within a second. To sign in again:</p>
        <Command text="drover dashboard" />
      </div>
    </Dialog>
  );
}

export function Signins() {
  const signins = useResource('signins', abort => call('GET /v1/signins', {signal: abort}), {everyMs: 30_000});
  const list = signins.data.value?.signins;
  return (
    <Section title="Sign-ins" note="browsers that may use a token; each ends twelve hours after its last use">
      {signins.error.value && <Problem text={signins.error.value} retry={signins.reload} />}
      {!list ? !signins.error.value && <Loading /> : list.length === 0 ? <div class="stack"><div class="card all-well">No browser is signed in; this page uses a token. A link that signs one in:</div><Command text="drover dashboard" /></div>
        : <List heads={HEADS} caption="Sign-ins">{list.map(signin => (
            <tr key={signin.id}>
              <Cell main label="Browser"><span title={signin.user_agent}>{browserName(signin.user_agent)}</span>{signin.is_current && <> <span class="badge-word info">this one</span></>}<div class="sub mono">{signin.id}</div></Cell>
              <Cell label="Role">{signin.role}{signin.owner && <span class="faint"> of {signin.owner}</span>}<div class="sub">token {signin.token_id}</div></Cell>
              <Cell label="From"><span class="mono">{signin.from}</span></Cell>
              <Cell end label="Made"><Time at={signin.created_at} /></Cell>
              <Cell end label="Last used"><Time at={signin.last_used_at} /></Cell>
              <Cell className="actions"><button class="button small" onClick={() => showDialog(() => <End signin={signin} done={signins.reload} />)}>{signin.is_current ? 'Sign out' : 'End'}</button></Cell>
            </tr>
          ))}</List>}
    </Section>
  );
}
