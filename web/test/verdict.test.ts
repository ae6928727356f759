import assert from 'node:assert/strict';
import {test} from 'node:test';
import {commandOf, missing, orderOf, parseDuration, type VerdictDetails} from '../src/lib/verdict';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const details = (changes: Partial<VerdictDetails> = {}): VerdictDetails => ({fingerprint: 'abc', escalatedOnly: false, why: '', patch: '', wait: '6h', to: '', ...changes});

test('durations are those of the CLI', () => {
  assert.equal(parseDuration('1h30m'), 5_400_000);
  assert.equal(parseDuration('250ms'), 250);
  for (const bad of ['', '6', 'h', '1 h', '-1h', '1w']) assert.equal(parseDuration(bad), null, bad);
});

test('a verdict says what it still needs', () => {
  assert.equal(missing('retry', details()), '');
  assert.notEqual(missing('patch', details({patch: '{"a":'})), '');
  assert.notEqual(missing('patch', details({patch: '[1]'})), '');
  assert.equal(missing('patch', details({patch: '{"a":1}'})), '');
  assert.notEqual(missing('wait', details({wait: '0s'})), '');
  assert.notEqual(missing('escalate', details({to: ' '})), '');
});

test('orders are about failed tasks of one kind', () => {
  assert.deepEqual(orderOf('retry', details({why: 'back'}), NOW, false), {verb: 'retry', filter: {state: ['failed'], fingerprint: 'abc'}, dry_run: false, why: 'back'});
  assert.deepEqual(orderOf('wait', details(), NOW, false).retry, {run_at: '2026-11-18T18:00:00.000Z'});
  assert.deepEqual(orderOf('patch', details({patch: '{"a":1}'}), NOW, false).retry, {patch: {a: 1}});
  assert.deepEqual(orderOf('escalate', details({escalatedOnly: true}), NOW, true), {verb: 'escalate', filter: {state: ['failed'], fingerprint: 'abc', escalated: true}, dry_run: true, to: 'nobody'});
  assert.equal(orderOf('patch', details({patch: 'half'}), NOW, true).retry, undefined);
});

test('commands can be pasted', () => {
  assert.equal(commandOf('retry', details({why: "it's back"})), `drover dlq retry --fingerprint abc --reason 'it'\\''s back'`);
  assert.equal(commandOf('patch', details({patch: '{"a": 1}'})), `drover dlq retry --fingerprint abc --patch '{"a": 1}'`);
  assert.equal(commandOf('wait', details({escalatedOnly: true})), 'drover dlq wait --fingerprint abc --escalated yes --for 6h');
  assert.equal(commandOf('escalate', details({to: 'ben'})), 'drover dlq escalate --fingerprint abc --to ben');
  assert.equal(commandOf('delete', details()), 'drover dlq delete --fingerprint abc');
});
