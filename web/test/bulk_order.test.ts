import assert from 'node:assert/strict';
import {test} from 'node:test';
import {commandOf, orderOf} from '../src/lib/bulk_order';
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

test('every term of a query goes into the order, several values too', () => {
  const query = parseQuery('owner:a,b type:fix,review gate:all model:opus agent_id:x finished_after:1h escalated:false order:oldest');
  assert.deepEqual(orderOf('cancel', {query}, {why: ''}, NOW, false).filter,
    {owner: 'a,b', type: 'fix,review', gate: 'all', model: 'opus', agent_id: 'x', finished_after: '2026-11-18T11:00:00.000Z', escalated: false});
  assert.equal(commandOf('cancel', {query}, {why: ''}),
    'drover cancel --type fix,review --owner a,b --model opus --agent-id x --gate all --finished-after 1h --escalated no');
});

test('dead letters by what `drover dlq` cannot filter by come from a list', () => {
  assert.equal(commandOf('delete', {query: parseQuery('state:failed type:fix')}, {why: ''}), 'drover dlq delete --type fix');
  assert.equal(commandOf('delete', {query: parseQuery('state:failed')}, {why: ''}), 'drover dlq delete --all');
  assert.equal(commandOf('delete', {query: parseQuery('state:completed type:fix')}, {why: 'old'}),
    'drover list --state completed --type fix --limit 1000000 --quiet | xargs -r -n 1000 drover dlq delete --reason old');
  assert.equal(commandOf('escalate', {query: parseQuery('type:fix,review boom')}, {why: '', to: 'ada'}),
    'drover list --type fix,review --search boom --limit 1000000 --quiet | xargs -r -n 1000 drover dlq escalate --to ada');
});
