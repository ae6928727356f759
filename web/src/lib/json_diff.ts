// Merge patches (RFC 7396) and differences of JSON, on its text: numbers stay as they are written.
import {parseJsonText, textOf, type JsonNode} from './json_text';

type Members = Map<string, JsonNode>;

const membersOf = (node: JsonNode & {kind: 'object'}): Members => new Map(node.members.map(({key, value}) => [key, value]));

const written = (key: string, text: string): string => `${JSON.stringify(key)}:${text}`;

function merge(target: JsonNode | null, source: string, patch: JsonNode, patchSource: string): string {
  if (patch.kind !== 'object') return textOf(patchSource, patch);
  const old: Members = target?.kind === 'object' ? membersOf(target) : new Map<string, JsonNode>();
  const changes = membersOf(patch);
  const parts: string[] = [];
  for (const [key, value] of old) if (!changes.has(key)) parts.push(written(key, textOf(source, value)));
  for (const [key, change] of changes) {
    if (change.kind === 'null') continue;
    parts.push(written(key, merge(old.get(key) ?? null, source, change, patchSource)));
  }
  return `{${parts.join(',')}}`;
}

/** The target after the patch; null if one of them is not JSON. */
export function mergePatch(target: string, patch: string): string | null {
  const to = parseJsonText(target);
  const by = parseJsonText(patch);
  return to && by ? merge(to, target, by, patch) : null;
}

export interface Difference {
  path: string;
  /** JSON text; null where there is nothing. */
  before: string | null;
  after: string | null;
}

const plainKey = /^[A-Za-z0-9_:@/-]+$/;
const step = (path: string, key: string): string => {
  const name = plainKey.test(key) ? key : JSON.stringify(key);
  return path ? `${path}.${name}` : name;
};

// Without blanks between the parts; those inside strings stay.
function compactText(source: string, node: JsonNode): string {
  if (node.kind === 'object') return `{${node.members.map(({key, value}) => written(key, compactText(source, value))).join(',')}}`;
  if (node.kind === 'array') return `[${node.items.map(item => compactText(source, item)).join(',')}]`;
  return textOf(source, node);
}

// Values by path; a list counts as one value unless it holds objects.
function flatten(source: string, node: JsonNode, path: string, out: Map<string, string>): void {
  // An empty document has no values; an empty object inside one is a value.
  if (node.kind === 'object' && (node.members.length > 0 || path === '')) {
    for (const {key, value} of node.members) flatten(source, value, step(path, key), out);
  } else if (node.kind === 'array' && node.items.some(item => item.kind === 'object')) {
    node.items.forEach((item, at) => flatten(source, item, `${path}[${at}]`, out));
  } else {
    out.set(path, compactText(source, node));
  }
}

function valuesOf(text: string): Map<string, string> | null {
  const node = parseJsonText(text);
  if (!node) return null;
  const out = new Map<string, string>();
  flatten(text, node, '', out);
  return out;
}

/** What differs between two JSON texts, by path and in order; null if one of them is not JSON. */
export function differences(before: string, after: string): Difference[] | null {
  const old = valuesOf(before);
  const next = valuesOf(after);
  if (!old || !next) return null;
  const found: Difference[] = [];
  for (const path of new Set([...old.keys(), ...next.keys()])) {
    const was = old.get(path) ?? null;
    const is = next.get(path) ?? null;
    if (was !== is) found.push({path, before: was, after: is});
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
