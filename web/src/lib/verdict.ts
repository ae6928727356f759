// A verdict over all dead letters of one kind: the order for the server, and the same as a command. Pure.
import type {BulkOrder} from '../api/types';
import {drover, flag} from './shell';

export const VERDICTS = ['retry', 'patch', 'wait', 'escalate', 'delete'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface VerdictDetails {
  fingerprint: string;
  /** Only those that somebody has. */
  escalatedOnly: boolean;
  why: string;
  /** A JSON Merge Patch. */
  patch: string;
  /** "6h". */
  wait: string;
  to: string;
}

const DURATION = /^([0-9]+(ms|s|m|h|d))+$/;
const UNITS: Record<string, number> = {ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000};

/** In milliseconds; null if it is not a duration. */
export function parseDuration(text: string): number | null {
  if (!DURATION.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|s|m|h|d)/g)) total += Number(amount) * UNITS[unit!]!;
  return total;
}

function isPatch(text: string): boolean {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** What is still missing, in words; "" if the verdict can be given. */
export function missing(verdict: Verdict, details: VerdictDetails): string {
  if (verdict === 'patch' && !isPatch(details.patch)) return 'The patch is not a JSON object yet.';
  if (verdict === 'wait' && !parseDuration(details.wait)) return 'Say how long, as 30m, 6h or 1d.';
  if (verdict === 'escalate' && !details.to.trim()) return 'Say who should look at them.';
  return '';
}

export function orderOf(verdict: Verdict, details: VerdictDetails, now: number, isDryRun: boolean): BulkOrder {
  const order: BulkOrder = {
    verb: verdict === 'patch' || verdict === 'wait' ? 'retry' : verdict,
    filter: {state: ['failed'], fingerprint: details.fingerprint, ...(details.escalatedOnly ? {escalated: true} : {})},
    dry_run: isDryRun,
  };
  if (details.why) order.why = details.why;
  // A dry run needs what the verb cannot do without; its value does not change the count.
  if (verdict === 'escalate') order.to = details.to.trim() || (isDryRun ? 'nobody' : '');
  if (isDryRun) return order;
  if (verdict === 'patch') order.retry = {patch: JSON.parse(details.patch) as unknown};
  if (verdict === 'wait') order.retry = {run_at: new Date(now + parseDuration(details.wait)!).toISOString()};
  return order;
}

export function commandOf(verdict: Verdict, details: VerdictDetails): string {
  return drover('dlq', verdict === 'patch' ? 'retry' : verdict, '--fingerprint', details.fingerprint,
    ...(details.escalatedOnly ? ['--escalated', 'yes'] : []),
    ...(verdict === 'patch' ? flag('patch', details.patch.trim()) : []),
    ...(verdict === 'wait' ? flag('for', details.wait) : []),
    ...(verdict === 'escalate' ? flag('to', details.to.trim()) : []),
    ...flag('reason', details.why));
}
