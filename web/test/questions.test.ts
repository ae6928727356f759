import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Question} from '../src/api/types';
import {answerCommand, answerText, choicesOf, isJsonTyped, rightToAnswer, typedAnswer} from '../src/lib/questions';

const question = (changes: Partial<Question>): Question => ({id: 'Q', options: [], schema: null, ...changes}) as Question;
const labels = (changes: Partial<Question>): string[] => choicesOf(question(changes)).map(choice => `${choice.label}=${choice.json}`);

test('options and simple schemas are choices', () => {
  assert.deepEqual(labels({options: ['yes', 'no "x"']}), ['yes="yes"', 'no "x"="no \\"x\\""']);
  assert.deepEqual(labels({schema: {enum: ['a', 3, null]}}), ['a="a"', '3=3', 'null=null']);
  assert.deepEqual(labels({schema: {type: 'boolean'}}), ['true=true', 'false=false']);
  assert.deepEqual(labels({schema: {type: 'object'}}), []);
  assert.deepEqual(labels({schema: true}), []);
  assert.deepEqual(labels({}), []);
});

test('a typed answer is a text, or JSON if the schema wants more', () => {
  assert.equal(typedAnswer(question({}), ' \n'), null);
  assert.equal(typedAnswer(question({}), 'two\nlines'), '"two\\nlines"');
  assert.equal(typedAnswer(question({schema: {type: 'string'}}), '5'), '"5"');
  assert.equal(isJsonTyped(question({schema: {type: 'object'}})), true);
  assert.equal(typedAnswer(question({schema: {type: 'object'}}), '{"a": '), null);
  assert.equal(typedAnswer(question({schema: {type: 'number'}}), ' 12345678901234567890 '), '12345678901234567890');
});

test('the command means the same', () => {
  assert.equal(answerCommand(question({options: ['it is']}), '"it is"'), "drover question answer Q 'it is'");
  assert.equal(answerCommand(question({}), '"-f"'), `drover question answer Q ' "-f"' --raw`);
  assert.equal(answerCommand(question({schema: {}}), '-3'), "drover question answer Q ' -3' --raw");
  assert.equal(answerCommand(question({schema: {type: 'string'}}), '"a"'), `drover question answer Q '"a"'`);
  assert.equal(answerCommand(question({schema: {}}), '{"n": 1.10}'), `drover question answer Q '{"n": 1.10}'`);
  assert.equal(answerCommand(question({}), null), 'drover question answer Q VALUE');
});

test('answers read as text', () => {
  assert.equal(answerText('yes'), 'yes');
  assert.equal(answerText({a: 1}), '{"a":1}');
});

test('questions of gates are for operators', () => {
  assert.equal(rightToAnswer(question({task_id: 'T'})), 'produce');
  assert.equal(rightToAnswer(question({task_id: null, gate: 'all'})), 'operate');
});
