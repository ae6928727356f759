import assert from 'node:assert/strict';
import {test} from 'node:test';
import {differences, mergePatch} from '../src/lib/json_diff';

// The examples of RFC 7396, appendix A, as far as the target is JSON text.
const EXAMPLES: [string, string, string][] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

test('merge patches do what RFC 7396 says', () => {
  for (const [target, patch, result] of EXAMPLES) assert.equal(mergePatch(target, patch), result, `${target} with ${patch}`);
});

test('a merge patch leaves numbers as they are written, and refuses what is not JSON', () => {
  assert.equal(mergePatch('{"big":12345678901234567890,"one":1.0}', '{"x":2.50}'), '{"big":12345678901234567890,"one":1.0,"x":2.50}');
  assert.equal(mergePatch('{"a":1}', '{"a":'), null);
  assert.equal(mergePatch('nope', '{}'), null);
});

test('differences are told by path', () => {
  assert.deepEqual(differences('{"a":1,"b":{"c":[1,2]},"d":"x"}', '{"a":1,"b":{"c":[1, 3]},"e":true}'), [
    {path: 'b.c', before: '[1,2]', after: '[1,3]'},
    {path: 'd', before: '"x"', after: null},
    {path: 'e', before: null, after: 'true'},
  ]);
  assert.deepEqual(differences('{"a":[1, 2]}', '{"a":[1,2]}'), []);
  assert.deepEqual(differences('{"a b":1}', '{"a b":2}'), [{path: '"a b"', before: '1', after: '2'}]);
  assert.deepEqual(differences('[{"a":1}]', '[{"a":2}]'), [{path: '[0].a', before: '1', after: '2'}]);
  assert.deepEqual(differences('{}', '{"a":{}}'), [{path: 'a', before: null, after: '{}'}]);
  assert.equal(differences('{', '{}'), null);
});

test('blanks inside strings are part of the value', () => {
  assert.deepEqual(differences('{"a":"x  y"}', '{"a":"x y"}'), [{path: 'a', before: '"x  y"', after: '"x y"'}]);
  assert.deepEqual(differences('{"a":["x  y"]}', '{"a":["x y"]}'), [{path: 'a', before: '["x  y"]', after: '["x y"]'}]);
});
