/** A task by its id: look at it, wait for it, cancel it. */

import { type CallOptions, type Calls, pause } from "./calls.js";
import { DroverError, TaskCancelled, TaskFailed, Unavailable, WaitTimeout, WrongState } from "./errors.js";
import { memberText } from "./json.js";
import type { CancelOutcome, LogPage, RetryOrder, Run, Task, TaskState } from "./wire.js";

/** Without a time limit, a wait gives up when no server has answered for so long. */
const SILENCE_MAX_MS = 120_000;
/** How much later than the caller's time limit an answer may come. */
const LATE_MS = 1_000;
const LOG_PAGE = 1_000;

export type LogRecord = LogPage["records"][number];

export interface WaitOptions {
  /** Without it, as long as it takes. */
  timeoutMs?: number;
  /** Ends the wait, never the task. */
  signal?: AbortSignal;
}

/** Members of a task whose exact text can be had. */
export type JsonMember = "payload" | "result" | "checkpoint" | "fallback_result";

export function hasEnded(state: TaskState): boolean {
  return state === "completed" || state === "failed" || state === "cancelled";
}

/** The value of a member that may be null: undefined if the task has none. */
export function valueOf(task: Task, member: JsonMember): unknown {
  const value = task[member];
  return value === null && !task.null_values?.includes(member) ? undefined : value;
}

export class Handle<R = unknown> {
  constructor(
    private readonly calls: Calls,
    readonly id: string,
    /** Whether the task was there before it was enqueued. */
    readonly deduplicated = false,
  ) {}

  private path(rest = ""): string {
    return `/v1/tasks/${encodeURIComponent(this.id)}${rest}`;
  }

  private read(rest: string, options: Partial<CallOptions> = {}): Promise<unknown> {
    return this.calls.json("GET", this.path(rest), { repeat: "again", ...options });
  }

  async get(): Promise<Task> {
    return (await this.read("")) as Task;
  }

  /** The exact text of a member as it is stored, numbers and all; undefined if there is none. */
  async text(member: JsonMember): Promise<string | undefined> {
    const { text } = await this.calls.call("GET", this.path(), { repeat: "again" });
    const found = memberText(text, member);
    if (found !== "null") return found;
    return valueOf(this.calls.parse(text, "number") as Task, member) === null ? found : undefined;
  }

  async runs(): Promise<Run[]> {
    return ((await this.read("/runs")) as { runs: Run[] }).runs;
  }

  /** The task once it has ended, whatever became of it. */
  async ended(options: WaitOptions = {}): Promise<Task> {
    const { signal } = options;
    const started = performance.now();
    let heardAt = started;
    for (;;) {
      const left = options.timeoutMs === undefined ? Infinity : options.timeoutMs - (performance.now() - started);
      try {
        const waitMs = Math.max(0, Math.min(this.calls.pollMs, Math.ceil(left)));
        const timeoutMs = Math.min(waitMs + 10_000, Math.max(0, left) + LATE_MS);
        const task = (await this.read(`/wait?timeout=${waitMs}ms`, { waitMs, timeoutMs, signal, retries: 0 })) as Task;
        heardAt = performance.now();
        if (hasEnded(task.state)) return task;
        if (left <= waitMs) throw new WaitTimeout(this.id, options.timeoutMs as number);
      } catch (error) {
        await this.goOn(error, { left, silentMs: performance.now() - heardAt, ...options });
      }
    }
  }

  /** Whether a wait goes on after an error: while the server may come back, and there is time. */
  private async goOn(
    error: unknown,
    { left, silentMs, signal, timeoutMs }: { left: number; silentMs: number; signal?: AbortSignal | undefined; timeoutMs?: number | undefined },
  ): Promise<void> {
    const mayPass = error instanceof Unavailable || (error instanceof DroverError && error.status === 429);
    if (!mayPass || error.code === "schema_too_new") throw error;
    if (timeoutMs === undefined && silentMs > SILENCE_MAX_MS) throw error;
    if (left <= 0) throw new WaitTimeout(this.id, timeoutMs as number);
    const step = Math.max(error.retryAfterMs ?? 0, Math.min(2_000, 100 + silentMs / 4));
    await pause(Math.min(step, Math.max(1, left)), signal);
  }

  /**
   * Waits for the result. Throws TaskFailed or TaskCancelled if there is none, NotFound if the task was deleted, WaitTimeout when
   * the time is over. Breaking off leaves the task alone.
   */
  async result(options: WaitOptions = {}): Promise<R> {
    const task = await this.ended(options);
    if (task.state === "failed") throw new TaskFailed(task);
    if (task.state === "cancelled") throw new TaskCancelled(task);
    return valueOf(task, "result") as R;
  }

  /** Cancels the task, and what depends on it. A running one ends when its handler has. */
  async cancel(reason?: string): Promise<CancelOutcome> {
    const body = JSON.stringify(reason === undefined ? {} : { reason });
    try {
      return (await this.calls.json("POST", this.path("/cancel"), { repeat: "again", body })) as CancelOutcome;
    } catch (error) {
      // The answer to the first try may have been lost: cancelled is cancelled.
      if (!(error instanceof WrongState)) throw error;
      const { state } = await this.get();
      if (state !== "cancelled") throw error;
      return { state, cancelled: 0, requested: 0 };
    }
  }

  /** Opens the next generation of a failed or cancelled task. Never repeated: after an unknown outcome, look at `generation`. */
  async retry(order: RetryOrder = {}): Promise<Task> {
    return (await this.calls.json("POST", this.path("/retry"), { repeat: "once", body: JSON.stringify(order) })) as Task;
  }

  /** What the runs have printed so far, oldest first. */
  async *log(options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<LogRecord, void, undefined> {
    for (let after = options.after ?? 0; ; ) {
      const { records } = (await this.read(`/log?after=${after}&limit=${LOG_PAGE}`, { signal: options.signal })) as LogPage;
      yield* records;
      const last = records.at(-1);
      if (!last) return;
      after = last.seq;
    }
  }
}
