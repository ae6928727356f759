/** The main thread's side of the renewal thread. */

import { Worker as Thread } from "node:worker_threads";
import { renewalCode } from "./renewal_code.js";
import type { AbortKind, FromThread, HeldLease, ThreadOptions, ToThread } from "./renewal_thread.js";

export interface RenewalEvents {
  onAbort(leaseId: string, kind: AbortKind): void;
  onDrain(): void;
  onWarning(text: string): void;
  onRecovered(): void;
  /** The server refuses the token. */
  onRefused(status: number, text: string): void;
  /** The thread is gone: nothing renews any more. */
  onDeath(error: unknown): void;
}

/** As many tries to learn the other clock; the best counts. */
const PINGS = 5;
// A rejected promise alone would not end the thread everywhere.
const CODE = `${renewalCode}.catch((error) => setTimeout(() => { throw error; }));`;

export class Renewal {
  private readonly thread: Thread;
  private clockOffset = -Infinity;
  private pong: ((time: number) => void) | undefined;
  private isStopped = false;

  constructor(
    options: ThreadOptions,
    private readonly events: RenewalEvents,
  ) {
    this.thread = new Thread(CODE, { eval: true, workerData: options });
    this.thread.on("message", (message: FromThread) => this.take(message));
    this.thread.on("error", (error) => this.end(error));
    this.thread.on("exit", () => this.end(new Error("the renewal thread has ended")));
  }

  /**
   * Learns what the other thread's clock says. Each answer was given before it arrived, so the difference is never too large: a
   * deadline may come too early in the other thread, never too late.
   */
  async start(): Promise<void> {
    for (let i = 0; i < PINGS; i += 1) {
      const time = await new Promise<number>((resolve, reject) => {
        this.pong = resolve;
        this.thread.once("error", reject);
        this.send({ ping: true });
      });
      this.clockOffset = Math.max(this.clockOffset, time - performance.now());
    }
  }

  /** Deadlines by the clock of this thread. */
  hold(leases: readonly HeldLease[]): void {
    this.send({ hold: leases.map((lease) => ({ ...lease, deadline: lease.deadline + this.clockOffset })) });
  }

  letGo(leaseIds: string[]): void {
    this.send({ letGo: leaseIds });
  }

  /** The run has said something, so it is not idle. */
  active(leaseId: string): void {
    this.send({ active: [leaseId] });
  }

  /** While a run waits for an answer, its time limits stand still. */
  waiting(leaseId: string, isWaiting: boolean): void {
    this.send({ waiting: { lease_id: leaseId, isWaiting } });
  }

  aborted(leaseIds: string[]): void {
    this.send({ aborted: leaseIds });
  }

  announce(registration: string): void {
    this.send({ registration });
  }

  async stop(): Promise<void> {
    if (this.isStopped) return;
    this.isStopped = true;
    this.thread.postMessage({ stop: true } satisfies ToThread);
    await this.thread.terminate();
  }

  private send(message: ToThread): void {
    if (!this.isStopped) this.thread.postMessage(message);
  }

  private end(error: unknown): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.events.onDeath(error);
  }

  private take(message: FromThread): void {
    if (message.pong !== undefined) this.pong?.(message.pong);
    for (const { lease_id, kind } of message.aborts ?? []) this.events.onAbort(lease_id, kind);
    if (message.drain) this.events.onDrain();
    if (message.warning !== undefined) this.events.onWarning(message.warning);
    if (message.recovered) this.events.onRecovered();
    if (message.refused) this.events.onRefused(message.refused.status, message.refused.text);
  }
}
