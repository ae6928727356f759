import assert from 'node:assert/strict';
import {test} from 'node:test';
import {commandOf, orderOf, unsupportedTerms} from '../src/lib/bulk_order';
import {parseQuery} from '../src/lib/query';

const NOW = Date.UTC(2026, 10, 18, 12);

test('a filter becomes an order and a command', () => {
  const target = {query: parseQuery('state:failed queue:eng since:1h boom')};
  assert.deepEqual(orderOf('retry', target, {why: 'fixed'}, NOW, false), {
    verb: 'retry', dry_run: false, why: 'fixed',
    filter: {state: ['failed'], queue: 'eng', since: '2026-11-18T11:00:00.000Z', search: 'boom'},
  });
  assert.equal(commandOf('retry', target, {why: "it's fixed"}), `drover retry --state failed --queue eng --since 1h --search boom --reason 'it'\\''s fixed'`);
});

test('no filter means all, and says so', () => {
  assert.equal(commandOf('cancel', {query: parseQuery('')}, {why: ''}), 'drover cancel --all');
});

test('verbs of dead letters have their own commands', () => {
  assert.equal(commandOf('escalate', {ids: ['a']}, {why: '', to: 'ada'}), 'drover dlq escalate a --to ada');
  assert.equal(commandOf('edit', {query: parseQuery('tag:x')}, {why: '', priority: '0'}), 'drover edit --tagged x --priority 0');
  assert.deepEqual(orderOf('edit', {ids: ['a']}, {why: '', priority: '0', delay: '2h'}, NOW, true), {verb: 'edit', dry_run: true, ids: ['a'], edit: {priority: 0, delay: '2h'}});
});

test('"all that match" is not offered for what the server cannot filter by', () => {
  assert.deepEqual(unsupportedTerms(parseQuery('state:failed queue:eng order:oldest')), []);
  assert.deepEqual(unsupportedTerms(parseQuery('gate:all')), ['gate']);
  assert.deepEqual(unsupportedTerms(parseQuery('owner:a,b')), ['several owners']);
});
