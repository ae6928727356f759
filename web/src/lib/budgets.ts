// Budgets of gates, for people. Pure.
import type {Budget, BudgetUnit} from '../api/types';
import {compact, count, duration, money} from './format';
import {drover, flag} from './shell';

export function amountText(value: number, unit: BudgetUnit): string {
  switch (unit) {
    case 'usd': return money(value);
    case 'tokens': return `${compact(value)} tokens`;
    case 'turns': return `${count(value)} ${value === 1 ? 'turn' : 'turns'}`;
    case 'wall': return duration(value);
  }
}

/** Nothing may start any more, or a run was stopped for it. */
export const isUsedUp = (budget: Budget): boolean => budget.breached || budget.spent >= budget.limit;

/** Parts of the limit, in percent, for a bar. */
export function sharesOf({limit, spent, set_aside: aside}: Budget): {spent: number; aside: number} {
  if (limit <= 0) return {spent: 100, aside: 0};
  const used = Math.min(100, (spent / limit) * 100);
  return {spent: used, aside: Math.min(100 - used, (aside / limit) * 100)};
}

/** Used up first, then what is nearest to it. */
export function byUse(one: Budget, other: Budget): number {
  const rank = (budget: Budget): number => (isUsedUp(budget) ? 2 : (budget.spent + budget.set_aside) / budget.limit);
  return rank(other) - rank(one) || (one.gate < other.gate ? -1 : 1);
}

export const budgetKey = (budget: Budget): string => `${budget.gate} ${budget.unit} ${budget.per}`;

const PER: Record<Budget['per'], string> = {none: 'in all', day: 'a day', month: 'a month'};
/** "$20 a day", with what was added by hand. */
export function limitText({limit, raised, unit, per}: Budget): string {
  return `${amountText(limit - raised, unit)} ${PER[per]}${raised > 0 ? `, ${amountText(raised, unit)} more for now` : ''}`;
}

const BREACH: Record<Budget['on_breach'], string> = {pause: 'tasks wait', ask: 'tasks wait, a person is asked', fail: 'tasks fail'};
export const breachWords = (budget: Budget): string => BREACH[budget.on_breach];

const SECONDS: Record<string, number> = {ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400};
const THOUSANDS: Record<string, number> = {'': 1, k: 1e3, M: 1e6, G: 1e9};

/** What somebody typed as `drover budget raise` takes it: "5", "500k", "45m"; null if that is no amount. */
export function parseAmount(text: string, unit: BudgetUnit): number | null {
  if (unit === 'wall') {
    if (!/^([0-9]+(ms|s|m|h|d))+$/.test(text)) return null;
    return [...text.matchAll(/([0-9]+)(ms|s|m|h|d)/g)].reduce((sum, [, number, word]) => sum + Number(number) * SECONDS[word!]! * 1000, 0) || null;
  }
  const match = (unit === 'usd' ? /^([0-9]+(?:\.[0-9]{1,6})?)()$/ : /^([0-9]+)([kMG]?)$/).exec(text);
  return match ? Number(match[1]) * THOUSANDS[match[2]!]! || null : null;
}

export const AMOUNT_HINTS: Record<BudgetUnit, string> = {usd: 'dollars, such as 5 or 0.50', tokens: 'such as 500k or 5M', turns: 'such as 20', wall: 'such as 45m'};

export function raiseCommand({gate, unit, per}: Budget, amount: string, why: string): string {
  return drover('budget', 'raise', gate, `--${unit}`, amount || 'AMOUNT', '--per', per, ...flag('reason', why));
}
