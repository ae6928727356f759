// One thing done to many tasks: the order for the server, and the same as a command.
import type {BulkFilter, BulkOrder, BulkVerb} from '../api/types';
import {resolveTime, valuesOf, type Query, type QueryKey} from './query';
import {drover, flag} from './shell';

export interface BulkDetails {
  why: string;
  to?: string;
  priority?: string;
  delay?: string;
  patch?: string;
}

const KEYS_OF_FILTER: readonly QueryKey[] =
  ['state', 'type', 'queue', 'owner', 'tag', 'spawner', 'worker', 'since', 'until', 'id', 'class', 'fingerprint', 'finished_before', 'escalated'];
const TIMES: readonly QueryKey[] = ['since', 'until', 'finished_before'];

/** Terms that the server cannot filter many tasks by; "all that match" would mean others, so it is not offered. */
export function unsupportedTerms(query: Query): string[] {
  const unknown = query.terms.filter(term => !KEYS_OF_FILTER.includes(term.key) && term.key !== 'order').map(term => term.key);
  const several = (['type', 'queue', 'owner', 'tag'] as const).filter(key => valuesOf(query, key).length > 1).map(key => `several ${key}s`);
  return [...new Set([...unknown, ...several])];
}

export function filterOf(query: Query, now: number): BulkFilter {
  const filter: Record<string, unknown> = {};
  for (const key of KEYS_OF_FILTER) {
    const values = valuesOf(query, key);
    if (!values.length) continue;
    if (key === 'state') filter[key] = values;
    else if (key === 'escalated') filter[key] = values[0] === 'true';
    else filter[key] = TIMES.includes(key) ? resolveTime(values[0]!, now) : values[0];
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
  const flags = KEYS_OF_FILTER.flatMap(key => {
    const values = valuesOf(query, key);
    if (!values.length) return [];
    const name = verb === 'edit' && key === 'tag' ? 'tagged' : key.replaceAll('_', '-');
    return [`--${name}`, values.join(',')];
  });
  if (query.text) flags.push('--search', query.text);
  return flags.length ? flags : ['--all'];
}

/** Ids are shown up to a few; the rest would fill the screen. */
const IDS_SHOWN = 20;

export function commandOf(verb: BulkVerb, target: Target, details: BulkDetails): string {
  const words = verb === 'escalate' || verb === 'delete' ? ['dlq', verb] : verb === 'retry' && details.patch ? ['dlq', 'retry'] : [verb];
  const tasks = 'ids' in target
    ? [...target.ids.slice(0, IDS_SHOWN), ...(target.ids.length > IDS_SHOWN ? [`…and ${target.ids.length - IDS_SHOWN} more`] : [])]
    : filterFlags(verb, target.query);
  return drover(...words, ...tasks, ...flag('to', details.to), ...flag('priority', details.priority), ...flag('delay', details.delay),
    ...flag('patch', details.patch), ...flag('reason', details.why));
}
