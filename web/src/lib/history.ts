// Statistics over time as columns for charts. The server leaves out buckets in which nothing happened: counts are zero there, and
// times and money are unknown, which is not zero.
import type {StatsBucket, StatsHistory} from '../api/types';

export interface HistoryColumns {
  /** Begin of each bucket, in seconds, without gaps. */
  times: number[];
  completed: number[];
  failed: number[];
  retried: number[];
  waitP95: (number | null)[];
  /** In dollars; null where nothing was reported. */
  spend: (number | null)[];
}

const BUCKETS_MAX = 2000;

export function columnsOf(history: StatsHistory): HistoryColumns {
  const step = history.step_ms;
  const from = Date.parse(history.from);
  const until = Date.parse(history.until);
  const amount = Math.min(BUCKETS_MAX, Math.max(0, Math.round((until - from) / step)));
  const known = new Map<number, StatsBucket>(history.buckets.map(bucket => [Math.round((Date.parse(bucket.at) - from) / step), bucket]));
  const columns: HistoryColumns = {times: [], completed: [], failed: [], retried: [], waitP95: [], spend: []};
  for (let at = 0; at < amount; at++) {
    const bucket = known.get(at);
    columns.times.push((from + at * step) / 1000);
    columns.completed.push(bucket?.completed ?? 0);
    columns.failed.push(bucket?.failed ?? 0);
    columns.retried.push(bucket?.retried ?? 0);
    columns.waitP95.push(bucket?.wait_p95_ms ?? null);
    columns.spend.push(bucket?.cost_micro_usd === null || bucket?.cost_micro_usd === undefined ? null : bucket.cost_micro_usd / 1e6);
  }
  return columns;
}

export const sum = (values: readonly (number | null)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Null if nothing is known at all. */
export const sumKnown = (values: readonly (number | null)[]): number | null => (values.some(value => value !== null) ? sum(values) : null);

export const largest = (values: readonly (number | null)[]): number | null =>
  values.reduce<number | null>((most, value) => (value !== null && (most === null || value > most) ? value : most), null);

/** How many of these times fall into each of `amount` equal parts of the span. */
export function histogram(times: readonly number[], from: number, until: number, amount: number): number[] {
  const counts = new Array<number>(amount).fill(0);
  const span = Math.max(1, until - from);
  for (const time of times) {
    if (time < from || time > until) continue;
    const at = Math.min(amount - 1, Math.floor(((time - from) / span) * amount));
    counts[at] = counts[at]! + 1;
  }
  return counts;
}
