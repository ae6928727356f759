import assert from 'node:assert/strict';
import {test} from 'node:test';
import {findLines, LogLines, type LogRecord} from '../src/lib/log_lines';
import {splitAround, wrapSpans} from '../src/pages/task/log_view';

let seq = 0;
const record = (text: string, more: Partial<LogRecord> = {}): LogRecord => ({seq: ++seq, run: 1, at: '2026-11-18T12:00:00.000Z', stream: 'stdout', text, left_out_before: 0, ...more});
const texts = (log: LogLines) => log.lines.map(line => (line.kind === 'text' ? line.text : line.kind));

test('records that end within a line, and streams that take turns', () => {
  const log = new LogLines(false);
  log.add([record('one\ntw'), record('err', {stream: 'stderr'}), record('o\nthree'), record('or\n', {stream: 'stderr'})]);
  assert.deepEqual(texts(log), ['one', 'two', 'error', 'three']);
  log.add([record('!\n')]);
  assert.deepEqual(texts(log), ['one', 'two', 'error', 'three!']);
});

test('a record that came before is not added again', () => {
  const log = new LogLines(false);
  const one = record('a\n');
  log.add([one]);
  log.add([one, record('b\r\n')]);
  assert.deepEqual(texts(log), ['a', 'b']);
});

test('what was left out, runs, and the transcript', () => {
  const log = new LogLines(true);
  log.add([record('a\n'), record('{}', {stream: 'transcript'}), record('z\n', {left_out_before: 900}), record('b\n', {run: 2})]);
  assert.deepEqual(texts(log), ['run', 'a', 'left_out', 'z', 'run', 'b']);
});

test('colours carry over to the next line of the stream', () => {
  const log = new LogLines(false);
  log.add([record('\u001b[31mred\nstill\u001b[0m\nplain\n')]);
  assert.equal(log.lines[0]!.look, null);
  assert.equal(log.lines[1]!.look?.foreground, 1);
  assert.equal(log.lines[2]!.look, null);
});

test('searching, marking and wrapping', () => {
  const log = new LogLines(false);
  log.add([record('The \u001b[1mERR\u001b[0mor\nfine\n')]);
  assert.deepEqual(findLines(log.lines, 'error'), [0]);
  assert.deepEqual(splitAround('an Error, error', 'error'), ['an ', 'Error', ', ', 'error', '']);
  assert.deepEqual(wrapSpans([{text: 'abcd', className: ''}, {text: 'ef', className: 'x'}], 3).map(row => row.map(span => span.text)), [['abc'], ['d', 'ef']]);
});
