/**
 * Judges Drover's MCP servers by the official tools: the conformance suite over HTTP, in both eras, with tools that run through the queue; and
 * the Inspector, over standard input and output and over HTTP. Prints a line for each scenario, and what passed in all.
 *
 *   node check.mjs DROVER CLIENT_FOLDER      CLIENT_FOLDER: clients/typescript, built
 */

import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { fixtureTools, scenarios } from "./expected.mjs";

const run = promisify(execFile);
const [drover, clientFolder] = process.argv.slice(2);
const bin = new URL("./node_modules/.bin/", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "drover-mcp-"));
const store = `sqlite:${folder}/drover.db`;
const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder };
const children = [];

async function says(stream, pattern) {
  for await (const line of createInterface({ input: stream })) {
    const found = pattern.exec(line);
    if (!found) continue;
    stream.resume();
    return found;
  }
  throw new Error(`a program ended before it said ${pattern}`);
}

function start(command, args, more = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...env, ...more } });
  children.push(child);
  return child;
}

async function serve() {
  const tools = fixtureTools.flatMap((tool) => ["--mcp-tool", tool]);
  const server = start(drover, ["--store", store, "serve", "--listen", "127.0.0.1:0", "--mcp-allow", "cancel", ...tools]);
  const [, port] = await says(server.stderr, /serving on http:\/\/127\.0\.0\.1:(\d+)/);
  return `http://127.0.0.1:${port}`;
}

const token = (...role) => execFileSync(drover, ["--store", store, "token", "create", "--role", ...role], { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

/** The suite knows no tokens, so something between it and the server adds one. It changes nothing else: the server sees who asks for what. */
async function proxy(server, bearer) {
  const to = new URL(server);
  const between = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${bearer}` };
    const onward = request({ host: to.hostname, port: to.port, method: asked.method, path: asked.url, headers }, (came) => {
      answer.writeHead(came.statusCode, came.headers);
      came.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    asked.pipe(onward);
  });
  between.listen(0, "127.0.0.1");
  await once(between, "listening");
  return { url: `http://127.0.0.1:${between.address().port}/mcp`, close: () => between.close() };
}

/** The checks of a scenario as the suite wrote them down. */
async function judge(url, revision, scenario) {
  const out = join(folder, "results", revision, scenario);
  const version = revision === "extension" ? [] : ["--spec-version", revision];
  const args = ["server", "--url", url, "--scenario", scenario, ...version, "--output-dir", out];
  await run(join(bin, "node"), [join(bin, "conformance"), ...args], { env, timeout: 120_000, maxBuffer: 64 << 20 }).catch(() => undefined);
  const found = readdirSync(out, { recursive: true }).filter((name) => name.endsWith("checks.json"));
  if (found.length === 0) throw new Error(`${scenario}: the suite wrote no results`);
  return found.flatMap((name) => JSON.parse(readFileSync(join(out, name), "utf8")));
}

const problems = [];
const sums = { passed: 0, expected: 0 };

async function conformance(url) {
  for (const [revision, wanted] of Object.entries(scenarios)) {
    for (const [scenario, reasons] of Object.entries(wanted)) {
      const checks = await judge(url, revision, scenario);
      const passed = checks.filter(({ status }) => status === "SUCCESS");
      const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
      const surprises = failed.filter(({ id }) => !(id in reasons));
      const gone = Object.keys(reasons).filter((id) => !failed.some((check) => check.id === id));
      for (const { id, errorMessage } of surprises) problems.push(`${revision} ${scenario} ${id}: ${errorMessage}`);
      for (const id of gone) problems.push(`${revision} ${scenario} ${id}: does not fail any more; take it out of expected.mjs`);
      if (passed.length === 0 && failed.length === 0) problems.push(`${revision} ${scenario}: checked nothing`);
      sums.passed += passed.length;
      sums.expected += failed.length - surprises.length;
      const rest = failed.length === 0 ? "" : `, ${failed.length - surprises.length} expected to fail, ${surprises.length} FAILED`;
      console.log(`${revision.padEnd(10)} ${scenario.padEnd(42)} ${passed.length} passed${rest}`);
    }
  }
}

async function inspect(name, target, era) {
  const call = ["--method", "tools/call", "--tool-name", "enqueue_task", "--tool-arg", "type=greet", "payload={}", "wait_seconds=20"];
  for (const asked of [["--method", "tools/list", "--strict"], call]) {
    const args = [join(bin, "mcp-inspector"), "--cli", ...target, "--protocol-era", era, ...asked];
    const { stdout } = await run(join(bin, "node"), args, { env: { ...env, DROVER_TOKEN: "" }, timeout: 60_000, maxBuffer: 64 << 20 }).catch((error) => {
      problems.push(`inspector ${name} ${era} ${asked[1]}: exit ${error.code}: ${error.stderr ?? error.message}`);
      return { stdout: "" };
    });
    const good = asked[1] === "tools/list" ? stdout.includes("wait_tasks") : stdout.includes("completed");
    if (!good) problems.push(`inspector ${name} ${era} ${asked[1]}: unexpected answer: ${stdout.slice(0, 500)}`);
    console.log(`inspector  ${`${name} ${era} ${asked[1]}`.padEnd(42)} ${good ? "ok" : "FAILED"}`);
  }
}

let between;
try {
  const server = await serve();
  const producer = token("producer", "--owner", "conformance");
  const worker = start(join(bin, "node"), [new URL("./fixture_worker.mjs", import.meta.url).pathname, clientFolder], { DROVER_STORE: server, DROVER_TOKEN: token("worker") });
  await says(worker.stdout, /ready/);
  between = await proxy(server, producer);
  await conformance(between.url);
  for (const era of ["modern", "legacy"]) {
    await inspect("http", [`${server}/mcp`, "--header", `Authorization: Bearer ${producer}`], era);
    await inspect("stdio", [drover, "mcp", "--store", store], era);
  }
} finally {
  between?.close();
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`mcp: ${sums.passed} checks of the conformance suite passed, ${sums.expected} failed as expected`);
for (const problem of problems) console.error(`mcp: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
