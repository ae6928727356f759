/**
 * The thread that renews leases, so that a handler which blocks the event loop does not lose its task. It also keeps the time of
 * every run: fences, time limits, and the grace of handlers that ignore their abort.
 *
 * The function is started from its text (`new Worker(code, {eval: true})`), which works in bundles and on every runtime. So it uses
 * nothing of this module: no imports, no constants outside it.
 */

import type { Address } from "./address.js";

export type AbortKind = "cancelled" | "timeout" | "lost" | "shutdown";

export interface ThreadOptions {
  addresses: readonly Address[];
  token: string | undefined;
  workerId: string;
  /** The body of the registration, for a server that has forgotten the worker. */
  registration: string;
  leaseMs: number;
  heartbeatMs: number;
  graceMs: number;
  /** Whether the process is killed when a handler goes on after the grace. */
  exitOnIgnoredAbort: boolean;
}

export interface HeldLease {
  task_id: string;
  lease_id: string;
  /** By the clock of this thread. */
  deadline: number;
  /** 0: no limit. */
  timeoutMs: number;
  idleMs: number;
}

export interface ToThread {
  ping?: true;
  hold?: HeldLease[];
  letGo?: string[];
  active?: string[];
  /** The run waits for an answer, or goes on: its time limits stand still meanwhile. */
  waiting?: { lease_id: string; isWaiting: boolean };
  /** These were asked to stop by the main thread. */
  aborted?: string[];
  registration?: string;
  stop?: true;
}

export interface FromThread {
  pong?: number;
  aborts?: { lease_id: string; kind: AbortKind }[];
  drain?: true;
  warning?: string;
  /** The server refuses this worker's token. */
  refused?: { status: number; text: string };
  recovered?: true;
}

export async function renewalThread(): Promise<void> {
  interface Lease extends HeldLease {
    timeoutAt: number;
    idleAt: number;
    killAt: number;
    /** Since when it waits for an answer; undefined if it does not. */
    waitingSince: number | undefined;
    isLost: boolean;
    isAborted: boolean;
  }
  const { parentPort, workerData } = await import("node:worker_threads");
  const http = await import("node:http");
  const https = await import("node:https");
  const fs = await import("node:fs");
  const options = workerData as ThreadOptions;
  const port = parentPort as unknown as {
    postMessage(message: FromThread): void;
    on(event: "message", listener: (message: ToThread) => void): void;
  };
  const leases = new Map<string, Lease>();
  const agents = options.addresses.map((address) =>
    address.kind === "https"
      ? new https.Agent({ keepAlive: true, timeout: 30_000, ...(address.caFile ? { ca: fs.readFileSync(address.caFile) } : {}) })
      : new http.Agent({ keepAlive: true, timeout: 30_000 }),
  );
  const answerMs = Math.max(100, Math.min(10_000, options.leaseMs / 3));
  let registration = options.registration;
  let current = 0;
  let isBeating = false;
  let isStopped = false;
  let isFailing = false;
  let nextBeat = now() + options.heartbeatMs;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function now(): number {
    return performance.now();
  }

  function post(path: string, body: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const index = current % options.addresses.length;
      const address = options.addresses[index] as Address;
      const headers: Record<string, string> = { host: address.hostHeader, "content-type": "application/json" };
      headers["content-length"] = String(Buffer.byteLength(body));
      if (options.token) headers["authorization"] = `Bearer ${options.token}`;
      const where = address.kind === "unix" ? { socketPath: address.socketPath as string } : { host: address.host, port: address.port };
      const module = address.kind === "https" ? https : http;
      const request = module.request({ ...where, agent: agents[index], method: "POST", path, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => (text += part));
        response.on("end", () => finish(() => resolve({ status: response.statusCode ?? 0, text })));
        response.on("error", (error) => finish(() => reject(error)));
      });
      const limit = setTimeout(() => request.destroy(new Error(`no answer within ${answerMs} ms`)), answerMs);
      function finish(settle: () => void): void {
        clearTimeout(limit);
        settle();
      }
      request.on("error", (error) => {
        current += 1;
        finish(() => reject(error));
      });
      request.end(body);
    });
  }

  function abort(lease: Lease, kind: AbortKind, aborts: { lease_id: string; kind: AbortKind }[]): void {
    if (kind === "lost") lease.isLost = true;
    if (lease.isAborted && kind !== "lost") return;
    if (!lease.isAborted) lease.killAt = now() + options.graceMs;
    lease.isAborted = true;
    aborts.push({ lease_id: lease.lease_id, kind });
  }

  function tell(aborts: { lease_id: string; kind: AbortKind }[]): void {
    if (aborts.length > 0) port.postMessage({ aborts });
  }

  /** Ends what is out of time; says when to look again. */
  function look(): number {
    const time = now();
    const aborts: { lease_id: string; kind: AbortKind }[] = [];
    let next = isBeating ? Infinity : nextBeat;
    for (const lease of leases.values()) {
      const fence = lease.deadline - options.leaseMs / 3;
      if (!lease.isLost && time >= fence) abort(lease, "lost", aborts);
      const runsOut = !lease.isAborted && lease.waitingSince === undefined;
      if (runsOut && (time >= lease.timeoutAt || time >= lease.idleAt)) abort(lease, "timeout", aborts);
      if (lease.isAborted && options.exitOnIgnoredAbort) {
        if (time >= lease.killAt) kill(lease);
        next = Math.min(next, lease.killAt);
      }
      if (!lease.isLost) next = Math.min(next, fence);
      if (runsOut) next = Math.min(next, lease.timeoutAt, lease.idleAt);
    }
    tell(aborts);
    return next;
  }

  /** From a thread, process.exit would end only the thread; and an event loop that is blocked runs no exit handlers anyway. */
  function kill(lease: Lease): void {
    fs.writeSync(2, `drover: the handler of task ${lease.task_id} ignores its abort; ending the process\n`);
    process.kill(process.pid, "SIGKILL");
  }

  function schedule(): void {
    clearTimeout(timer);
    if (isStopped) return;
    const next = look();
    if (!isBeating && now() >= nextBeat) {
      void beat();
      return schedule();
    }
    if (next < Infinity) timer = setTimeout(schedule, Math.max(1, Math.min(next - now(), 60_000)));
  }

  async function beat(): Promise<void> {
    isBeating = true;
    const sentAt = now();
    const sent = [...leases.values()].filter((lease) => !lease.isLost || lease.deadline > sentAt);
    try {
      const body = JSON.stringify({ leases: sent.map(({ task_id, lease_id }) => ({ task_id, lease_id })), lease_ms: options.leaseMs });
      const path = `/v1/workers/${encodeURIComponent(options.workerId)}`;
      let answer = await post(`${path}/heartbeat`, body);
      if (answer.status === 404) {
        await post("/v1/workers", registration);
        answer = await post(`${path}/heartbeat`, body);
      }
      if (answer.status === 401 || answer.status === 403) port.postMessage({ refused: answer });
      if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${answer.text.slice(0, 300)}`);
      take(sent, JSON.parse(answer.text) as { leases: string[]; drain: boolean }, sentAt);
      nextBeat = sentAt + options.heartbeatMs;
      if (isFailing) port.postMessage({ recovered: true });
      isFailing = false;
    } catch (error) {
      if (!isFailing) port.postMessage({ warning: `leases could not be renewed: ${error instanceof Error ? error.message : String(error)}` });
      isFailing = true;
      nextBeat = now() + Math.min(options.heartbeatMs, 1_000) * (0.5 + Math.random() / 2);
    } finally {
      isBeating = false;
      schedule();
    }
  }

  function take(sent: Lease[], beat: { leases: string[]; drain: boolean }, sentAt: number): void {
    const aborts: { lease_id: string; kind: AbortKind }[] = [];
    sent.forEach((lease, i) => {
      if (beat.leases[i] === "lost") {
        if (leases.get(lease.lease_id) === lease) abort(lease, "lost", aborts);
        return;
      }
      lease.deadline = sentAt + options.leaseMs;
      if (beat.leases[i] === "cancel_requested") abort(lease, "cancelled", aborts);
    });
    tell(aborts);
    if (beat.drain) port.postMessage({ drain: true });
  }

  function hold(held: HeldLease): void {
    const time = now();
    leases.set(held.lease_id, {
      ...held,
      timeoutAt: held.timeoutMs > 0 ? time + held.timeoutMs : Infinity,
      idleAt: held.idleMs > 0 ? time + held.idleMs : Infinity,
      killAt: Infinity,
      waitingSince: undefined,
      isLost: false,
      isAborted: false,
    });
  }

  function wait(lease: Lease, isWaiting: boolean): void {
    const time = now();
    if (lease.waitingSince !== undefined) {
      lease.timeoutAt += time - lease.waitingSince;
      lease.idleAt += time - lease.waitingSince;
    }
    lease.waitingSince = isWaiting ? time : undefined;
  }

  port.on("message", (message) => {
    if (message.ping) return port.postMessage({ pong: now() });
    for (const held of message.hold ?? []) hold(held);
    for (const id of message.letGo ?? []) leases.delete(id);
    for (const id of message.active ?? []) {
      const lease = leases.get(id);
      if (lease && lease.idleMs > 0) lease.idleAt = now() + lease.idleMs;
    }
    const waits = message.waiting && leases.get(message.waiting.lease_id);
    if (waits) wait(waits, (message.waiting as { isWaiting: boolean }).isWaiting);
    for (const id of message.aborted ?? []) {
      const lease = leases.get(id);
      if (lease && !lease.isAborted) {
        lease.isAborted = true;
        lease.killAt = now() + options.graceMs;
      }
    }
    registration = message.registration ?? registration;
    if (message.stop) {
      isStopped = true;
      for (const agent of agents) agent.destroy();
    }
    schedule();
  });
  schedule();
}
