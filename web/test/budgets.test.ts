import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Budget} from '../src/api/types';
import {amountText, byUse, isUsedUp, limitText, parseAmount, raiseCommand, sharesOf} from '../src/lib/budgets';

const budget = (changes: Partial<Budget>): Budget =>
  ({gate: 'owner:ann', unit: 'usd', limit: 20, raised: 0, spent: 5, set_aside: 10, left: 5, per: 'day', zone: 'UTC', period: '2026-11-18', resets_at: null, on_breach: 'pause',
    breached: false, uncertain: false, ...changes});

test('amounts have their unit', () => {
  assert.equal(amountText(12.3, 'usd'), '$12.30');
  assert.equal(amountText(1_500_000, 'tokens'), '1.5M tokens');
  assert.equal(amountText(1, 'turns'), '1 turn');
  assert.equal(amountText(90_000, 'wall'), '1 m 30 s');
});

test('a budget is used up when nothing may start, or a run was stopped for it', () => {
  assert.equal(isUsedUp(budget({})), false);
  assert.equal(isUsedUp(budget({set_aside: 15, left: 0})), false);
  assert.equal(isUsedUp(budget({spent: 20})), true);
  assert.equal(isUsedUp(budget({breached: true})), true);
});

test('the bar never has more than all', () => {
  assert.deepEqual(sharesOf(budget({})), {spent: 25, aside: 50});
  assert.deepEqual(sharesOf(budget({spent: 15})), {spent: 75, aside: 25});
  assert.deepEqual(sharesOf(budget({spent: 30})), {spent: 100, aside: 0});
  assert.deepEqual(sharesOf(budget({limit: 0})), {spent: 100, aside: 0});
});

test('what is used up comes first, then what is nearest to it', () => {
  const sorted = [budget({gate: 'a', spent: 1, set_aside: 0}), budget({gate: 'b'}), budget({gate: 'c', breached: true})].sort(byUse);
  assert.deepEqual(sorted.map(one => one.gate), ['c', 'b', 'a']);
});

test('a raise is told apart from the policy', () => {
  assert.equal(limitText(budget({})), '$20.00 a day');
  assert.equal(limitText(budget({limit: 25, raised: 5, per: 'none'})), '$20.00 in all, $5.00 more for now');
});

test('amounts are typed as the command takes them', () => {
  assert.equal(parseAmount('0.50', 'usd'), 0.5);
  assert.equal(parseAmount('5M', 'usd'), null);
  assert.equal(parseAmount('5M', 'tokens'), 5_000_000);
  assert.equal(parseAmount('1.5', 'turns'), null);
  assert.equal(parseAmount('1h30m', 'wall'), 5_400_000);
  assert.equal(parseAmount('90', 'wall'), null);
  assert.equal(parseAmount('0', 'usd'), null);
  assert.equal(parseAmount('', 'tokens'), null);
});

test('the command means the same', () => {
  assert.equal(raiseCommand(budget({}), '5', "it's late"), `drover budget raise owner:ann --usd 5 --per day --reason 'it'\\''s late'`);
  assert.equal(raiseCommand(budget({unit: 'tokens', per: 'none'}), '', ''), 'drover budget raise owner:ann --tokens AMOUNT --per none');
});
