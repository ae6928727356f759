/** One run of a task: what its handler sees, and how it ends. */

import { randomUUID } from "node:crypto";
import { ANSWER_WAIT_MS, type AskOptions, AwaitingAnswer, specOf, Unanswered, untilClosed } from "./ask.js";
import type { Client } from "./client.js";
import { DroverError, Invalid, NotFound } from "./errors.js";
import { Handle, valueOf } from "./handle.js";
import { elementSpans, hasBigInt, memberSpans, writeJson } from "./json.js";
import type { AbortKind } from "./renewal_thread.js";
import { type End, failure } from "./settler.js";
import { checkName, type NewTask } from "./task_type.js";
import type { ClaimedTask, ErrorClass, Question, Run as EarlierRun, Task, TaskState, Usage } from "./wire.js";

/** Why a run was asked to stop: the reason of its `signal`. */
export class RunAborted extends Error {
  constructor(readonly kind: AbortKind) {
    super(WHY[kind]);
    this.name = "RunAborted";
  }
}

const WHY: Record<AbortKind, string> = {
  cancelled: "the task was cancelled",
  timeout: "the run has taken too long",
  lost: "the lease could not be renewed, so another run may begin",
  shutdown: "the worker stops",
};

/** Thrown by a handler to say what kind of failure it is: the class decides what follows. Anything else is `agent_error`. */
export class TaskError extends Error {
  constructor(
    readonly cls: ErrorClass,
    message: string,
    readonly options: { retryAfterMs?: number; note?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TaskError";
  }
}

/** What a parent has come to. */
export interface ParentResult {
  id: string;
  ref: string | null;
  type: string | null;
  /** Null if the task has been deleted since. */
  state: TaskState | null;
  result: unknown;
  error: { class: ErrorClass; message: string } | null;
}

export interface Context {
  readonly task: Task;
  /** The payload exactly as it was enqueued; undefined if there is none. */
  readonly payloadText: string | undefined;
  /** Newest first. */
  readonly earlierRuns: readonly EarlierRun[];
  /** What the last run left; undefined if it left nothing. */
  readonly checkpointValue: unknown;
  /** Aborted when the run is to stop; `signal.reason` is a RunAborted. The task is settled when the handler returns. */
  readonly signal: AbortSignal;
  /**
   * Aborted when the worker takes no more work. There is still time to finish. A handler that has saved a checkpoint may call
   * `draining.throwIfAborted()` instead: the task is given back, and its next run goes on.
   */
  readonly draining: AbortSignal;
  /** Results of the tasks that this one depends on. */
  parents(): Promise<ParentResult[]>;
  progress(percent: number, message?: string): Promise<void>;
  log(text: string): Promise<void>;
  checkpoint(value: unknown): Promise<void>;
  usage(usage: Usage): Promise<void>;
  /** Enqueues children. With a key, a rerun of this task gets the same children back. */
  spawn(tasks: readonly NewTask[], key?: string): Promise<Handle[]>;
  /**
   * When the handler returns, the task waits for its children (all of them unless some are named) and then runs again. Meanwhile it holds no
   * slot, so tasks that wait for their children cannot block each other.
   */
  waitChildren(children?: readonly Handle[]): void;
  /**
   * Asks a person, or the task that spawned this one, and gives the answer. If there is none within `waitMs`, or the worker drains, it throws
   * AwaitingAnswer: let that through, and the task waits without a slot and runs again; the same question is then answered at once. A task
   * that may run at most once waits here for as long as it takes. Time limits stand still meanwhile.
   */
  ask<A = unknown>(text: string, options?: AskOptions): Promise<A>;
}

/** What a run tells the renewal thread. */
export interface RunEvents {
  onActivity(leaseId: string): void;
  /** Whether it waits for somebody, so that its time limits stand still. */
  onWaiting(leaseId: string, isWaiting: boolean): void;
}

/** What a claim answered. The text of payloads is looked for only when somebody asks. */
export class ClaimAnswer {
  private payloads: (string | undefined)[] | undefined;

  constructor(
    private readonly text: string,
    readonly tasks: readonly ClaimedTask[],
  ) {}

  payloadText(index: number): string | undefined {
    this.payloads ??= this.readPayloads();
    const text = this.payloads[index];
    return text === "null" && valueOf((this.tasks[index] as ClaimedTask).task, "payload") === undefined ? undefined : text;
  }

  private readPayloads(): (string | undefined)[] {
    const tasks = memberSpans(this.text).get("tasks");
    if (!tasks) return [];
    return elementSpans(this.text, tasks[0]).map(([start]) => {
      const task = memberSpans(this.text, start).get("task");
      const payload = task && memberSpans(this.text, task[0]).get("payload");
      return payload && this.text.slice(payload[0], payload[1]);
    });
  }
}

export class Run implements Context {
  readonly task: Task;
  readonly leaseId: string;
  readonly earlierRuns: readonly EarlierRun[];
  private readonly controller = new AbortController();
  private children: readonly Handle[] | "all" | undefined;
  /** What it gave up waiting for. */
  private readonly awaited = new Set<string>();
  private waits = 0;
  private readonly lines: { text: string; done: (error?: unknown) => void }[] = [];
  private logging: Promise<void> | undefined;

  constructor(
    private readonly client: Client,
    private readonly answer: ClaimAnswer,
    private readonly index: number,
    readonly draining: AbortSignal,
    private readonly events: RunEvents,
  ) {
    const claimed = answer.tasks[index] as ClaimedTask;
    this.task = claimed.task;
    this.leaseId = claimed.lease_id;
    this.earlierRuns = claimed.earlier_runs;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get payloadText(): string | undefined {
    return this.answer.payloadText(this.index);
  }

  get payload(): unknown {
    return this.exact("payload");
  }

  get checkpointValue(): unknown {
    return this.exact("checkpoint");
  }

  /** Claims are read with BigInt where it is needed, so that one task with a large integer does not harm the others. */
  private exact(member: "payload" | "checkpoint"): unknown {
    const value = valueOf(this.task, member);
    if (this.client.calls.options.bigints !== "error" || !hasBigInt(value, new Set())) return value;
    throw new Invalid({
      code: "unsafe_integer",
      detail: `the ${member} has an integer that a JavaScript number would round; make the client with {bigints: "bigint"} or {bigints: "number"}`,
    });
  }

  abort(kind: AbortKind): void {
    if (!this.signal.aborted) this.controller.abort(new RunAborted(kind));
  }

  private post(verb: string, members: Record<string, unknown>, repeat: "again" | "once" = "again"): Promise<void> {
    this.events.onActivity(this.leaseId);
    const send = async (): Promise<void> => {
      const body = writeJson({ lease_id: this.leaseId, ...members }, this.client.calls.options.bigints, `what ${verb} was given`);
      await this.client.calls.call("POST", `/v1/tasks/${this.task.id}/${verb}`, { repeat, body });
    };
    return harmless(send());
  }

  progress(percent: number, message?: string): Promise<void> {
    const whole = Math.max(0, Math.min(100, Math.round(percent)));
    return this.post("progress", message === undefined ? { percent: whole } : { percent: whole, message });
  }

  checkpoint(value: unknown): Promise<void> {
    return this.post("checkpoint", { value });
  }

  usage(usage: Usage): Promise<void> {
    return this.post("usage", { usage });
  }

  /** Lines that are logged while one call is on its way go together. A line may be lost, never doubled. */
  log(text: string): Promise<void> {
    const kept = new Promise<void>((resolve, reject) => {
      this.lines.push({ text, done: (error) => (error === undefined ? resolve() : reject(error as Error)) });
    });
    this.logging ??= this.sendLines();
    return harmless(kept);
  }

  private async sendLines(): Promise<void> {
    await Promise.resolve();
    while (this.lines.length > 0) {
      const lines = this.lines.splice(0, 1_000);
      const error = await this.post("log", { chunks: lines.map(({ text }) => ({ text })) }, "once").then(
        () => undefined,
        (reason: unknown) => reason,
      );
      for (const line of lines) line.done(error);
    }
    // In the same turn as the last look, or a line that is logged now would wait for nobody.
    this.logging = undefined;
  }

  /** When what was logged has been sent, or has failed. */
  async logged(): Promise<void> {
    await this.logging;
  }

  async spawn(tasks: readonly NewTask[], key?: string): Promise<Handle[]> {
    this.events.onActivity(this.leaseId);
    if (tasks.length === 0) return [];
    // An operator's retry is a new generation, and has children of its own.
    const requestId = key === undefined ? randomUUID() : `${this.task.id}.${this.task.generation}.${checkName(key, "the key of a spawn")}`;
    const headers = { "drover-lease": this.leaseId };
    return this.client.make(`/v1/tasks/${this.task.id}/children`, tasks, checkName(requestId, "the key of a spawn"), headers);
  }

  async parents(): Promise<ParentResult[]> {
    this.events.onActivity(this.leaseId);
    return Promise.all(this.task.depends_on.map((id) => this.parent(id)));
  }

  private async parent(id: string): Promise<ParentResult> {
    try {
      const path = `/v1/tasks/${this.task.id}/parents/${encodeURIComponent(id)}`;
      const task = (await this.client.calls.json("GET", path, { repeat: "again" })) as Task;
      const error = task.error && { class: task.error.class, message: task.error.message };
      return { id, ref: task.ref, type: task.type, state: task.state, result: valueOf(task, "result"), error };
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      // Either the parent has been deleted, or this run is no longer ours: then this throws.
      await this.client.task(this.task.id).get();
      return { id, ref: null, type: null, state: null, result: undefined, error: null };
    }
  }

  waitChildren(children?: readonly Handle[]): void {
    if (this.task.at_most_once) {
      throw new Invalid({ code: "invalid_argument", detail: "this task may run at most once, so it cannot wait for its children and run again" });
    }
    this.children = children ?? "all";
  }

  async ask<A = unknown>(text: string, options: AskOptions = {}): Promise<A> {
    const mustStay = this.task.at_most_once;
    const asked = await this.open(text, options);
    const signal = AbortSignal.any([this.signal, ...(mustStay ? [] : [this.draining]), ...(options.signal ? [options.signal] : [])]);
    const { calls } = this.client;
    const handle = this.client.question(asked.id);
    if (this.waits++ === 0) this.events.onWaiting(this.leaseId, true);
    let question;
    try {
      const waitMs = mustStay ? Infinity : (options.waitMs ?? ANSWER_WAIT_MS);
      question = await untilClosed(asked, { waitMs, pollMs: calls.pollMs, signal, look: (ms) => handle.look(ms, signal) });
    } finally {
      if (--this.waits === 0) this.events.onWaiting(this.leaseId, false);
    }
    return this.hear(question, options.signal) as A;
  }

  private async open(text: string, options: AskOptions): Promise<Question> {
    this.signal.throwIfAborted();
    options.signal?.throwIfAborted();
    this.events.onActivity(this.leaseId);
    const question = { ...specOf(text, options), schema: options.schema, default: options.default };
    const body = writeJson({ lease_id: this.leaseId, question }, this.client.calls.options.bigints, "the question");
    return (await this.client.calls.json("POST", `/v1/tasks/${this.task.id}/questions`, { repeat: "again", body })) as Question;
  }

  private hear(question: Question, signal: AbortSignal | undefined): unknown {
    this.awaited.delete(question.id);
    if (question.state === "answered") return question.answer;
    if (question.state !== "open") throw new Unanswered(question);
    this.signal.throwIfAborted();
    signal?.throwIfAborted();
    this.awaited.add(question.id);
    throw new AwaitingAnswer(question);
  }

  private end(end: End["end"], members = ""): End {
    return { task_id: this.task.id, lease_id: this.leaseId, end, members };
  }

  /** The end of a run whose handler has returned. A result that was reached is kept, except after a cancel. */
  endWith(result: unknown): End {
    if (this.abortKind() === "cancelled") return this.end("cancelled");
    if (this.children !== undefined) {
      const children = this.children === "all" ? "all" : this.children.map((child) => child.id);
      return this.end("suspend", `,"children":${JSON.stringify(children)}`);
    }
    if (this.awaited.size > 0) return this.end("suspend", NO_CHILDREN);
    try {
      const text = writeJson(result, this.client.calls.options.bigints, "the result");
      return this.end("complete", text === undefined ? "" : `,"result":${text}`);
    } catch (error) {
      return this.end("fail", failure("agent_error", messageOf(error)));
    }
  }

  /** The end of a run whose handler has thrown. */
  endWithError(error: unknown): End {
    // `draining.throwIfAborted()` says: the next run may go on from here.
    const gaveUp = this.draining.aborted && error === this.draining.reason ? "shutdown" : undefined;
    switch (this.abortKind() ?? gaveUp) {
      case "cancelled":
        return this.end("cancelled");
      case "timeout":
        return this.end("fail", failure("timeout", messageOf(error)));
      case "lost":
      case "shutdown":
        if (!this.task.at_most_once) return this.end("release");
        return this.end("fail", failure("lost", "it was stopped, and it may run at most once"));
      case undefined:
        if (error instanceof AwaitingAnswer && this.awaited.has(error.question.id)) return this.end("suspend", NO_CHILDREN);
        return this.end("fail", failureOf(error));
    }
  }

  /** The end of a run that never began. */
  endUnbegun(): End {
    return this.abortKind() === "cancelled" ? this.end("cancelled") : this.end("release", ',"begun":false');
  }

  private abortKind(): AbortKind | undefined {
    return this.signal.aborted ? (this.signal.reason as RunAborted).kind : undefined;
  }
}

/** It waits for an answer alone. */
const NO_CHILDREN = ',"children":[]';

function failureOf(error: unknown): string {
  if (error instanceof Unanswered) return failure("unanswered", error.detail);
  if (error instanceof TaskError) {
    const { retryAfterMs, note } = error.options;
    return failure(error.cls, error.message, {
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: Math.max(0, Math.round(retryAfterMs)) }),
      ...(note === undefined ? {} : { note }),
    });
  }
  if (error instanceof DroverError && error.code === "unsafe_integer") return failure("invalid_payload", error.message);
  return failure("agent_error", messageOf(error));
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name && error.name !== "Error" ? `${error.name}: ${error.message}` : error.message;
}

/** Whoever does not wait for it is not killed by an unhandled rejection; whoever does gets the error. */
function harmless<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
