import assert from 'node:assert/strict';
import {test} from 'node:test';
import {steady} from '../src/lib/steady';

test('known rows keep their order, new ones come after them, gone ones go', () => {
  assert.deepEqual(steady(['a', 'b', 'c'], ['d', 'c', 'a'], key => key), ['a', 'c', 'd']);
  assert.deepEqual(steady([], ['b', 'a'], key => key), ['b', 'a']);
});
