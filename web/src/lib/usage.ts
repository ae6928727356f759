// What agents used, summed up for people. Money that nobody reported is unknown, and unknown is not $0.
import type {Usage, UsageRow} from '../api/types';
import {compact, money, NOT_REPORTED} from './format';

export const USAGE_KEYS = ['type', 'model', 'owner', 'tag', 'day', 'runner'] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];

/** The ledger counts runs by how they ended for these; a run may use several models, and a task have several tags. */
export const hasRuns = (key: UsageKey): boolean => key !== 'model' && key !== 'tag';

/** All tokens once: the input of the ledger has no cached ones in it. */
export const tokensOf = (row: Pick<Usage, 'input_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'output_tokens'>): number =>
  (row.input_tokens ?? 0) + (row.cached_input_tokens ?? 0) + (row.cache_write_tokens ?? 0) + (row.output_tokens ?? 0);

/** Null: nobody knows any of it. */
export function costOf(row: UsageRow): number | null {
  const cost = row.cost_usd ?? 0;
  if (cost > 0) return cost;
  return tokensOf(row) > 0 && (row.unpriced_tokens ?? 0) === 0 ? 0 : null;
}

export function costText(row: UsageRow): string {
  return money(costOf(row));
}

/** "cost of 1.2M tokens not reported", or nothing. */
export function unpricedText(row: UsageRow): string {
  const unpriced = row.unpriced_tokens ?? 0;
  return unpriced > 0 ? `cost of ${compact(unpriced)} tokens ${NOT_REPORTED}` : '';
}

export interface Wasted {
  runs: number;
  wasted: number;
}

/** Runs that did not end completed, by name: failed for good, or tried again. */
export function wastedBy(rows: readonly UsageRow[], key: UsageKey): Map<string, Wasted> {
  const found = new Map<string, Wasted>();
  for (const row of rows) {
    const name = String(row[key] ?? '');
    const at = found.get(name) ?? {runs: 0, wasted: 0};
    at.runs += row.runs ?? 0;
    if (row.class !== 'completed') at.wasted += row.runs ?? 0;
    found.set(name, at);
  }
  return found;
}

export function total(rows: readonly UsageRow[]): UsageRow {
  const out: Record<string, number> = {};
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) if (typeof value === 'number') out[name] = (out[name] ?? 0) + value;
  return out as UsageRow;
}

/** The most expensive first; what is unknown after what is known, by tokens. */
export function byCost(one: UsageRow, other: UsageRow): number {
  return (costOf(other) ?? -1) - (costOf(one) ?? -1) || tokensOf(other) - tokensOf(one);
}

/** What some tasks cost together; null if none of them said. */
export function costOfTasks(usages: readonly (Usage | null)[]): number | null {
  const known = usages.map(usage => usage?.cost_usd).filter((cost): cost is number => typeof cost === 'number');
  return known.length ? known.reduce((sum, cost) => sum + cost, 0) : null;
}

/** "2026-11-12": the first day of the last so many, in UTC as the ledger has them. */
export const firstDay = (now: number, days: number): string => new Date(now - (days - 1) * 86_400_000).toISOString().slice(0, 10);

/** For axes, where cents are noise: "$40", "$0.20". */
export const roundMoney = (usd: number): string => (usd >= 10 ? `$${compact(usd)}` : money(usd));
