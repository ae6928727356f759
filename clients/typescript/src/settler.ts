/** Tells the server how runs have ended: those that end while one call is on its way go together with the next. */

import { backoffMs, type Calls, pause } from "./calls.js";
import { DroverError, errorOf, Invalid, Unauthorised, Unavailable } from "./errors.js";
import type { ErrorClass } from "./wire.js";

const BATCH_ITEMS_MAX = 500;
const BATCH_CHARS_MAX = 4 * 1024 * 1024;

export type EndKind = "complete" | "fail" | "release" | "cancelled" | "suspend";

/** How a run has ended. `members` is the JSON of what belongs to the end, beginning with a comma if there is any. */
export interface End {
  task_id: string;
  lease_id: string;
  end: EndKind;
  members: string;
  /** It is sent instead of one that was refused. */
  isSubstitute?: true;
}

/** What became of the ends. */
export interface Report {
  completed: number;
  failed: number;
  released: number;
  cancelled: number;
  suspended: number;
  /** Ends that the server did not take: the task was not this run's any more. */
  lost: number;
}

export interface SettlerEvents {
  /** These leases are settled, or nothing can be said for them any more. */
  onDone(leaseIds: string[]): void;
  onWarning(text: string): void;
  /** The server refuses the token. */
  onRefused(error: DroverError): void;
  /** A bug: nothing can be told any more. */
  onBroken(error: unknown): void;
  /** Whether to give a run up that cannot be told of. */
  mayGiveUp(leaseId: string): boolean;
}

const COUNTED: Record<EndKind, Exclude<keyof Report, "lost">> = {
  complete: "completed",
  fail: "failed",
  release: "released",
  cancelled: "cancelled",
  suspend: "suspended",
};
const NOT_OURS = new Set(["stale_lease", "not_found", "wrong_state"]);

/** The members of a failure. */
export function failure(errorClass: ErrorClass, message: string, more: { retry_after_ms?: number; note?: string } = {}): string {
  return `,${JSON.stringify({ class: errorClass, message: cut(message), ...more }).slice(1, -1)}`;
}

/** A message that is too long is refused; its beginning says what it is about. Half of a surrogate pair is, too. */
function cut(message: string): string {
  const text = message.length > 4_000 ? `${message.slice(0, 4_000)}…` : message;
  return Buffer.from(text, "utf8").toString("utf8");
}

export class Settler {
  readonly report: Report = { completed: 0, failed: 0, released: 0, cancelled: 0, suspended: 0, lost: 0 };
  private waiting: End[] = [];
  private sending = 0;
  private isRunning = false;
  private idle: (() => void)[] = [];

  constructor(
    private readonly calls: Calls,
    private readonly events: SettlerEvents,
  ) {}

  /** How many ends the server has not taken yet. */
  get unsettled(): number {
    return this.waiting.length + this.sending;
  }

  add(end: End): void {
    this.waiting.push(end);
    if (this.isRunning) return;
    this.isRunning = true;
    // What ends in the same turn goes together.
    setImmediate(() => void this.run().catch((error: unknown) => this.events.onBroken(error)));
  }

  /** When everything that was added is settled or given up. */
  whenIdle(): Promise<void> {
    return this.isRunning ? new Promise((resolve) => this.idle.push(resolve)) : Promise.resolve();
  }

  private async run(): Promise<void> {
    for (let failures = 0; this.waiting.length > 0; ) {
      const batch = this.take();
      this.sending = batch.length;
      const error = await this.settle(batch);
      if (!error) {
        failures = 0;
        continue;
      }
      failures += 1;
      if (failures === 1) this.events.onWarning(`ends of runs could not be told, trying again: ${error.message}`);
      this.giveUp();
      if (this.waiting.length > 0) await pause(backoffMs(failures, error.retryAfterMs));
    }
    this.isRunning = false;
    for (const resolve of this.idle.splice(0)) resolve();
  }

  private take(): End[] {
    let chars = 0;
    let count = 0;
    for (const end of this.waiting) {
      chars += end.members.length;
      if (count > 0 && (count >= BATCH_ITEMS_MAX || chars > BATCH_CHARS_MAX)) break;
      count += 1;
    }
    return this.waiting.splice(0, count);
  }

  private giveUp(): void {
    const given = this.waiting.filter((end) => this.events.mayGiveUp(end.lease_id));
    if (given.length === 0) return;
    this.waiting = this.waiting.filter((end) => !given.includes(end));
    this.report.lost += given.length;
    this.events.onWarning(`gave up telling how ${given.length} runs ended; their tasks will run again`);
    this.events.onDone(given.map((end) => end.lease_id));
  }

  /** Sends a batch. What must be sent again is put in front; an error says that it should wait. */
  private async settle(batch: End[]): Promise<DroverError | undefined> {
    try {
      const items = batch.map((end) => `{"task_id":"${end.task_id}","lease_id":"${end.lease_id}","end":"${end.end}"${end.members}}`);
      const body = `{"items":[${items.join(",")}]}`;
      const answer = (await this.calls.json("POST", "/v1/settlements", { repeat: "again", retries: 0, body })) as { items: ItemAnswer[] };
      return this.takeAnswers(batch, answer.items);
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      return this.takeRefusal(batch, error);
    }
  }

  private async takeRefusal(batch: End[], error: DroverError): Promise<DroverError | undefined> {
    if (error instanceof Invalid && batch.length > 1) {
      // One of them is to blame, and must not keep the others back.
      for (const [i, end] of batch.entries()) {
        const trouble = await this.settle([end]);
        if (!trouble) continue;
        const untried = batch.slice(i + 1);
        this.waiting.push(...untried);
        this.sending -= untried.length;
        return trouble;
      }
      return undefined;
    }
    if (error instanceof Invalid) return this.takeAnswers(batch, [{ code: error.code, detail: error.detail }]);
    this.waiting.unshift(...batch);
    this.sending -= batch.length;
    if (error instanceof Unauthorised) this.events.onRefused(error);
    return error;
  }

  private takeAnswers(batch: End[], answers: ItemAnswer[]): DroverError | undefined {
    const done: string[] = [];
    const again: End[] = [];
    let trouble: DroverError | undefined;
    batch.forEach((end, i) => {
      const answer = answers[i];
      const error = answer?.code === undefined ? undefined : errorOf({ code: answer.code, detail: answer.detail ?? "" });
      if (answer && !error) {
        this.report[COUNTED[end.end]] += 1;
        done.push(end.lease_id);
      } else if (!error || error instanceof Unavailable) {
        trouble = error ?? errorOf({ code: "protocol", detail: "the server left an answer out", status: 502 });
        again.push(end);
      } else {
        const instead = NOT_OURS.has(error.code) ? undefined : failureInstead(end, error);
        if (instead) again.push(instead);
        else this.refuse(end, error, done);
      }
    });
    this.waiting.unshift(...again);
    // Before anybody is told: whoever wakes up counts what is left.
    this.sending -= batch.length;
    if (done.length > 0) this.events.onDone(done);
    return trouble;
  }

  private refuse(end: End, error: DroverError, done: string[]): void {
    this.report.lost += 1;
    done.push(end.lease_id);
    // A deadline, a cancel or an operator may end a task at any time: nothing is wrong when its run comes late.
    if (!NOT_OURS.has(error.code)) this.events.onWarning(`the server refused the end of task ${end.task_id}: ${error.message}`);
  }
}

interface ItemAnswer {
  state?: string;
  replayed?: true;
  code?: string;
  detail?: string;
}

const TOO_LARGE = new Set(["result_too_large", "payload_too_large"]);
const MALFORMED = new Set(["invalid_result", "invalid_json", "invalid_argument"]);

/** What is sent instead of an end that the server will never take; undefined if there is nothing left to say. */
function failureInstead(end: End, error: DroverError): End | undefined {
  if (end.isSubstitute) return undefined;
  const substitute = (errorClass: ErrorClass): End => ({ ...end, end: "fail", members: failure(errorClass, error.detail), isSubstitute: true });
  // It would ask for the same children again.
  if (end.end === "suspend") return substitute("invalid");
  if (end.end === "complete" && TOO_LARGE.has(error.code)) return substitute("result_too_large");
  // A result that breaks its contract is the handler's mistake: the next run sees why among the earlier ones.
  const isMistake = MALFORMED.has(error.code) && (end.end === "complete" || end.end === "fail");
  return isMistake ? substitute("agent_error") : undefined;
}
