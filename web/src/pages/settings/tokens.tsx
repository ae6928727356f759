// Tokens: made here, shown once, revoked.
import {useState} from 'preact/hooks';
import {call, describe} from '../../api/client';
import {me} from '../../api/session';
import type {CreatedToken, Role, Token} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {now} from '../../lib/clock';
import {parseTime} from '../../lib/format';
import {drover, flag} from '../../lib/shell';
import {parseDuration} from '../../lib/verdict';
import {canAct} from '../../live/live';
import {useResource} from '../../live/resource';
import {ActionDialog} from '../../ui/action_dialog';
import {Command, copyText} from '../../ui/command';
import {closeDialog, Dialog, showDialog} from '../../ui/dialog';
import {Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Cell, List, Section} from '../../ui/list';
import {Time} from '../../ui/time';

const ROLES: readonly [Role, string][] = [
  ['viewer', 'sees the tasks of an owner'], ['producer', 'enqueues for an owner'], ['worker', 'runs tasks'], ['operator', 'operates the fleet'], ['admin', 'may do everything'],
];
const HEADS = [{label: 'Token'}, {label: 'Role'}, {label: 'Made', end: true}, {label: 'Last used', end: true}, {label: 'Expires', end: true}, {label: 'Actions', isHidden: true}];

function Shown({created}: {created: CreatedToken}) {
  return (
    <Dialog title="Save this token now" actions={<button class="button primary" onClick={closeDialog}>I have saved it</button>}>
      <div class="stack">
        <p>It is not shown again: the server keeps a hash alone.</p>
        <div class="line"><code class="grow secret">{created.token}</code><button class="button" onClick={() => void copyText(created.token, 'Token copied')}><Icon name="copy" />Copy</button></div>
        <p class="faint">Put it into a file that only its user can read, and name the file:</p>
        <Command text={`drover list --store ${location.origin} --token-file FILE`} />
      </div>
    </Dialog>
  );
}

function CreateForm({done}: {done: () => void}) {
  const [role, setRole] = useState<Role>('viewer');
  const [owner, setOwner] = useState('');
  const [queues, setQueues] = useState('');
  const [note, setNote] = useState('');
  const [expires, setExpires] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const hasOwner = role === 'viewer' || role === 'producer';
  const names = role === 'worker' ? queues.split(/[\s,]+/).filter(Boolean) : [];
  const isBadTime = expires !== '' && !parseDuration(expires);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      const created = await call('POST /v1/tokens', {body: {
        role, note, ...(hasOwner && owner ? {owner} : {}), ...(names.length ? {queues: names} : {}), ...(expires ? {expires_in_ms: parseDuration(expires)} : {}),
      }});
      done();
      showDialog(() => <Shown created={created} />);
    } catch (error) {
      setProblem(describe(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Make a token" actions={<>
      <span class="grow faint">{isBadTime ? 'A time is written as 12h or 30d.' : ''}</span>
      <button class="button" onClick={closeDialog}>Back</button>
      <button class="button primary" type="submit" form="token-form" disabled={isBusy || isBadTime || !canAct.value}>Make it</button>
    </>}>
      <form id="token-form" class="stack" onSubmit={submit}>
        <label class="field"><span>Role</span><select value={role} onChange={event => setRole(event.currentTarget.value as Role)}>{ROLES.map(([value, words]) => <option key={value} value={value}>{value}: {words}</option>)}</select></label>
        {hasOwner && <label class="field"><span>Owner <span class="faint">(empty: default)</span></span><input type="text" value={owner} onInput={event => setOwner(event.currentTarget.value.trim())} /></label>}
        {role === 'worker' && <label class="field"><span>Queues <span class="faint">(empty: all)</span></span><input type="text" value={queues} placeholder="eng docs" onInput={event => setQueues(event.currentTarget.value)} /></label>}
        <label class="field"><span>What it is for</span><input type="text" value={note} maxLength={200} onInput={event => setNote(event.currentTarget.value)} /></label>
        <label class="field"><span>Valid for <span class="faint">(empty: until revoked)</span></span><input type="text" value={expires} placeholder="30d" onInput={event => setExpires(event.currentTarget.value.trim())} /></label>
        {problem && <Problem text={problem} />}
        <Command text={drover('token', 'create', '--role', role, ...(hasOwner ? flag('owner', owner) : []), ...names.flatMap(name => ['--queue', name]), ...flag('expires', expires), ...flag('note', note))} />
      </form>
    </Dialog>
  );
}

function Revoke({token, done}: {token: Token; done: () => void}) {
  return (
    <ActionDialog title="Revoke this token" label="Revoke" danger reason="none" command={() => drover('token', 'revoke', token.id)}
      run={async () => {
        await call('DELETE /v1/tokens/{id}', {path: {id: token.id}});
        done();
        return `Token ${token.id} is revoked`;
      }}>
      <p>Whoever uses it is refused within a second, and its sign-ins end. This cannot be taken back.</p>
      <p>{token.role}{token.owner && ` of ${token.owner}`}{token.note && `: ${showHidden(token.note)}`}</p>
      {token.id === me.value?.token_id && <Problem text="This is your own token: you will be signed out." />}
    </ActionDialog>
  );
}

const isOver = (token: Token): boolean => token.revoked_at !== null || (parseTime(token.expires_at) ?? Infinity) < now.value;

function Row({token, reload}: {token: Token; reload: () => void}) {
  return (
    <tr class={isOver(token) ? 'muted' : ''}>
      <Cell main label="Token"><span class="mono">{token.id}</span>{token.id === me.value?.token_id && <> <span class="badge-word info">yours</span></>}<div class="sub">{showHidden(token.note)}</div></Cell>
      <Cell label="Role">{token.role}{token.owner && <span class="faint"> of {token.owner}</span>}{token.queues.length > 0 && <span class="faint"> for {token.queues.join(', ')}</span>}</Cell>
      <Cell end label="Made"><Time at={token.created_at} />{token.created_by && <div class="sub">by {showHidden(token.created_by)}</div>}</Cell>
      <Cell end label="Last used">{token.last_used_at ? <Time at={token.last_used_at} /> : <span class="faint">never</span>}</Cell>
      <Cell end label="Expires">{token.revoked_at ? <span>revoked <Time at={token.revoked_at} /></span> : token.expires_at ? <Time at={token.expires_at} /> : <span class="faint">when revoked</span>}</Cell>
      <Cell className="actions">{!isOver(token) && <button class="button small" onClick={() => showDialog(() => <Revoke token={token} done={reload} />)}>Revoke</button>}</Cell>
    </tr>
  );
}

export function Tokens() {
  const tokens = useResource('tokens', abort => call('GET /v1/tokens', {signal: abort}), {on: event => event.name.startsWith('token.')});
  // Those that are good no more come last.
  const list = tokens.data.value && [...tokens.data.value.tokens].sort((one, other) => Number(isOver(one)) - Number(isOver(other)));
  return (
    <Section title="Tokens" note="each identifies a caller, and has a role" tools={<button class="button primary" onClick={() => showDialog(() => <CreateForm done={tokens.reload} />)}><Icon name="plus" />Make a token</button>}>
      {tokens.error.value && <Problem text={tokens.error.value} retry={tokens.reload} />}
      {!list ? !tokens.error.value && <Loading /> : <List heads={HEADS} caption="Tokens">{list.map(token => <Row key={token.id} token={token} reload={tokens.reload} />)}</List>}
    </Section>
  );
}
