/**
 * How fast a worker with 100 handlers drains 10,000 tasks that do nothing, on Redis with appendfsync always: drover-client through
 * `drover serve`, and BullMQ, in turn. Prints the rates of all runs and their medians.
 *
 *   npm ci --prefix bench && npm run build && DROVER_BIN=… node bench/drain.mjs [RUNS]
 */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Queue, Worker as BullWorker } from "bullmq";
import { Client, Worker } from "../dist/index.js";

const TASKS = 10_000;
const HANDLERS = 100;
const runs = Number(process.argv[2] ?? 5);
const drover = process.env.DROVER_BIN ?? "drover";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function says(stream, pattern) {
  for await (const line of createInterface({ input: stream })) {
    if (!pattern.test(line)) continue;
    stream.resume();
    return;
  }
  throw new Error(`ended before it said ${pattern}`);
}

async function stopped(child) {
  child.kill("SIGTERM");
  await once(child, "exit");
}

async function withRedis(measure) {
  const folder = mkdtempSync(join(tmpdir(), "drover-bench-"));
  const port = await freePort();
  const options = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const redis = spawn("redis-server", [...options, "--maxmemory-policy", "noeviction"].map(String), { stdio: ["ignore", "pipe", "inherit"] });
  await says(redis.stdout, /Ready to accept/);
  try {
    return await measure(port, folder);
  } finally {
    await stopped(redis);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const rate = (ms) => Math.round((TASKS / ms) * 1000);

async function measureDrover(redisPort, folder) {
  const store = `redis://127.0.0.1:${redisPort}`;
  const port = await freePort();
  const env = { PATH: process.env.PATH, HOME: folder };
  const server = spawn(drover, ["--store", store, "serve", "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "ignore", "pipe"], env });
  await says(server.stderr, /serving on/);
  const token = execFileSync(drover, ["--store", store, "token", "create", "--role", "admin"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], env });
  const client = new Client({ url: `http://127.0.0.1:${port}`, token: token.trim() });
  await client.enqueueMany(Array.from({ length: TASKS }, (_, i) => ({ type: "noop", payload: { i } })));
  let done = 0;
  const worker = new Worker(client, { concurrency: HANDLERS }).handle("noop", () => void (done += 1));
  const started = performance.now();
  const report = await worker.run({ signals: false, untilEmpty: true });
  const ms = performance.now() - started;
  if (report.completed !== TASKS || done !== TASKS) throw new Error(`drover: ${JSON.stringify(report)}`);
  client.close();
  await stopped(server);
  return rate(ms);
}

async function measureBullMq(port) {
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue("noop", { connection });
  await queue.addBulk(Array.from({ length: TASKS }, (_, i) => ({ name: "noop", data: { i } })));
  let done = 0;
  const worker = new BullWorker("noop", async () => {}, { connection, concurrency: HANDLERS, autorun: false });
  const finished = new Promise((resolve) => worker.on("completed", () => ++done === TASKS && resolve()));
  await worker.waitUntilReady();
  const started = performance.now();
  void worker.run();
  await finished;
  const ms = performance.now() - started;
  await worker.close();
  await queue.close();
  return rate(ms);
}

const rates = { drover: [], bullmq: [] };
for (let i = 0; i < runs; i += 1) {
  rates.drover.push(await withRedis(measureDrover));
  rates.bullmq.push(await withRedis(measureBullMq));
}
for (const [name, all] of Object.entries(rates)) {
  const median = [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
  console.log(`${name.padEnd(8)} median ${median}/s   runs ${all.join(" ")}`);
}
