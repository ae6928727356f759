/** What a handler asks, and how it waits for the answer. */

import { pause } from "./calls.js";
import { Unavailable, WrongState } from "./errors.js";
import type { AskedOf, Question } from "./wire.js";

/** As long as `ask` waits before the task gives its slot back, unless it is told another time. */
export const ANSWER_WAIT_MS = 120_000;

/** Between looks while the server is away. */
const SERVER_AWAY_MS = 1_000;

export interface AskOptions {
  /** The answer is one of these. */
  options?: readonly string[];
  /** A JSON Schema that the answer must match; not together with options. */
  schema?: unknown;
  /** The answer if nobody gives one in time. */
  default?: unknown;
  /** How long the question is open: "1h", or milliseconds; 7 days unless set. */
  expires?: string | number;
  /** Whom to ask: people unless set, or the task that spawned this one. */
  to?: AskedOf;
  /** Names the question within its task; its text does unless set. */
  key?: string;
  /** How long to wait here before the task is suspended; two minutes unless set. */
  waitMs?: number;
  /** Ends the wait, never the question. */
  signal?: AbortSignal;
}

/**
 * Thrown by `ask` when there is no answer yet. Let it through: the task is then suspended, holds no slot, and runs again once there is
 * an answer. A handler that returns instead is suspended all the same; one that throws another error fails.
 */
export class AwaitingAnswer extends Error {
  constructor(readonly question: Question) {
    super(`question ${question.id} has no answer yet; the task is suspended until it has one`);
    this.name = "AwaitingAnswer";
  }
}

/** Thrown by `ask` when there will be no answer: the question has expired without a default, or was withdrawn. Fails the task, class `unanswered`. */
export class Unanswered extends WrongState {
  constructor(readonly question: Question) {
    const why = question.why === "" ? "" : `: ${question.why}`;
    super({ code: "wrong_state", detail: `question ${question.id} was ${question.state} without an answer${why}` });
  }
}

/** The members of a QuestionSpec that are not JSON of the caller's own. */
export function specOf(text: string, { options, expires, to, key }: AskOptions): Record<string, unknown> {
  const open = typeof expires === "number" ? { expires_ms: Math.max(1, Math.round(expires)) } : expires === undefined ? {} : { expires };
  return { text, ...(options && { options }), ...open, ...(to && { to }), ...(key === undefined ? {} : { key }) };
}

/** Looks until the question is closed, the time is over, or something ends the wait. */
export async function untilClosed(
  asked: Question,
  { waitMs, pollMs, signal, look }: { waitMs: number; pollMs: number; signal: AbortSignal; look: (waitMs: number) => Promise<Question> },
): Promise<Question> {
  const until = performance.now() + waitMs;
  let question = asked;
  while (question.state === "open" && !signal.aborted && performance.now() < until) {
    try {
      question = await look(Math.min(pollMs, until - performance.now()));
    } catch (error) {
      if (signal.aborted) break;
      if (!(error instanceof Unavailable)) throw error;
      await pause(SERVER_AWAY_MS, signal).catch(() => undefined);
    }
  }
  return question;
}
