/** Real servers for tests: each in a folder of its own, on SQLite or on a Redis that the test has started. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client, type ClientOptions } from "drover-client";

export type StoreKind = "sqlite" | "redis";

const drover = process.env["DROVER_BIN"] ?? "drover";
/** Which stores the tests run on; all unless DROVER_TEST_STORES names some. */
export const stores = (process.env["DROVER_TEST_STORES"] ?? "sqlite,redis").split(",") as StoreKind[];

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function lineOf(child: ChildProcess, stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
  const seen: string[] = [];
  for await (const line of createInterface({ input: child[stream] as NodeJS.ReadableStream })) {
    seen.push(line);
    const match = pattern.exec(line);
    if (match) {
      child[stream]?.resume();
      return match;
    }
  }
  throw new Error(`the program ended before it said ${String(pattern)}:\n${seen.join("\n")}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}

export class TestServer {
  private child: ChildProcess | undefined;
  private redis: ChildProcess | undefined;
  private port = 0;
  private isTls = false;
  private readonly clients: Client[] = [];

  private constructor(
    readonly folder: string,
    readonly store: string,
    redis?: ChildProcess,
  ) {
    this.redis = redis;
  }

  static async start(kind: StoreKind, how: "plain" | "tls" = "plain"): Promise<TestServer> {
    const folder = mkdtempSync(join(tmpdir(), "drover-ts-"));
    const server = kind === "sqlite" ? new TestServer(folder, `sqlite:${folder}/drover.db`) : await TestServer.onRedis(folder);
    server.port = await freePort();
    if (how === "tls") server.makeCertificate();
    await server.up();
    return server;
  }

  /** Another server in front of the same store. Closed by itself, before the first. */
  static async beside(first: TestServer): Promise<TestServer> {
    const server = new TestServer(mkdtempSync(join(tmpdir(), "drover-ts-")), first.store);
    server.port = await freePort();
    await server.up();
    return server;
  }

  private static async onRedis(folder: string): Promise<TestServer> {
    const port = await freePort();
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"];
    const redis = spawn("redis-server", [...options, "--appendfsync", "always", "--maxmemory-policy", "noeviction"], { stdio: ["ignore", "pipe", "inherit"] });
    await lineOf(redis, "stdout", /Ready to accept connections/);
    return new TestServer(folder, `redis://127.0.0.1:${port}`, redis);
  }

  get url(): string {
    return this.isTls ? `https://127.0.0.1:${this.port}?ca=${this.folder}/cert.pem` : `http://127.0.0.1:${this.port}`;
  }

  private makeCertificate(): void {
    const key = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
    const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    execFileSync("openssl", [...key, ...names, "-keyout", "key.pem", "-out", "cert.pem"], { cwd: this.folder, stdio: "ignore" });
    this.isTls = true;
  }

  get socketUrl(): string {
    return `unix:${this.folder}/sock`;
  }

  /** Starts the server, again at the same place if it was there before. */
  async up(): Promise<void> {
    const args = ["--store", this.store, "serve", "--listen", `127.0.0.1:${this.port}`, "--listen", this.socketUrl];
    if (this.isTls) args.push("--tls-cert", "cert.pem", "--tls-key", "key.pem");
    this.child = spawn(drover, args, { stdio: ["ignore", "ignore", "pipe"], cwd: this.folder, env: { PATH: process.env["PATH"], HOME: this.folder } });
    await lineOf(this.child, "stderr", /serving on/);
  }

  async down(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.child) await end(this.child, signal);
  }

  cli(...args: string[]): string {
    return execFileSync(drover, ["--store", this.store, ...args], { encoding: "utf8", cwd: this.folder, stdio: ["ignore", "pipe", "ignore"], env: { PATH: process.env["PATH"], HOME: this.folder } });
  }

  token(role: string, ...more: string[]): string {
    return this.cli("token", "create", "--role", role, ...more).trim();
  }

  /** A client; an admin's unless a token is given. */
  client(options: ClientOptions = {}): Client {
    const client = new Client({ url: this.url, token: options.token ?? this.token("admin"), ...options });
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.close();
    await this.down("SIGKILL");
    if (this.redis) await end(this.redis, "SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
