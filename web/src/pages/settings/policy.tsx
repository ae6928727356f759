// The versions of the policy, what differs between them, and the way back. The policy itself is edited in files.
import {call, callWithText} from '../../api/client';
import {may} from '../../api/session';
import {differences} from '../../lib/json_diff';
import {member, parseJsonText, pretty, textOf} from '../../lib/json_text';
import {plural} from '../../lib/format';
import {drover} from '../../lib/shell';
import {useResource} from '../../live/resource';
import {here, href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {Command} from '../../ui/command';
import {Differences} from '../../ui/differences';
import {showDialog} from '../../ui/dialog';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Time} from '../../ui/time';

/** The document of a version as it is written; version 0 is the empty policy that a store begins with. */
async function documentOf(version: number, abort?: AbortSignal): Promise<string> {
  if (version <= 0) return '{}';
  const {text} = await callWithText('GET /v1/config/versions/{version}', {path: {version}, signal: abort});
  const document = member(parseJsonText(text), 'document');
  return document ? textOf(text, document) : '{}';
}

function Rollback({version, current, done}: {version: number; current: number; done: () => void}) {
  const change = useResource(`rollback ${version} ${current}`, async abort => differences(await documentOf(current, abort), await documentOf(version, abort)));
  const found = change.data.value;
  return (
    <ActionDialog title={`Apply version ${version} again`} label="Apply it" reason="none" size="large" isReady={!!found && found.length > 0}
      command={() => drover('config', 'rollback', version)}
      run={async () => {
        const old = await call('GET /v1/config/versions/{version}', {path: {version}});
        const made = await call('PUT /v1/config', {body: {version: current, document: old.document}});
        done();
        return `The policy is now version ${made.version}`;
      }}>
      <p>It becomes a new version, which every process of the fleet obeys within seconds. If somebody changes the policy meanwhile, nothing happens.</p>
      {change.error.value && <Problem text={change.error.value} retry={change.reload} />}
      {found ? found.length ? <Differences found={found} /> : <p>It is the same as the policy in force.</p> : <Loading label="Comparing" />}
    </ActionDialog>
  );
}

function Shown({version, before}: {version: number; before: number}) {
  const view = here.value.query.get('view') ?? 'changes';
  const data = useResource(`policy ${version} ${before}`, async abort => ({document: await documentOf(version, abort), before: await documentOf(before, abort)}));
  const texts = data.data.value;
  if (data.error.value) return <Problem text={data.error.value} retry={data.reload} />;
  if (!texts) return <Loading />;
  const found = differences(texts.before, texts.document) ?? [];
  const node = parseJsonText(texts.document);
  const other = view === 'whole' ? 'changes' : 'whole';
  return (
    <div class="stack">
      <div class="line wrap"><span class="faint grow">{view === 'whole' ? 'The whole document' : before > 0 ? `${plural(found.length, 'difference')} to version ${before}` : 'Everything in it'}</span>
        <a href={href('/settings', {tab: 'policy', version, view: other === 'changes' ? null : other})}>{other === 'whole' ? 'Show all of it' : 'Show what changed'}</a></div>
      {view === 'whole' ? <pre class="text-block tall">{node ? pretty(texts.document, node) : texts.document}</pre>
        : found.length ? <Differences found={found} /> : <p>Nothing differs.</p>}
      <Command text={drover('config', 'show', '--version', version)} />
    </div>
  );
}

export function Policy() {
  const versions = useResource('versions', abort => call('GET /v1/config/versions', {signal: abort}), {everyMs: 20_000});
  const list = versions.data.value?.versions;
  if (!list) return versions.error.value ? <Problem text={versions.error.value} retry={versions.reload} /> : <Loading />;
  if (list.length === 0) return <Empty icon="settings" title="No policy yet" command="drover config apply drover.yaml">Every process uses the defaults. This makes a version:</Empty>;
  const current = list[0]!.version;
  const chosen = Number(here.value.query.get('version') ?? current);
  const before = list.find(one => one.version < chosen)?.version ?? 0;
  return (
    <div class="policy">
      <nav class="card versions" aria-label="Versions of the policy">
        {list.map(({version, applied_at}) => (
          <a key={version} href={href('/settings', {tab: 'policy', version: version === current ? null : version})} aria-current={version === chosen ? 'true' : undefined}>
            <strong>Version {version}</strong><span class="faint"><Time at={applied_at} /></span>{version === current && <span class="badge-word good">in force</span>}
          </a>
        ))}
      </nav>
      <section class="card" aria-label={`Version ${chosen}`}>
        <header><h2 class="grow">Version {chosen}</h2>
          {may('administer') && chosen !== current && <button class="button small" onClick={() => showDialog(() => <Rollback version={chosen} current={current} done={versions.reload} />)}>Apply it again</button>}</header>
        <div class="body"><Shown key={chosen} version={chosen} before={before} /></div>
      </section>
    </div>
  );
}
