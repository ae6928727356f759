// The query box of Tasks: the CLI's names, `state:failed queue:eng tag:x payment failed`. Words without a name search the text.
// URL, box and chips all hold the same Query, so they never differ.

/** The names that a query may use, each with the parameter of GET /v1/tasks and the flag of `drover list`. */
export const QUERY_KEYS = [
  'state', 'type', 'queue', 'owner', 'tag', 'class', 'worker', 'model', 'agent_id', 'gate', 'fingerprint', 'spawner', 'since', 'until',
  'finished_after', 'finished_before', 'escalated', 'id', 'order',
] as const;
export type QueryKey = (typeof QUERY_KEYS)[number];

/** Names that take one value; a second one replaces the first. */
const SINGLE: ReadonlySet<string> = new Set(
  ['worker', 'model', 'agent_id', 'gate', 'fingerprint', 'spawner', 'since', 'until', 'finished_after', 'finished_before', 'escalated', 'id', 'order', 'class']);

export interface Term {
  key: QueryKey;
  value: string;
}

export interface Query {
  terms: Term[];
  text: string;
}

export interface ParsedQuery extends Query {
  /** Names that there are not, to be said to the user. */
  unknown: string[];
}

const isKey = (word: string): word is QueryKey => (QUERY_KEYS as readonly string[]).includes(word);

// Words, with "quoted parts" kept together.
function words(input: string): string[] {
  return input.match(/(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
}

function unquote(word: string): string {
  return word.replace(/"((?:[^"\\]|\\.)*)"?/g, (_, inner: string) => inner.replace(/\\(.)/g, '$1'));
}

export function parseQuery(input: string): ParsedQuery {
  let query: Query = {terms: [], text: ''};
  const text: string[] = [];
  const unknown: string[] = [];
  for (const word of words(input)) {
    const match = /^([a-z_]+):(.*)$/s.exec(word);
    if (!match) {
      text.push(unquote(word));
      continue;
    }
    const [, name, rest] = match as unknown as [string, string, string];
    if (!isKey(name)) {
      unknown.push(name);
      continue;
    }
    const value = unquote(rest);
    const values = SINGLE.has(name) ? [value] : value.split(',');
    for (const one of values) if (one !== '') query = withTerm(query, name, one);
  }
  return {...query, text: text.join(' '), unknown};
}

const quoteValue = (value: string): string =>
  /[\s"\\]/.test(value) ? `"${value.replace(/(["\\])/g, '\\$1')}"` : value;

/** Values of one name stand together: `state:failed,stalled`. */
export function formatQuery(query: Query): string {
  const byKey = new Map<QueryKey, string[]>();
  for (const {key, value} of query.terms) byKey.set(key, [...(byKey.get(key) ?? []), value]);
  const parts = [...byKey].map(([key, values]) => `${key}:${quoteValue(values.join(','))}`);
  if (query.text) {
    // A word that would read as a term, or holds quotes, is quoted.
    parts.push(query.text.split(' ').map(word => (/^[a-z_]+:/.test(word) || /["\\]/.test(word) ? `"${word.replace(/(["\\])/g, '\\$1')}"` : word)).join(' '));
  }
  return parts.join(' ');
}

export const hasTerm = (query: Query, key: QueryKey, value: string): boolean =>
  query.terms.some(term => term.key === key && term.value === value);

export const valuesOf = (query: Query, key: QueryKey): string[] =>
  query.terms.filter(term => term.key === key).map(term => term.value);

export function withTerm(query: Query, key: QueryKey, value: string): Query {
  if (hasTerm(query, key, value)) return query;
  const kept = SINGLE.has(key) ? query.terms.filter(term => term.key !== key) : query.terms;
  return {...query, terms: [...kept, {key, value}]};
}

export function withoutTerm(query: Query, key: QueryKey, value?: string): Query {
  return {...query, terms: query.terms.filter(term => term.key !== key || (value !== undefined && term.value !== value))};
}

export const toggleTerm = (query: Query, key: QueryKey, value: string): Query =>
  hasTerm(query, key, value) ? withoutTerm(query, key, value) : withTerm(query, key, value);

export const isEmptyQuery = (query: Query): boolean => query.terms.length === 0 && query.text === '';

/** How long ago, as the CLI takes it: "2h", "30m". The server wants times. */
export function resolveTime(value: string, now: number): string {
  if (!/^([0-9]+(ms|s|m|h|d))+$/.test(value)) return value;
  const units: Record<string, number> = {ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000};
  let total = 0;
  for (const [, amount, unit] of value.matchAll(/([0-9]+)(ms|s|m|h|d)/g)) total += Number(amount) * units[unit!]!;
  return new Date(now - total).toISOString();
}

const TIMES: ReadonlySet<QueryKey> = new Set(['since', 'until', 'finished_after', 'finished_before']);

/** The parameters of GET /v1/tasks. */
export function toParameters(query: Query, now: number): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const key of QUERY_KEYS) {
    const values = valuesOf(query, key).map(value => (TIMES.has(key) ? resolveTime(value, now) : value));
    if (!values.length) continue;
    out[key] = key === 'state' ? values.join(',') : values.length === 1 ? values[0]! : values;
  }
  if (query.text) out['search'] = query.text;
  return out;
}

/** The flags of `drover list` and of bulk commands that mean the same. */
export function toFlags(query: Query): string[] {
  const flags: string[] = [];
  for (const key of QUERY_KEYS) {
    const values = valuesOf(query, key);
    if (!values.length) continue;
    const name = `--${key.replaceAll('_', '-')}`;
    if (key === 'order') flags.push(...(values[0] === 'oldest' ? ['--oldest'] : []));
    else if (key === 'escalated') flags.push(name, values[0] === 'true' ? 'yes' : 'no');
    else flags.push(name, values.join(','));
  }
  if (query.text) flags.push('--search', query.text);
  return flags;
}
