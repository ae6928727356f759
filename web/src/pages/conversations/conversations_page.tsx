// What waits for the next turns of agents: the conversations, and the items of one.
import {useState} from 'preact/hooks';
import type {PageProps} from '..';
import {call} from '../../api/client';
import type {Conversation, ConversationSummary, QueueItem} from '../../api/types';
import {useTitle} from '../../frame/identity';
import {showHidden} from '../../lib/ansi';
import {count, plural} from '../../lib/format';
import {drover, flag} from '../../lib/shell';
import {canAct} from '../../live/live';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {ActionDialog} from '../../ui/action_dialog';
import {Command} from '../../ui/command';
import {showDialog} from '../../ui/dialog';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {Cell, List, PageHead} from '../../ui/list';
import {Time} from '../../ui/time';

const PAGE = 200;
const onConversations = (event: {name: string}): boolean => event.name.startsWith('conversation.');
const HEADS = [{label: 'Conversation'}, {label: 'Waiting', end: true}, {label: 'Handed out', end: true}, {label: 'Consumer'}, {label: 'Changed', end: true}];

function Row({one}: {one: ConversationSummary}) {
  return (
    <tr>
      <Cell main label="Conversation"><a class="strong" href={href(`/conversations/${one.owner}/${one.key}`)}>{one.key}</a><div class="sub">of {one.owner}</div></Cell>
      <Cell end label="Waiting">{count(one.length)} <span class="faint">of {count(one.hard_max_items)}</span></Cell>
      <Cell end label="Handed out">{one.held ? count(one.held) : <span class="faint">0</span>}</Cell>
      <Cell label="Consumer">{one.has_consumer ? 'a mirror' : <span class="faint">none</span>}</Cell>
      <Cell end label="Changed"><Time at={one.updated_at} form="age" /></Cell>
    </tr>
  );
}

export function ConversationsPage() {
  const page = useResource('conversations', abort => call('GET /v1/conversations', {query: {limit: PAGE}, signal: abort}), {on: onConversations, quietMs: 2000});
  const all = page.data.value?.conversations;
  return (
    <div class="page">
      <PageHead title="Conversations" note={all?.length ? plural(all.length, 'conversation') : ''} />
      {page.error.value && <Problem text={page.error.value} retry={page.reload} />}
      {!all ? !page.error.value && <Loading /> : all.length === 0
        ? <Empty icon="conversations" title="No conversation" command="drover conversation list">Messages and notifications wait here for an agent's next turn, once its host keeps its queue in Drover.</Empty>
        : <List heads={HEADS} caption="Conversations">{all.map(one => <Row key={`${one.owner} ${one.key}`} one={one} />)}</List>}
      {page.data.value?.cursor && <p class="faint">There are more: <code>drover conversation list</code></p>}
    </div>
  );
}

/** The text of an item, or its JSON if it has none. */
function ItemText({item: {body = {}}}: {item: QueueItem}) {
  const text = [body['content'], body['text']].find(value => typeof value === 'string');
  const shown = typeof text === 'string' ? text : JSON.stringify(body, null, 2);
  return <div class={`item-text ${shown === text ? '' : 'mono'}`} tabIndex={0} role="region" aria-label="Text">{showHidden(shown).replaceAll('␊', '\n')}</div>;
}

const ITEM_HEADS = [{label: 'Kind'}, {label: 'Item'}, {label: 'Source'}, {label: 'Scope'}, {label: 'Age', end: true}];

function Item({item}: {item: QueueItem}) {
  const source = item.body?.['source'];
  return (
    <tr>
      <Cell className="lead"><span class="tag">{item.kind}</span>{item.batch_id && <div class="sub">handed out</div>}</Cell>
      <Cell main><ItemText item={item} /></Cell>
      <Cell label="Source">{typeof source === 'string' ? showHidden(source) : <span class="faint">–</span>}</Cell>
      <Cell label="Scope">{[item.agent_id, item.conversation_id].filter(Boolean).map(scope => <div key={scope} class="sub mono">{showHidden(scope!)}</div>)}</Cell>
      <Cell end label="Age" className="corner"><Time at={item.enqueued_at} form="age" /></Cell>
    </tr>
  );
}

function Clear({owner, name, length, done}: {owner: string; name: string; length: number; done: () => void}) {
  return (
    <ActionDialog title={`Clear ${name}`} label="Clear" danger reason="none" command={() => drover('conversation', 'clear', name, '--owner', owner)}
      run={async () => {
        const {cleared} = await call('POST /v1/conversations/{key}/clear', {path: {key: name}, query: {owner}, body: {reason: 'cleared'}});
        done();
        return `Removed ${plural(cleared?.length ?? 0, 'item')}`;
      }}>
      <p>This removes {plural(length, 'item')} that {length === 1 ? 'waits' : 'wait'}, for good. What was handed out stays with its turn.</p>
    </ActionDialog>
  );
}

async function items(owner: string, key: string, pages: number, signal: AbortSignal): Promise<Conversation> {
  const ask = (after: number) => call('GET /v1/conversations/{key}', {path: {key}, query: {owner, after, limit: PAGE}, signal});
  const all = await ask(0);
  for (let page = 1; page < pages && all.next !== null; page++) {
    const more = await ask(all.next);
    all.items.push(...more.items);
    all.next = more.next;
  }
  return all;
}

export function ConversationPage({params}: PageProps) {
  const owner = params['owner']!;
  const name = params['key']!;
  const [pages, setPages] = useState(1);
  const loaded = useResource(`conversation ${owner} ${name}`, abort => items(owner, name, pages, abort), {on: onConversations});
  const more = () => { setPages(pages + 1); loaded.reload(); };
  const data = loaded.data.value;
  const summary = data?.conversation;
  useTitle(name);
  return (
    <div class="page">
      <div class="line"><a href={href('/conversations')}>Conversations</a><Icon name="chevron" size={12} /><span class="faint">{owner}</span></div>
      <PageHead title={name} note={summary && `${plural(summary.length, 'item')} ${summary.length === 1 ? 'waits' : 'wait'}${summary.has_consumer ? ', a mirror has the queue' : ''}`}>
        {summary && summary.length > 0 && !summary.has_consumer && <button class="button" disabled={!canAct.value}
          onClick={() => showDialog(() => <Clear owner={owner} name={name} length={summary.length} done={loaded.reload} />)}><Icon name="trash" size={14} />Clear</button>}
      </PageHead>
      {loaded.error.value && <Problem text={loaded.error.value} retry={loaded.reload} />}
      {!data ? !loaded.error.value && <Loading /> : data.items.length === 0
        ? <Empty icon="conversations" title="Nothing waits">The next turn finds nothing here.</Empty>
        : <List heads={ITEM_HEADS} caption="Items">{data.items.map(item => <Item key={item.id} item={item} />)}</List>}
      {data?.next != null && <button class="button" onClick={more}>More</button>}
      <Command text={drover('conversation', 'show', name, ...flag('owner', owner))} />
    </div>
  );
}
