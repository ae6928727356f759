/** A host of the Task tool in a process of its own, for tests that kill it: it makes the calls, runs the subagents, and is the notifier. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { setTimeout as after } from "node:timers/promises";
import { Client, Worker } from "drover-client";
import { fileMark, Notifier, TaskTool } from "drover-client/task-tool";
import { WorkerProcess } from "./child.js";
import type { TestServer } from "./server.js";

interface HostOrders {
  url: string;
  token: string;
  conversation: string;
  calls: string[];
  folder: string;
}

export function startHost(server: TestServer, conversation: string, calls: string[]): WorkerProcess {
  const orders: HostOrders = { url: server.url, token: server.token("admin"), conversation, calls, folder: server.folder };
  const program = fileURLToPath(import.meta.url);
  return new WorkerProcess(spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ["ignore", "pipe", "ignore"] }));
}

async function host(orders: HostOrders): Promise<void> {
  const say = (what: string): void => void process.stdout.write(`${what}\n`);
  const client = new Client({ url: orders.url, token: orders.token });
  const signal = new AbortController().signal;
  void new Notifier(client, { mark: fileMark(`${orders.folder}/${orders.conversation}.mark`) }).run({ signal });
  const worker = new Worker(client, { concurrency: 2, leaseMs: 2_000, heartbeatMs: 300 }).handle("killed", async () => {
    say("runs");
    return after(30, "done");
  });
  void worker.run({ signals: false });
  const tool = new TaskTool({ client, conversation: orders.conversation, scratchDir: `${orders.folder}/scratch`, runNow: async () => undefined });
  for (const call of orders.calls) {
    const { task_id } = await tool.run({ subagent_type: "killed", prompt: call, description: call, tool_call_id: call, persist: true });
    say(`stored ${call}`);
    await client.task(task_id).ended();
    say(`ended ${call}`);
  }
  say("done");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await host(JSON.parse(process.argv[2] as string) as HostOrders);
