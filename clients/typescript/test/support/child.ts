/** The worker process of a test, and what it says. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { eventually } from "./wait.js";
import type { Orders } from "./worker_process.js";

export class WorkerProcess {
  readonly lines: string[] = [];
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  constructor(
    readonly child: ChildProcess,
  ) {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => this.lines.push(line));
    this.exited = once(child, "exit").then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
  }

  static start(orders: Orders): WorkerProcess {
    const program = fileURLToPath(new URL("./worker_process.js", import.meta.url));
    return new WorkerProcess(spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ["ignore", "pipe", "ignore"] }));
  }

  says(what: string): Promise<string> {
    return eventually(() => this.lines.find((line) => line.startsWith(what)), `the worker says "${what}"; it said ${JSON.stringify(this.lines)}`);
  }

  kill(signal: NodeJS.Signals): void {
    // Not child.kill(): after that, Deno says of a child that ended by itself that the signal ended it.
    if (this.child.exitCode === null && this.child.signalCode === null) process.kill(this.child.pid as number, signal);
  }

  async close(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }
}
