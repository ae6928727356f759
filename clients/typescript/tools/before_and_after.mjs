/** The program of docs/guide/from-bullmq.md before: what it prints has to be what the test of the examples expects of the one after. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = new URL("../bench/bullmq_before.mjs", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "drover-bullmq-"));
const listener = createServer().listen(0, "127.0.0.1");
await once(listener, "listening");
const { port } = listener.address();
listener.close();
await once(listener, "close");
const redis = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--maxmemory-policy", "noeviction"], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  for await (const line of createInterface({ input: redis.stdout })) if (line.includes("Ready to accept")) break;
  redis.stdout.resume();
  const said = execFileSync(process.execPath, [program], { env: { ...process.env, REDIS_PORT: String(port) }, encoding: "utf8", timeout: 120_000 });
  if (said !== "12\nfailed: no such city\n") throw new Error(`bullmq_before.mjs said ${JSON.stringify(said)}`);
  console.log("bullmq_before.mjs: ok");
} finally {
  redis.kill("SIGKILL");
  await once(redis, "exit");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
