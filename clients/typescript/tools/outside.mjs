/**
 * Packs the package, installs it in an empty folder, and runs a program there by each runtime, with the settings that the README tells to make.
 *
 *   DROVER_BIN=… node tools/outside.mjs [RUNTIME..]      RUNTIME: a command such as node, bun or "deno run -A"
 */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const drover = process.env.DROVER_BIN ?? "drover";
const runtimes = process.argv.length > 2 ? process.argv.slice(2) : [process.execPath];
const folder = mkdtempSync(join(tmpdir(), "drover-outside-"));
const env = { ...process.env, HOME: folder, DROVER_STORE: `sqlite:${folder}/drover.db` };
const npm = (...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, npm_config_loglevel: "error" } });

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function serve(port) {
  const server = spawn(drover, ["serve", "--listen", `127.0.0.1:${port}`, "--listen", `unix:${folder}/sock`], { env, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: server.stderr })) if (line.includes("serving on")) break;
  server.stderr.resume();
  return server;
}

/** What the README's commands leave in the environment; the server is there already. */
function readmeSettings(port) {
  const block = readFileSync(join(root, "README.md"), "utf8").split("```sh\n").find((text) => text.startsWith("drover serve &\n"));
  const commands = block.split("```")[0].replace("drover serve &\n", "").replaceAll("7711", String(port));
  symlinkSync(drover, join(folder, "drover"));
  const printed = `set -e\n${commands}\nprintf '%s %s' "$DROVER_STORE" "$DROVER_TOKEN"`;
  const said = execFileSync("bash", ["-c", printed], { env: { ...env, PATH: `${folder}:${env.PATH}` }, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const [store, token] = said.split(" ");
  return { DROVER_STORE: store, DROVER_TOKEN: token };
}

let server;
try {
  npm("pack", "--pack-destination", folder, root);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}\n');
  npm("install", "--no-audit", "--no-fund", "--offline", `./${tarball}`);
  copyFileSync(join(root, "tools", "outside_program.mjs"), join(folder, "program.mjs"));
  const port = await freePort();
  server = await serve(port);
  const where = { ...process.env, DROVER_SOCKET: `unix:${folder}/sock`, ...readmeSettings(port) };
  for (const runtime of runtimes) {
    const [command, ...args] = runtime.split(" ");
    const said = execFileSync(command, [...args, join(folder, "program.mjs")], { cwd: folder, env: where, encoding: "utf8", timeout: 120_000 });
    if (said.trim() !== "ok") throw new Error(`${runtime}: ${said}`);
    console.log(`${runtime}: ok`);
  }
} finally {
  server?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
