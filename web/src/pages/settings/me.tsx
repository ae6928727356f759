import {me} from '../../api/session';
import {density, singleKeys, theme, timeZone} from '../../lib/settings';
import {Command} from '../../ui/command';
import {Time} from '../../ui/time';
import type {Right} from '../../api/types';

const RIGHTS: Record<Right, string> = {
  read: 'see tasks, queues, dead letters and statistics', produce: 'enqueue, edit and cancel tasks', work: 'claim and settle tasks',
  read_policy: 'read the policy', operate: 'retry and delete, open and close gates, drain workers', administer: 'tokens, the policy, the store',
};

interface Choice<T extends string> {
  label: string;
  setting: {value: T};
  values: readonly [T, string][];
}

function Setting<T extends string>({label, setting, values}: Choice<T>) {
  return (
    <label class="setting"><span>{label}</span>
      <select value={setting.value} onChange={event => (setting.value = event.currentTarget.value as T)}>{values.map(([value, words]) => <option key={value} value={value}>{words}</option>)}</select>
    </label>
  );
}

export function MeTab() {
  const who = me.value;
  if (!who) return null;
  return (
    <div class="two">
      <section class="card" aria-label="Who you are">
        <header><h2>Who you are here</h2></header>
        <div class="body stack">
          <dl class="facts">
            <dt>Role</dt><dd>{who.role}</dd>
            <dt>Owner</dt><dd>{who.owner ?? 'everybody: you see the tasks of all owners'}</dd>
            {who.queues.length > 0 && <><dt>Queues</dt><dd>{who.queues.join(', ')}</dd></>}
            <dt>Token</dt><dd class="mono">{who.token_id}</dd>
            {who.signin_id && <><dt>Sign-in</dt><dd><span class="mono">{who.signin_id}</span>{who.expires_at && <>, ends <Time at={who.expires_at} /> if it is not used</>}</dd></>}
            <dt>You may</dt><dd><ul>{who.rights.map(right => <li key={right}>{RIGHTS[right] ?? right}</li>)}</ul></dd>
            <dt>Server</dt><dd>{who.server.name ?? location.host}, drover {who.server.version}</dd>
          </dl>
          <Command text={`drover dashboard --store ${location.origin}`} />
        </div>
      </section>
      <section class="card" aria-label="This browser">
        <header><h2>This browser</h2></header>
        <div class="body stack">
          <Setting label="Colours" setting={theme} values={[['system', 'as the system'], ['light', 'light'], ['dark', 'dark']]} />
          <Setting label="Times" setting={timeZone} values={[['local', 'local'], ['utc', 'UTC']]} />
          <Setting label="Single keys, such as j and k" setting={singleKeys} values={[['on', 'on'], ['off', 'off']]} />
          <Setting label="Rows" setting={density} values={[['compact', 'compact'], ['roomy', 'roomy']]} />
        </div>
      </section>
    </div>
  );
}
