/** Task types: the name, what a task of it takes and gives, and how it is enqueued unless the caller says otherwise. */

import { Invalid } from "./errors.js";
import type { TaskSpec } from "./wire.js";

/** How a task is to be run. The names are those of the wire. */
export type TaskOptions = Omit<TaskSpec, "type" | "payload" | "null_values">;

declare const result: unique symbol;

/** A task for `enqueueMany` or `spawn`. Its payload may be null; without one there is none. */
export interface NewTask<R = unknown> extends TaskOptions {
  type: string;
  payload?: unknown;
  /** Only for the compiler: what the task gives. */
  readonly [result]?: R;
}

/** The payload may be left out where the type allows undefined. */
export type PayloadAnd<P, O> = undefined extends P ? [payload?: P, options?: O] : [payload: P, options?: O];

export interface TaskType<P, R> {
  readonly name: string;
  readonly defaults: TaskOptions;
  /** A task of this type for `enqueueMany` or `spawn`. */
  with(...rest: PayloadAnd<P, TaskOptions>): NewTask<R>;
  /** Only for the compiler: what the task takes and gives. */
  readonly [result]?: (payload: P) => R;
}

/** What the handler of a type gets, and what it gives. */
export type PayloadOf<T> = T extends TaskType<infer P, unknown> ? P : unknown;
export type ResultOf<T> = T extends TaskType<never, infer R> ? R : T extends NewTask<infer R> ? R : unknown;

const NAME = /^[A-Za-z0-9_.:@-]{1,128}$/;

export function checkName(name: string, what: string): string {
  if (NAME.test(name)) return name;
  throw new Invalid({ code: "invalid_argument", detail: `${what}: use 1 to 128 letters, digits and _ . : @ -, not "${name.slice(0, 200)}"` });
}

/** Declares a type. `P` is its payload, `R` its result; both are for the compiler and not checked when tasks run. */
export function taskType<P = unknown, R = unknown>(name: string, defaults: TaskOptions = {}): TaskType<P, R> {
  checkName(name, "the name of a task type");
  return {
    name,
    defaults,
    with: (...[payload, options]: [payload?: P, options?: TaskOptions]) => ({ ...defaults, ...options, type: name, payload }),
  };
}
