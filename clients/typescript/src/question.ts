/** Questions that tasks ask: look at them, answer them, withdraw them. */

import { isDeepStrictEqual } from "node:util";
import type { Calls } from "./calls.js";
import { WrongState } from "./errors.js";
import { writeJson } from "./json.js";
import type { AskedOf, Question, QuestionState } from "./wire.js";

export interface QuestionFilter {
  state?: QuestionState;
  owner?: string;
  /** The task that asked. */
  task?: string;
  /** The task whose answer is awaited. */
  spawner?: string;
  to?: AskedOf;
  /** Of one page. */
  limit?: number;
  signal?: AbortSignal;
}

export class QuestionHandle {
  constructor(
    private readonly calls: Calls,
    readonly id: string,
  ) {}

  async get(options: { signal?: AbortSignal } = {}): Promise<Question> {
    return this.look(0, options.signal);
  }

  /** The question once it is not open any more, or as it is when the time is over. */
  async closed(options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Question> {
    const until = performance.now() + (options.timeoutMs ?? Infinity);
    for (;;) {
      const left = Math.max(0, until - performance.now());
      const question = await this.look(Math.min(left, this.calls.pollMs), options.signal);
      if (question.state !== "open" || performance.now() >= until) return question;
    }
  }

  /** One look, which the server answers when the question is closed or `waitMs` are over. For the worker of this package. */
  async look(waitMs: number, signal?: AbortSignal): Promise<Question> {
    const path = `/v1/questions/${encodeURIComponent(this.id)}?wait=${Math.ceil(waitMs)}ms`;
    return (await this.calls.json("GET", path, { repeat: "again", waitMs, signal })) as Question;
  }

  /**
   * The first answer wins: WrongState says that it was another one. The value must be one of the options, or match the schema, if the
   * question has any.
   */
  async answer(value: unknown): Promise<Question> {
    const text = writeJson(value, this.calls.options.bigints, "the answer") ?? "null";
    return this.close("answer", `{"value":${text}}`, (now) => now.state === "answered" && isDeepStrictEqual(now.answer, this.calls.parse(text)));
  }

  /** Nobody need answer it any more. A task that waits for it runs again, and finds it withdrawn. */
  async withdraw(why?: string): Promise<Question> {
    return this.close("withdraw", JSON.stringify(why === undefined ? {} : { why }), ({ state }) => state === "withdrawn");
  }

  /** The answer to the first try may have been lost: if the question is as it was to be, that is well. */
  private async close(verb: string, body: string, isDone: (now: Question) => boolean): Promise<Question> {
    try {
      return (await this.calls.json("POST", `/v1/questions/${encodeURIComponent(this.id)}/${verb}`, { repeat: "again", body })) as Question;
    } catch (error) {
      if (!(error instanceof WrongState)) throw error;
      const now = await this.get();
      if (!isDone(now)) throw error;
      return now;
    }
  }
}
