// What a question asks for, and how its answer is written for the server and for a terminal. Pure.
import type {Question, Right} from '../api/types';
import {parseJsonText} from './json_text';
import {drover} from './shell';

export interface Choice {
  label: string;
  /** The answer as JSON text. */
  json: string;
}

/** What a gate asks about is for those who may change the gate. */
export const rightToAnswer = (question: Question): Right => (question.task_id === null ? 'operate' : 'produce');

const scalar = (value: unknown): Choice => ({label: typeof value === 'string' ? value : JSON.stringify(value), json: JSON.stringify(value)});

function schemaOf(question: Question): {type?: unknown; enum?: unknown} {
  return typeof question.schema === 'object' && question.schema !== null ? question.schema : {};
}

/** The answers that fit on buttons: the options, or what a simple schema allows. Empty: the answer is typed. */
export function choicesOf(question: Question): Choice[] {
  const {type, enum: allowed} = schemaOf(question);
  if (question.options.length) return question.options.map(scalar);
  if (Array.isArray(allowed)) return allowed.map(scalar);
  return type === 'boolean' ? [scalar(true), scalar(false)] : [];
}

/** Whether people type the answer as JSON; otherwise what they type is the text. */
export const isJsonTyped = (question: Question): boolean =>
  question.schema !== null && schemaOf(question).type !== 'string' && choicesOf(question).length === 0;

/** What was typed, as JSON text; null while it is no answer. */
export function typedAnswer(question: Question, typed: string): string | null {
  if (typed.trim() === '') return null;
  if (!isJsonTyped(question)) return JSON.stringify(typed);
  return parseJsonText(typed) ? typed.trim() : null;
}

/** The command line reads the answer as JSON where there is a schema, or with --raw. What begins with a dash would be an option. */
export function answerCommand(question: Question, json: string | null): string {
  const words = ['question', 'answer', question.id];
  if (json === null) return drover(...words, 'VALUE');
  const value = question.schema === null ? String(JSON.parse(json)) : json;
  return value.startsWith('-') ? drover(...words, ` ${json}`, '--raw') : drover(...words, value);
}

/** An answer or a default, for reading. */
export const answerText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
