import assert from 'node:assert/strict';
import {test} from 'node:test';
import {addressOf} from '../src/api/client';
import {quote} from '../src/lib/shell';
import {href, match} from '../src/router';

test('patterns', () => {
  assert.deepEqual(match('/tasks', '/tasks'), {});
  assert.deepEqual(match('/tasks/:id', '/tasks/a%2Fb'), {id: 'a/b'});
  assert.equal(match('/tasks/:id', '/tasks'), null);
  assert.equal(match('/tasks/:id', '/tasks/%E0%A4%A'), null);
});

test('addresses leave out what is empty and stay readable', () => {
  assert.equal(href('/tasks', {q: 'state:failed,stalled queue:eng', peek: null}), '/tasks?q=state:failed,stalled+queue:eng');
  assert.equal(addressOf('GET /v1/tasks/{id}/log', {id: 'a/../b'}, {after: 0, run: undefined}), '/v1/tasks/a%2F..%2Fb/log?after=0');
  assert.equal(addressOf('GET /v1/tasks', undefined, {owner: ['a', 'b']}), '/v1/tasks?owner=a&owner=b');
});

test('quoting for a shell', () => {
  assert.equal(quote('plain-1.0'), 'plain-1.0');
  assert.equal(quote("it's; rm -rf ~"), `'it'\\''s; rm -rf ~'`);
  assert.equal(quote(''), "''");
  assert.equal(quote('$(x)'), "'$(x)'");
});
