// A JSON value as a tree, collapsed, with a bounded number of nodes at first. Numbers are shown as they are written.
import {useState} from 'preact/hooks';
import {showHidden} from '../lib/ansi';
import {count, plural} from '../lib/format';
import {textOf, type JsonNode} from '../lib/json_text';
import {Icon} from './icons';

const NODES_FIRST = 200;
const STRING_FIRST = 300;

interface Budget {
  left: number;
}

function Text({node}: {node: JsonNode & {kind: 'string'}}) {
  const [isWhole, setWhole] = useState(false);
  const isLong = node.value.length > STRING_FIRST;
  const shown = isLong && !isWhole ? node.value.slice(0, STRING_FIRST) : node.value;
  return (
    <span class="j-string">
      “{showHidden(shown).replaceAll('␊', '\n').replaceAll('␉', '\t')}{isLong && !isWhole ? '…' : ''}”
      {isLong && <button class="link" onClick={() => setWhole(!isWhole)}> {isWhole ? 'less' : `${count(node.value.length)} characters`}</button>}
    </span>
  );
}

function Leaf({node, source}: {node: JsonNode; source: string}) {
  if (node.kind === 'string') return <Text node={node} />;
  return <span class={`j-${node.kind === 'number' ? 'number' : 'word'}`}>{textOf(source, node)}</span>;
}

const childrenOf = (node: JsonNode): {key: string | null; value: JsonNode}[] =>
  node.kind === 'object' ? node.members : node.kind === 'array' ? node.items.map(value => ({key: null, value})) : [];

const summary = (node: JsonNode): string =>
  node.kind === 'object' ? `{${plural(node.members.length, 'member')}}` : node.kind === 'array' ? `[${plural(node.items.length, 'item')}]` : '';

function Branch({node, source, name, depth, budget}: {node: JsonNode; source: string; name: string | null; depth: number; budget: Budget}) {
  const children = childrenOf(node);
  // Deep or late branches start closed: a payload of a megabyte opens as fast as a small one.
  const fits = budget.left >= children.length && depth < 4;
  const [isOpen, setOpen] = useState(fits);
  const [limit, setLimit] = useState(NODES_FIRST);
  if (isOpen) budget.left -= Math.min(children.length, limit);
  return (
    <div class="j-branch">
      <button class="j-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? 'down' : 'chevron'} size={11} />
        {name !== null && <span class="j-key">{showHidden(name)}</span>}
        <span class="faint">{summary(node)}</span>
      </button>
      {isOpen && (
        <div class="j-children">
          {children.slice(0, limit).map(({key, value}, at) => <Node key={at} node={value} source={source} name={key ?? String(at)} isIndex={key === null} depth={depth + 1} budget={budget} />)}
          {children.length > limit && <button class="link" onClick={() => setLimit(limit + 1000)}>{count(children.length - limit)} more</button>}
        </div>
      )}
    </div>
  );
}

function Node({node, source, name, isIndex, depth, budget}: {node: JsonNode; source: string; name: string | null; isIndex: boolean; depth: number; budget: Budget}) {
  if (childrenOf(node).length > 0) return <Branch node={node} source={source} name={name} depth={depth} budget={budget} />;
  return (
    <div class="j-leaf">
      {name !== null && <span class={isIndex ? 'j-index' : 'j-key'}>{showHidden(name)}</span>}
      {node.kind === 'object' ? <span class="faint">{'{}'}</span> : node.kind === 'array' ? <span class="faint">[]</span> : <Leaf node={node} source={source} />}
    </div>
  );
}

export function JsonTree({node, source}: {node: JsonNode; source: string}) {
  return <div class="json-tree"><Node node={node} source={source} name={null} isIndex={false} depth={0} budget={{left: NODES_FIRST}} /></div>;
}
