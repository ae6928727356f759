// JSON as it is written: numbers keep their text (1.0, 12345678901234567890), objects their order and their duplicate keys.
// JSON.parse would change all of that, so payloads and results are read with this.

export type JsonNode =
  | {kind: 'object'; members: {key: string; value: JsonNode}[]; from: number; to: number}
  | {kind: 'array'; items: JsonNode[]; from: number; to: number}
  | {kind: 'string'; value: string; from: number; to: number}
  | {kind: 'number' | 'true' | 'false' | 'null'; from: number; to: number};

const DEPTH_MAX = 200;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPECIAL = /[\\\u0000-\u001f]/;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

class Reader {
  at = 0;
  constructor(readonly text: string) {}

  fail(): never {
    throw new SyntaxError(`not JSON at ${this.at}`);
  }

  space(): void {
    if (this.text.charCodeAt(this.at) > 0x20) return;
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  string(): string {
    // Most strings have no escapes: what stands between the quotes is their value.
    const end = this.text.indexOf('"', this.at + 1);
    if (end > 0 && this.text[this.at] === '"') {
      const inner = this.text.slice(this.at + 1, end);
      if (!SPECIAL.test(inner)) {
        this.at = end + 1;
        return inner;
      }
    }
    STRING.lastIndex = this.at;
    const match = STRING.exec(this.text);
    if (!match) this.fail();
    this.at = STRING.lastIndex;
    return JSON.parse(match[0]) as string;
  }

  value(depth: number): JsonNode {
    if (depth > DEPTH_MAX) this.fail();
    this.space();
    const from = this.at;
    const first = this.text[from];
    if (first === '{') return this.object(depth, from);
    if (first === '[') return this.array(depth, from);
    if (first === '"') {
      const value = this.string();
      return {kind: 'string', value, from, to: this.at};
    }
    const word = first === 't' ? 'true' : first === 'f' ? 'false' : first === 'n' ? 'null' : null;
    if (word && this.text.startsWith(word, from)) {
      this.at += word.length;
      return {kind: word, from, to: this.at};
    }
    NUMBER.lastIndex = from;
    if (!NUMBER.exec(this.text)) this.fail();
    this.at = NUMBER.lastIndex;
    return {kind: 'number', from, to: this.at};
  }

  object(depth: number, from: number): JsonNode {
    this.at++;
    const members: {key: string; value: JsonNode}[] = [];
    this.space();
    if (this.take('}')) return {kind: 'object', members, from, to: this.at};
    do {
      this.space();
      const key = this.string();
      this.space();
      if (!this.take(':')) this.fail();
      members.push({key, value: this.value(depth + 1)});
      this.space();
    } while (this.take(','));
    if (!this.take('}')) this.fail();
    return {kind: 'object', members, from, to: this.at};
  }

  array(depth: number, from: number): JsonNode {
    this.at++;
    const items: JsonNode[] = [];
    this.space();
    if (this.take(']')) return {kind: 'array', items, from, to: this.at};
    do {
      items.push(this.value(depth + 1));
      this.space();
    } while (this.take(','));
    if (!this.take(']')) this.fail();
    return {kind: 'array', items, from, to: this.at};
  }
}

/** Reads a whole text; null if it is not JSON. */
export function parseJsonText(text: string): JsonNode | null {
  const reader = new Reader(text);
  try {
    const node = reader.value(0);
    reader.space();
    return reader.at === text.length ? node : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

export const member = (node: JsonNode | null, key: string): JsonNode | null =>
  node?.kind === 'object' ? node.members.find(one => one.key === key)?.value ?? null : null;

export const textOf = (source: string, node: JsonNode): string => source.slice(node.from, node.to);

/** With two spaces for each level; numbers and strings as they are written. */
export function pretty(source: string, node: JsonNode, indent = ''): string {
  const inner = indent + '  ';
  if (node.kind === 'object') {
    if (!node.members.length) return '{}';
    return `{\n${node.members.map(one => `${inner}${JSON.stringify(one.key)}: ${pretty(source, one.value, inner)}`).join(',\n')}\n${indent}}`;
  }
  if (node.kind === 'array') {
    if (!node.items.length) return '[]';
    return `[\n${node.items.map(one => inner + pretty(source, one, inner)).join(',\n')}\n${indent}]`;
  }
  return textOf(source, node);
}

/** On one line, without white space outside strings. */
export function compactText(source: string, node: JsonNode): string {
  if (node.kind === 'object') return `{${node.members.map(one => `${JSON.stringify(one.key)}:${compactText(source, one.value)}`).join(',')}}`;
  if (node.kind === 'array') return `[${node.items.map(one => compactText(source, one)).join(',')}]`;
  return textOf(source, node);
}
