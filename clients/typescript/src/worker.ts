/** The worker: claims tasks, runs their handlers, tells how they ended. */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { backoffMs, type Calls, pause } from "./calls.js";
import type { Client } from "./client.js";
import { DroverError, errorOfAnswer, Invalid, NotFound, Unauthorised, Unavailable } from "./errors.js";
import { Renewal } from "./renewal.js";
import type { AbortKind } from "./renewal_thread.js";
import { ClaimAnswer, type Context, messageOf, Run, RunAborted } from "./run.js";
import { type Report, Settler } from "./settler.js";
import { checkName, type TaskType } from "./task_type.js";
import { version } from "./version.js";
import type { Backlog, Beat, ClaimedTask, Serve } from "./wire.js";

const CLAIM_MAX = 1_000;
const LEASE_MIN_MS = 100;

export type Handler<P, R> = (payload: P, context: Context) => Promise<R> | R;

export interface WorkerOptions {
  /** By which the fleet knows it; made up unless set. No two workers may have the same. */
  id?: string;
  /** How many handlers run at once; 1 unless set. */
  concurrency?: number;
  /** How long a task stays this worker's without a renewal; 30,000 unless set. */
  leaseMs?: number;
  /** How often leases are renewed, and cancels are noticed; a sixth of the lease unless set. */
  heartbeatMs?: number;
  /** How long handlers may go on after stop(); 30,000 unless set. */
  drainMs?: number;
  /**
   * What happens when a handler goes on `graceMs` after its abort. `hold` waits for it: it keeps its slot and its lease, so no other run
   * of the task begins. `exit` kills the process.
   */
  onIgnoredAbort?: "hold" | "exit";
  /** 10,000 unless set. */
  graceMs?: number;
  /** Where warnings go; to stderr unless set. */
  log?: (message: string) => void;
}

export interface RunOptions {
  /** SIGTERM and SIGINT stop the worker, a second one at once. On unless set to false. */
  signals?: boolean;
  /** Ends when there is nothing left to do. */
  untilEmpty?: boolean;
}

interface Served {
  type: string;
  queue: string | undefined;
  handler: Handler<unknown, unknown>;
}

type Phase = "new" | "working" | "draining" | "stopping" | "ended";

export class Worker {
  readonly id: string;
  private readonly calls: Calls;
  private readonly options: Required<Omit<WorkerOptions, "id">>;
  private readonly served = new Map<string, Served>();
  private serves: Serve[] = [];
  private readonly runs = new Map<string, Run>();
  private readonly lost = new Set<string>();
  private readonly drainController = new AbortController();
  private readonly settler: Settler;
  private renewal: Renewal | undefined;
  private phase: Phase = "new";
  private failure: unknown;
  private finished: Promise<Report> | undefined;
  private wake: (() => void) | undefined;
  private drainTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: Client,
    options: WorkerOptions = {},
  ) {
    this.calls = client.calls;
    this.id = checkName(options.id ?? inventId(), "the id of a worker");
    const leaseMs = options.leaseMs ?? 30_000;
    this.options = {
      concurrency: options.concurrency ?? 1,
      leaseMs,
      heartbeatMs: options.heartbeatMs ?? leaseMs / 6,
      drainMs: options.drainMs ?? 30_000,
      onIgnoredAbort: options.onIgnoredAbort ?? "hold",
      graceMs: options.graceMs ?? 10_000,
      log: options.log ?? ((message) => console.error(`drover: ${message}`)),
    };
    this.checkOptions();
    this.settler = new Settler(this.calls, {
      onDone: (leaseIds) => this.letGo(leaseIds),
      onWarning: (text) => this.options.log(text),
      onRefused: (error) => this.fail(error),
      onBroken: (error) => this.fail(error),
      mayGiveUp: (leaseId) => this.failure !== undefined || (this.phase === "stopping" && this.lost.has(leaseId)),
    });
  }

  /** Unless a queue is set, here or in the type's defaults, the worker serves the queue of the type's name and the one of the policy. */
  handle<P, R>(type: TaskType<P, R> | string, handler: Handler<P, R>, options: { queue?: string } = {}): this {
    if (this.phase !== "new") throw wrong("add handlers before run()");
    const name = typeof type === "string" ? checkName(type, "the name of a task type") : type.name;
    if (this.served.has(name)) throw wrong(`there are two handlers of the type ${name}`);
    const queue = options.queue ?? (typeof type === "string" ? undefined : (type.defaults.queue ?? undefined));
    this.served.set(name, { type: name, queue, handler: handler as Handler<unknown, unknown> });
    return this;
  }

  /** Works until stop(), a signal, an operator's drain or, with `untilEmpty`, until nothing is left. Throws if it cannot go on. */
  run(options: RunOptions = {}): Promise<Report> {
    if (this.phase !== "new") throw wrong("a worker runs once; make another");
    if (this.served.size === 0) throw wrong("the worker has no handler; call handle() first");
    this.phase = "working";
    this.finished = this.live(options);
    return this.finished;
  }

  /**
   * Takes no more work and waits for the handlers: `drainMs` to finish, then they are aborted and their tasks given back. Called
   * again, it aborts them at once.
   */
  async stop(): Promise<void> {
    if (this.phase === "draining") this.abortAll();
    if (this.phase === "working") this.drain();
    await this.finished?.catch(() => undefined);
  }

  private checkOptions(): void {
    const { concurrency, leaseMs, heartbeatMs } = this.options;
    if (!Number.isInteger(concurrency) || concurrency < 1) throw wrong(`concurrency must be a positive integer, not ${concurrency}`);
    if (!(leaseMs >= LEASE_MIN_MS)) throw wrong(`leaseMs must be at least ${LEASE_MIN_MS}, not ${leaseMs}`);
    if (!(heartbeatMs > 0 && heartbeatMs * 2 <= leaseMs)) throw wrong(`a lease (${leaseMs} ms) must last for two heartbeats (${heartbeatMs} ms)`);
  }

  // --- the life of a worker ---------------------------------------------------------------------------------------------

  private async live(options: RunOptions): Promise<Report> {
    const forget = (): void => SIGNALS.forEach((signal) => process.off(signal, onSignal));
    const onSignal = (): void => {
      // The second one stops handlers, so a third finds nobody here and ends the process.
      if (this.phase !== "working") forget();
      void this.stop();
    };
    if (options.signals ?? true) for (const signal of SIGNALS) process.on(signal, onSignal);
    try {
      await this.begin();
      await this.work(options.untilEmpty ?? false).catch((error: unknown) => this.fail(error));
      await this.finish();
    } catch (error) {
      this.fail(error);
    } finally {
      clearTimeout(this.drainTimer);
      this.phase = "ended";
      await this.renewal?.stop();
      forget();
    }
    if (this.failure !== undefined) throw this.failure;
    return this.settler.report;
  }

  private async begin(): Promise<void> {
    this.serves = await this.queuesOf([...this.served.values()]);
    this.renewal = new Renewal(
      {
        addresses: this.calls.options.addresses,
        token: this.calls.options.token,
        workerId: this.id,
        registration: this.registration(),
        leaseMs: this.options.leaseMs,
        heartbeatMs: this.options.heartbeatMs,
        graceMs: this.options.graceMs,
        exitOnIgnoredAbort: this.options.onIgnoredAbort === "exit",
      },
      {
        onAbort: (leaseId, kind) => this.abort(leaseId, kind),
        onDrain: () => this.phase === "working" && this.drain(),
        onWarning: (text) => this.options.log(text),
        onRecovered: () => this.options.log("leases are renewed again"),
        onRefused: (status, text) => this.fail(errorOfAnswer(status, text, undefined)),
        onDeath: (error) => this.fail(error),
      },
    );
    // A thread takes a while to start.
    await Promise.all([this.register(), this.renewal.start()]);
  }

  /** The policy may say where a type waits; what was enqueued before it said so waits in the queue of its name. */
  private async queuesOf(served: Served[]): Promise<Serve[]> {
    const unknown = served.some(({ queue }) => queue === undefined);
    const config = unknown ? ((await this.calls.json("GET", "/v1/config", { repeat: "again" })) as PolicyAnswer) : undefined;
    return served.flatMap(({ type, queue }) => {
      if (queue !== undefined) return [{ type, queue }];
      const queues = new Set([type, config?.document?.types?.[type]?.queue ?? type]);
      return [...queues].map((one) => ({ type, queue: one }));
    });
  }

  private registration(): string {
    const draining = this.phase !== "working";
    return JSON.stringify({ id: this.id, version: `drover-client/${version}`, serves: this.serves, capacity: this.options.concurrency, draining });
  }

  private async register(): Promise<void> {
    await this.calls.call("POST", "/v1/workers", { repeat: "again", body: this.registration() });
  }

  private async work(untilEmpty: boolean): Promise<void> {
    while (this.phase === "working") {
      const n = this.room();
      if (n <= 0) {
        await this.somethingEnds();
        continue;
      }
      const answer = await this.claim(n, untilEmpty ? 0 : this.calls.pollMs);
      if (answer.tasks.length > 0) await this.start(answer);
      else if (untilEmpty && (await this.isEmpty())) return;
    }
  }

  /** A slot is free when its handler has returned; but ends that nobody takes must not pile up. */
  private room(): number {
    const { concurrency } = this.options;
    const active = this.runs.size;
    return Math.min(concurrency - active, 2 * concurrency - active - this.settler.unsettled, CLAIM_MAX);
  }

  private somethingEnds(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  private wakeUp(): void {
    this.wake?.();
    this.wake = undefined;
  }

  private async isEmpty(): Promise<boolean> {
    if (this.runs.size > 0 || this.settler.unsettled > 0) {
      await this.somethingEnds();
      return false;
    }
    const body = JSON.stringify({ serves: this.serves });
    const backlog = (await this.calls.json("POST", "/v1/backlog", { repeat: "again", body })) as Backlog;
    if (backlog.waiting + backlog.running === 0) return true;
    const answer = await this.claim(this.room(), Math.min(1_000, this.calls.pollMs));
    if (answer.tasks.length > 0) await this.start(answer);
    return false;
  }

  // --- claiming -----------------------------------------------------------------------------------------------------------

  /** Claims up to n tasks. The key makes repeats safe: they get what the first try took, if it took anything. */
  private async claim(n: number, waitMs: number): Promise<Claim> {
    const key = randomUUID();
    for (let failures = 0; ; ) {
      const sentAt = performance.now();
      try {
        const answer = await this.askForTasks(key, n, failures === 0 ? waitMs : Math.min(waitMs, this.calls.pollMs), this.drainController.signal);
        return { answer, tasks: answer.tasks, sentAt };
      } catch (error) {
        if (this.drainController.signal.aborted) {
          if (this.failure === undefined) await this.giveBackClaim(key);
          return { answer: new ClaimAnswer("", []), tasks: [], sentAt };
        }
        failures += 1;
        await this.recover(error, failures);
      }
    }
  }

  private async askForTasks(key: string, n: number, waitMs: number, signal?: AbortSignal): Promise<ClaimAnswer> {
    const body = JSON.stringify({
      serves: this.serves,
      n,
      lease_ms: this.options.leaseMs,
      capacity: this.options.concurrency,
      running_priorities: [...this.runs.values()].map((run) => run.task.priority),
      claim_key: key,
      wait_ms: waitMs,
    });
    const path = `/v1/workers/${this.id}/claim`;
    const { text } = await this.calls.call("POST", path, { repeat: "again", retries: 0, waitMs, body, signal });
    const bigints = this.calls.options.bigints === "error" ? "bigint" : this.calls.options.bigints;
    return new ClaimAnswer(text, (this.calls.parse(text, bigints) as { tasks: ClaimedTask[] }).tasks);
  }

  /** After a claim that failed: register if the server does not know us, wait if it may come back, otherwise give up. */
  private async recover(error: unknown, failures: number): Promise<void> {
    if (error instanceof NotFound) {
      await this.register();
      if (failures > 1) await this.waitABit(failures);
      return;
    }
    const mayPass = error instanceof Unavailable || (error instanceof DroverError && error.status === 429);
    if (!mayPass || error.code === "schema_too_new") throw error;
    if (failures === 2) this.options.log(`cannot claim, trying again: ${error.message}`);
    await this.waitABit(failures, error.retryAfterMs);
  }

  private waitABit(failures: number, atLeastMs?: number): Promise<void> {
    return pause(backoffMs(failures, atLeastMs), this.drainController.signal).catch(() => undefined);
  }

  /** A claim was broken off, but may have taken tasks: whatever the same key gives is given back unbegun. */
  private async giveBackClaim(key: string): Promise<void> {
    try {
      const answer = await this.askForTasks(key, 1, 0);
      answer.tasks.forEach((_task, i) => this.settler.add(this.makeRun(answer, i).endUnbegun()));
    } catch (error) {
      this.options.log(`could not ask whether the last claim took tasks; if it did, they run again when their leases end: ${messageOf(error)}`);
    }
  }

  // --- running ------------------------------------------------------------------------------------------------------------

  private makeRun(answer: ClaimAnswer, index: number): Run {
    return new Run(this.client, answer, index, this.drainController.signal, {
      onActivity: (leaseId) => this.renewal?.active(leaseId),
      onWaiting: (leaseId, isWaiting) => this.renewal?.waiting(leaseId, isWaiting),
    });
  }

  private async start({ answer, tasks, sentAt }: Claim): Promise<void> {
    const runs = tasks.map((_task, i) => this.makeRun(answer, i));
    const since = performance.now() - sentAt > this.options.leaseMs / 4 ? await this.confirm(runs) : sentAt;
    const alive = runs.filter((run) => !this.lost.delete(run.leaseId));
    if (alive.length === 0) return;
    const deadline = since + this.options.leaseMs;
    this.renewal?.hold(
      alive.map(({ task, leaseId }) => ({ task_id: task.id, lease_id: leaseId, deadline, timeoutMs: task.timeout_ms, idleMs: task.idle_timeout_ms })),
    );
    for (const run of alive) {
      if (this.phase !== "working") this.settler.add(run.endUnbegun());
      else void this.call(run);
    }
  }

  /**
   * A lease may be as old as the claim, and a claim may have waited for long, or its answer for a process that was stopped. So an old
   * one is renewed before its run begins. Gives back since when the leases count.
   */
  private async confirm(runs: Run[]): Promise<number> {
    const leases = runs.map(({ task, leaseId }) => ({ task_id: task.id, lease_id: leaseId }));
    const sentAt = performance.now();
    const body = JSON.stringify({ leases, lease_ms: this.options.leaseMs });
    const timeoutMs = Math.max(100, this.options.leaseMs / 3);
    try {
      const beat = (await this.calls.json("POST", `/v1/workers/${this.id}/heartbeat`, { repeat: "again", retries: 1, timeoutMs, body })) as Beat;
      beat.leases.forEach((state, i) => {
        const run = runs[i] as Run;
        if (state === "lost") this.lost.add(run.leaseId);
        if (state === "cancel_requested") run.abort("cancelled");
      });
      return sentAt;
    } catch (error) {
      this.options.log(`could not confirm new leases, giving them back: ${messageOf(error)}`);
      for (const run of runs) {
        this.lost.add(run.leaseId);
        this.settler.add(run.endUnbegun());
      }
      return sentAt;
    }
  }

  private async call(run: Run): Promise<void> {
    this.runs.set(run.leaseId, run);
    let end;
    try {
      const served = this.served.get(run.task.type);
      if (!served) throw wrong(`this worker has no handler of the type ${run.task.type}`);
      end = run.signal.aborted ? run.endUnbegun() : run.endWith(await served.handler(run.payload, run));
    } catch (error) {
      end = run.endWithError(error);
      if (end.end === "fail" && !run.signal.aborted && error instanceof Error && error.stack) void run.log(`${error.stack}\n`);
    }
    await run.logged();
    this.runs.delete(run.leaseId);
    this.settler.add(end);
    this.wakeUp();
  }

  private abort(leaseId: string, kind: AbortKind): void {
    if (kind === "lost") this.lost.add(leaseId);
    this.runs.get(leaseId)?.abort(kind);
  }

  private letGo(leaseIds: string[]): void {
    for (const id of leaseIds) this.lost.delete(id);
    this.renewal?.letGo(leaseIds);
    this.wakeUp();
  }

  // --- ending -------------------------------------------------------------------------------------------------------------

  private drain(): void {
    this.phase = "draining";
    this.drainController.abort(new RunAborted("shutdown"));
    this.renewal?.announce(this.registration());
    this.register().catch((error: unknown) => this.options.log(`could not say that this worker drains: ${messageOf(error)}`));
    this.drainTimer = setTimeout(() => this.abortAll(), this.options.drainMs);
    this.wakeUp();
  }

  private abortAll(): void {
    this.phase = "stopping";
    clearTimeout(this.drainTimer);
    this.renewal?.aborted([...this.runs.keys()]);
    for (const run of this.runs.values()) run.abort("shutdown");
  }

  /** Nothing can be done any more: handlers are told, and run() throws once they have returned. */
  private fail(error: unknown): void {
    if (this.failure !== undefined || this.phase === "ended") return;
    this.failure = error;
    this.renewal?.aborted([...this.runs.keys()]);
    for (const run of this.runs.values()) run.abort("lost");
    this.phase = "stopping";
    this.drainController.abort(error);
    this.wakeUp();
  }

  private async finish(): Promise<void> {
    while (this.runs.size > 0) await this.somethingEnds();
    await this.settler.whenIdle();
    if (this.failure instanceof Unauthorised) return;
    await this.calls.call("DELETE", `/v1/workers/${this.id}?reason=stopped`, { repeat: "again", retries: 2 }).catch((error: unknown) => {
      if (!(error instanceof NotFound)) this.options.log(`could not unregister: ${messageOf(error)}`);
    });
  }
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

interface Claim {
  answer: ClaimAnswer;
  tasks: readonly ClaimedTask[];
  sentAt: number;
}

interface PolicyAnswer {
  document?: { types?: Record<string, { queue?: string } | undefined> };
}

function inventId(): string {
  const host = hostname().replace(/[^A-Za-z0-9_.-]/g, "-").slice(0, 60) || "host";
  return `${host}-${process.pid}-${randomUUID().slice(0, 8)}`;
}

function wrong(detail: string): Invalid {
  return new Invalid({ code: "invalid_argument", detail });
}
