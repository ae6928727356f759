import assert from 'node:assert/strict';
import {test} from 'node:test';
import {absolute, age, bytes, compact, count, countdown, duration, money, plural, relative, shortId, shortWorker} from '../src/lib/format';

test('durations have two units at most', () => {
  assert.equal(duration(850), '850 ms');
  assert.equal(duration(9_940), '9.9 s');
  assert.equal(duration(12_000), '12 s');
  assert.equal(duration(185_000), '3 m 05 s');
  assert.equal(duration(7_800_000), '2 h 10 m');
  assert.equal(duration(4 * 86_400_000 + 3 * 3_600_000), '4 d 3 h');
  assert.equal(duration(-5), '0 ms');
});

test('ages never round up', () => {
  assert.equal(age(59_999), '59 s');
  assert.equal(age(60_000), '1 m');
  assert.equal(age(47 * 3_600_000), '47 h');
  assert.equal(age(48 * 3_600_000), '2 d');
  assert.equal(relative(1_000, 61_000), '1 m ago');
  assert.equal(relative(61_000, 1_000), 'in 1 m');
  assert.equal(relative(1_000, 1_500), 'just now');
});

test('countdowns', () => {
  assert.equal(countdown(190_000), '3:10');
  assert.equal(countdown(3_725_000), '1:02:05');
  assert.equal(countdown(-1), '0:00');
});

test('unknown money is not reported, and never $0', () => {
  assert.equal(money(null), 'not reported');
  assert.equal(money(undefined), 'not reported');
  assert.equal(money(0), '$0');
  assert.equal(money(0.000168), '$0.0002');
  assert.equal(money(12.345), '$12.35');
  assert.equal(money(12345.6), '$12,346');
});

test('numbers', () => {
  assert.equal(count(12431), '12,431');
  assert.equal(compact(12431), '12k');
  assert.equal(compact(1950), '1.9k');
  assert.equal(compact(3_100_000), '3.1M');
  assert.equal(plural(1, 'task'), '1 task');
  assert.equal(plural(1200, 'task'), '1,200 tasks');
  assert.equal(bytes(512), '512 B');
  assert.equal(bytes(1536), '1.5 KiB');
  assert.equal(absolute(Date.UTC(2026, 10, 18, 12, 5, 9), true), '2026-11-18 12:05:09Z');
});

test('ids', () => {
  assert.equal(shortId('01a1eebd-4c14-7f03-9214-b42b7fa4222f'), '7fa4222f');
  assert.equal(shortWorker('vm:28664:01a1eebd-4c87-7448-9acd-70d26f4e1c3e'), 'vm:28664');
  assert.equal(shortWorker('mine'), 'mine');
});
