// One thing done to many tasks: the order for the server, and the same as a command.
import type {BulkFilter, BulkOrder, BulkVerb} from '../api/types';
import {resolveTime, toFlags, valuesOf, withoutTerm, type Query, type QueryKey} from './query';
import {drover, flag} from './shell';

export interface BulkDetails {
  why: string;
  to?: string;
  priority?: string;
  delay?: string;
  patch?: string;
}

const KEYS_OF_FILTER: readonly QueryKey[] =
  ['state', 'type', 'queue', 'owner', 'tag', 'spawner', 'worker', 'model', 'agent_id', 'gate', 'since', 'until', 'id', 'class', 'fingerprint', 'finished_after', 'finished_before',
   'escalated'];
const TIMES: readonly QueryKey[] = ['since', 'until', 'finished_after', 'finished_before'];


export function filterOf(query: Query, now: number): BulkFilter {
  const filter: Record<string, unknown> = {};
  for (const key of KEYS_OF_FILTER) {
    const values = valuesOf(query, key);
    if (!values.length) continue;
    if (key === 'state') filter[key] = values;
    else if (key === 'escalated') filter[key] = values[0] === 'true';
    else filter[key] = TIMES.includes(key) ? resolveTime(values[0]!, now) : values.join(',');
  }
  if (query.text) filter['search'] = query.text;
  return filter as BulkFilter;
}

export type Target = {ids: readonly string[]} | {query: Query};

export function orderOf(verb: BulkVerb, target: Target, details: BulkDetails, now: number, isDryRun: boolean): BulkOrder {
  const order: BulkOrder = {verb, dry_run: isDryRun};
  if ('ids' in target) order.ids = [...target.ids];
  else order.filter = filterOf(target.query, now);
  if (details.why) order.why = details.why;
  if (verb === 'escalate') order.to = details.to ?? '';
  if (verb === 'retry' && details.patch) order.retry = {patch: JSON.parse(details.patch) as unknown};
  if (verb === 'edit') {
    order.edit = {
      ...(details.priority ? {priority: Number(details.priority)} : {}),
      ...(details.delay ? {delay: details.delay} : {}),
    };
  }
  return order;
}

function filterFlags(verb: BulkVerb, query: Query): string[] {
  const flags = toFlags(withoutTerm(query, 'order')).map(word => (verb === 'edit' && word === '--tag' ? '--tagged' : word));
  return flags.length ? flags : ['--all'];
}

// The flags of `drover dlq`: one value each, of failed tasks.
const DLQ_KEYS: readonly QueryKey[] = ['state', 'fingerprint', 'class', 'type', 'queue', 'owner', 'tag', 'escalated', 'order'];

function isForDlq(query: Query): boolean {
  return query.text === '' && query.terms.every(({key, value}) => DLQ_KEYS.includes(key) && valuesOf(query, key).length === 1 && (key !== 'state' || value === 'failed'));
}

const LIST_ALL = ['--limit', '1000000', '--quiet'];

/** Commands of dead letters know few filters; for others the ids come from a list. */
function dlqCommand(words: readonly string[], query: Query, more: readonly (string | undefined)[]): string {
  if (!isForDlq(query)) return `${drover('list', ...toFlags(query), ...LIST_ALL)} | xargs -r -n 1000 ${drover(...words, ...more)}`;
  const flags = toFlags(withoutTerm(withoutTerm(query, 'order'), 'state'));
  return drover(...words, ...(flags.length ? flags : ['--all']), ...more);
}

/** Ids are shown up to a few; the rest would fill the screen. */
const IDS_SHOWN = 20;

export function commandOf(verb: BulkVerb, target: Target, details: BulkDetails): string {
  const words = verb === 'escalate' || verb === 'delete' ? ['dlq', verb] : verb === 'retry' && details.patch ? ['dlq', 'retry'] : [verb];
  const more = [...flag('to', details.to), ...flag('priority', details.priority), ...flag('delay', details.delay), ...flag('patch', details.patch), ...flag('reason', details.why)];
  if (!('ids' in target)) return words[0] === 'dlq' ? dlqCommand(words, target.query, more) : drover(...words, ...filterFlags(verb, target.query), ...more);
  const ids = [...target.ids.slice(0, IDS_SHOWN), ...(target.ids.length > IDS_SHOWN ? [`…and ${target.ids.length - IDS_SHOWN} more`] : [])];
  return drover(...words, ...ids, ...more);
}
