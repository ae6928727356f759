import assert from 'node:assert/strict';
import {test} from 'node:test';
import {cpuMs} from './cpu';
import {nearestOf16, plainLook, showHidden, spansOf, stripAnsi} from '../src/lib/ansi';

const spans = (line: string) => spansOf(line, plainLook()).map(span => [span.className, span.text]);

test('colours become classes and carry over', () => {
  assert.deepEqual(spans('a \u001b[1;31mred\u001b[0m b'), [['', 'a '], ['a-f1 a-bold', 'red'], ['', ' b']]);
  const look = plainLook();
  spansOf('\u001b[92mgreen', look);
  assert.deepEqual(spansOf('still', look), [{text: 'still', className: 'a-f10'}]);
});

test('256 colours and true colours are taken to the nearest of sixteen', () => {
  assert.deepEqual(spans('\u001b[38;5;196mx'), [['a-f9', 'x']]);
  assert.deepEqual(spans('\u001b[38;2;0;0;120mx'), [['a-f4', 'x']]);
  assert.deepEqual(spans('\u001b[48;5;21mx'), [['a-b12', 'x']]);
  assert.equal(nearestOf16(250, 250, 250), 15);
  assert.equal(nearestOf16(0, 0, 0), 0);
});

test('a carriage return starts the line over', () => {
  assert.deepEqual(spans('10%\r55%\r100%'), [['', '100%']]);
  assert.deepEqual(spans('100%\r'), [['', '100%']]);
});

test('what a terminal would obey is dropped', () => {
  for (const escape of [
    '\u001b]8;;http://evil.example\u0007', '\u001b]52;c;ZXZpbA==\u0007', '\u001b]0;title\u001b\\', '\u001bPq#0\u001b\\', '\u001b[2J', '\u001b[1;1H', '\u001b[?1049h',
    '\u001b_apc\u001b\\', '\u001b^pm\u001b\\', '\u001bc', '\u001b(B', '\u009b31m', '\u009dx\u009c',
  ]) assert.equal(stripAnsi(`a${escape}b`), 'ab', JSON.stringify(escape));
});

test('an escape without an end takes nothing visible with it but its own text', () => {
  assert.equal(stripAnsi('a\u001b[31'), 'a');
  assert.equal(stripAnsi('a\u001b'), 'a');
});

test('controls that turn or hide text are shown', () => {
  assert.equal(showHidden('a\u202eb\u2066c'), 'a⟨U+202E⟩b⟨U+2066⟩c');
  assert.equal(showHidden('a\u0000b\u0007'), 'a␀b␇');
  assert.equal(showHidden('\ufeffx\u200bz'), '⟨U+FEFF⟩x⟨U+200B⟩z');
  assert.equal(showHidden('tab\tand\nline'), 'tab\tand\nline');
});

test('no input makes it slow or throws', () => {
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const alphabet = ['\u001b', '[', ']', ';', '3', '8', '5', 'm', '\r', '\u009b', 'P', '\\', '\u0007', 'a', ' ', '?'];
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({length: 40}, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
    const shown = spansOf(text, plainLook()).map(span => span.text).join('');
    assert.ok(!/[\u001b\u0007\u009b\r]/.test(shown), JSON.stringify(text));
  }
  const used = cpuMs(() => {
    stripAnsi('\u001b['.repeat(100_000));
    stripAnsi('\u001b]' + 'x'.repeat(500_000));
  });
  assert.ok(used < 1000, `${used} ms`);
});
