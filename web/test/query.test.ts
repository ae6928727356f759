import assert from 'node:assert/strict';
import {test} from 'node:test';
import {formatQuery, parseQuery, resolveTime, toFlags, toggleTerm, toParameters, valuesOf, withTerm} from '../src/lib/query';

const NOW = Date.UTC(2026, 10, 18, 12);

test('names and words', () => {
  const query = parseQuery('state:failed,stalled queue:eng tag:x payment failed');
  assert.deepEqual(valuesOf(query, 'state'), ['failed', 'stalled']);
  assert.deepEqual(valuesOf(query, 'queue'), ['eng']);
  assert.equal(query.text, 'payment failed');
  assert.deepEqual(query.unknown, []);
});

test('what is written is read again', () => {
  for (const text of ['state:failed queue:eng', 'tag:"a b"', 'since:2h timed out', 'class:timeout order:oldest', 'owner:ana,ben "state:failed"', 'type:"say \\"x\\""', '']) {
    const once = formatQuery(parseQuery(text));
    assert.equal(formatQuery(parseQuery(once)), once, text);
    assert.deepEqual(parseQuery(once).terms, parseQuery(text).terms, text);
    assert.equal(parseQuery(once).text, parseQuery(text).text, text);
  }
});

test('a name that there is not is said', () => {
  assert.deepEqual(parseQuery('status:failed').unknown, ['status']);
  assert.equal(parseQuery('http://x').text, '');
  assert.deepEqual(parseQuery('http://x').unknown, ['http']);
});

test('a name with one value takes the last', () => {
  assert.deepEqual(valuesOf(parseQuery('since:1h since:2h'), 'since'), ['2h']);
  assert.deepEqual(valuesOf(withTerm(parseQuery('gate:all'), 'gate', 'queue:eng'), 'gate'), ['queue:eng']);
});

test('chips toggle', () => {
  let query = toggleTerm(parseQuery('queue:eng'), 'state', 'failed');
  assert.equal(formatQuery(query), 'queue:eng state:failed');
  query = toggleTerm(query, 'state', 'failed');
  assert.equal(formatQuery(query), 'queue:eng');
});

test('parameters and flags mean the same', () => {
  const query = parseQuery('state:failed,stalled owner:ana,ben since:2h finished_before:2026-01-01T00:00:00Z timed out');
  assert.deepEqual(toParameters(query, NOW), {
    state: 'failed,stalled', owner: ['ana', 'ben'], since: '2026-11-18T10:00:00.000Z', finished_before: '2026-01-01T00:00:00Z', search: 'timed out',
  });
  assert.deepEqual(toFlags(query), ['--state', 'failed,stalled', '--owner', 'ana,ben', '--since', '2h', '--finished-before', '2026-01-01T00:00:00Z', '--search', 'timed out']);
});

test('flags that have another form', () => {
  assert.deepEqual(toFlags(parseQuery('order:oldest')), ['--oldest']);
  assert.deepEqual(toFlags(parseQuery('order:newest escalated:true')), ['--escalated', 'yes']);
});

test('times', () => {
  assert.equal(resolveTime('1h30m', NOW), '2026-11-18T10:30:00.000Z');
  assert.equal(resolveTime('2026-01-01', NOW), '2026-01-01');
});
