import assert from 'node:assert/strict';
import {test} from 'node:test';
import {cpuMs} from './cpu';
import {compactText, member, parseJsonText, pretty, textOf} from '../src/lib/json_text';

test('numbers keep their text, objects their order and their duplicates', () => {
  const text = '{"b":1.0,"a":12345678901234567890,"b":-0.0e+10,"c":[1e999,{"x":"\\u0041"}]}';
  const node = parseJsonText(text)!;
  assert.equal(textOf(text, member(node, 'a')!), '12345678901234567890');
  assert.equal(pretty(text, node).replace(/\s+/g, ''), text.replace(/\s+/g, ''));
});

test('it agrees with JSON.parse on what is JSON', () => {
  for (const text of ['null', ' [ ] ', '{}', '"a\\n"', '-1', '[1,[2,[3]]]', 'true', '0.5'])
    assert.notEqual(parseJsonText(text), null, text);
  for (const text of ['', '{', '[1,]', '{"a"}', '01', '1.', '"\u0001"', "'a'", 'nul', '[1] 2', '{"a":1,}', '+1', '"\\x"'])
    assert.equal(parseJsonText(text), null, text);
});

test('a megabyte is read quickly, and depth has a limit', () => {
  const big = JSON.stringify(Array.from({length: 20_000}, (_, at) => ({id: at, name: `name ${at}`, ok: true})));
  const used = cpuMs(() => assert.notEqual(parseJsonText(big), null));
  assert.ok(used < 1000, `${used} ms`);
  assert.equal(parseJsonText('['.repeat(100_000)), null);
});

test('one line without white space, numbers untouched', () => {
  const text = '{ "a" : [ 1.0 , 12345678901234567890 ],\n "b": "x y" }';
  assert.equal(compactText(text, parseJsonText(text)!), '{"a":[1.0,12345678901234567890],"b":"x y"}');
});
