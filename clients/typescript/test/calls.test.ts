/** Retries, against a server that answers as it is told. */

import assert from "node:assert/strict";
import { once } from "node:events";
import * as http from "node:http";
import { after, describe, it } from "node:test";
import { Client, DroverError, Invalid, NotFound, QueueFull, RequestConflict, Unauthorised, Unavailable, WaitTimeout, WrongState } from "drover-client";
import { freePort } from "./support/server.js";

interface Request {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}
type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | "hang" | "reset" | "cut";

class Fake {
  readonly requests: Request[] = [];
  private readonly server = http.createServer((request, response) => void this.take(request, response));

  constructor(private readonly replies: (request: Request, index: number) => Reply) {}

  async listen(port = 0): Promise<this> {
    this.server.listen(port, "127.0.0.1");
    await once(this.server, "listening");
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  private async take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += String(part);
    const taken = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body };
    this.requests.push(taken);
    const reply = this.replies(taken, this.requests.length - 1);
    if (reply === "hang") return;
    if (reply === "reset") return void response.destroy();
    if (reply === "cut") {
      response.writeHead(200, { "content-length": "100" });
      response.write("{");
      setImmediate(() => response.destroy());
      return;
    }
    response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
    response.end(reply.body === undefined ? "" : typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body));
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const fakes: Fake[] = [];
async function fake(replies: (request: Request, index: number) => Reply): Promise<Fake> {
  const made = await new Fake(replies).listen();
  fakes.push(made);
  return made;
}
after(() => fakes.forEach((made) => made.close()));

const made: Reply = { status: 201, body: { id: "01a1eeb8-06f5-7f0a-b86f-b7ac045b3cb7", state: "pending", deduplicated: false } };
const problem = (status: number, code: string, headers = {}): Reply => ({ status, headers, body: { type: "about:blank", title: "T", status, code, detail: "because" } });

describe("an enqueue", () => {
  const troubles: Reply[] = ["reset", "cut", { status: 504, body: "<html>" }, problem(503, "store_unavailable"), problem(429, "queue_full")];
  for (const trouble of troubles) {
    it(`is repeated with the same key after ${JSON.stringify(trouble)}`, async () => {
      const server = await fake((_request, i) => (i < 2 ? trouble : made));
      const handle = await new Client({ url: server.url, token: "t" }).enqueue("x", { a: 1 });
      assert.equal(handle.id, "01a1eeb8-06f5-7f0a-b86f-b7ac045b3cb7");
      const keys = new Set(server.requests.map((request) => request.headers["idempotency-key"]));
      assert.equal(server.requests.length, 3);
      assert.equal(keys.size, 1);
      assert.match([...keys][0] as string, /^[0-9a-f-]{36}$/);
    });
  }

  it("is repeated after a timeout, and says that its own task is new", async () => {
    const server = await fake((_request, i) => (i === 0 ? "hang" : { status: 200, body: { id: "a", state: "pending", deduplicated: true } }));
    const client = new Client({ url: server.url, token: "t", timeoutMs: 200 });
    assert.equal((await client.enqueue("x")).deduplicated, false);
  });

  it("says that a task was there already, when the caller named the request or the key", async () => {
    const server = await fake((_request, i) => (i % 2 === 0 ? "reset" : { status: 200, body: { id: "a", state: "pending", deduplicated: true } }));
    const client = new Client({ url: server.url, token: "t" });
    assert.equal((await client.enqueue("x", 1, { request_id: "mine" })).deduplicated, true);
    assert.equal((await client.enqueue("x", 1, { dedupe_key: "same" })).deduplicated, true);
    assert.equal(server.requests[0]?.headers["idempotency-key"], undefined);
  });

  it("waits as long as Retry-After says", async () => {
    const server = await fake((_request, i) => (i === 0 ? problem(429, "queue_full", { "retry-after": "1" }) : made));
    const started = performance.now();
    await new Client({ url: server.url, token: "t" }).enqueue("x");
    assert.ok(performance.now() - started >= 990);
  });

  it("gives up after its retries, with what the server said", async () => {
    const server = await fake(() => problem(429, "queue_full"));
    await assert.rejects(new Client({ url: server.url, token: "t", retries: 1 }).enqueue("x"), (error) => error instanceof QueueFull && error.status === 429 && error.detail === "because");
    assert.equal(server.requests.length, 2);
  });

  it("is not repeated when it is refused for good", async () => {
    const refusals = [
      [400, "invalid_json", Invalid], [409, "request_conflict", RequestConflict], [401, "unauthorised", Unauthorised], [403, "forbidden", Unauthorised],
      [404, "not_found", NotFound], [422, "unknown_type", Invalid], [429, "limit_exceeded", Invalid], [507, "disk_full", Unavailable],
      [412, "version_mismatch", WrongState], [503, "schema_too_new", Unavailable], [500, "internal", DroverError], [500, "a_code_of_tomorrow", DroverError],
    ] as const;
    for (const [status, code, kind] of refusals) {
      const server = await fake(() => problem(status, code));
      await assert.rejects(new Client({ url: server.url, token: "t" }).enqueue("x"), (error) => error instanceof kind && error.code === code, code);
      assert.equal(server.requests.length, 1, code);
    }
  });

  it("ends when its signal does, with the signal's reason", async () => {
    const server = await fake(() => "hang");
    const reason = new Error("enough");
    const controller = new AbortController();
    const waiting = new Client({ url: server.url, token: "t" }).enqueue("x", 1, { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await assert.rejects(waiting, reason);
  });
});

describe("a call that may take effect twice", () => {
  it("is not repeated when nobody knows whether it did", async () => {
    const troubles: Reply[] = ["reset", problem(503, "store_unavailable"), { status: 502 }];
    for (const trouble of troubles) {
      const server = await fake(() => trouble);
      const client = new Client({ url: server.url, token: "t" });
      for (const call of [() => client.task("a").retry(), () => client.call("PATCH", "/v1/tasks/a", { priority: 1 })]) {
        await assert.rejects(call(), (error) => error instanceof Unavailable && error.outcomeUnknown);
      }
      assert.equal(server.requests.length, 2);
    }
  });

  it("is repeated when no server can have got it", async () => {
    const port = await freePort();
    const server = new Fake(() => ({ status: 200, body: { generation: 2 } }));
    fakes.push(server);
    const asking = new Client({ url: `http://127.0.0.1:${port}`, token: "t" }).task("a").retry();
    setImmediate(() => void server.listen(port));
    assert.equal((await asking).generation, 2);
    assert.equal(server.requests.length, 1);
  });

  it("is repeated if the caller says that it may", async () => {
    const server = await fake((_request, i) => (i === 0 ? "reset" : { status: 200, body: {} }));
    await new Client({ url: server.url, token: "t" }).call("POST", "/v1/gates/all", { action: "open" }, { repeatable: true });
    assert.equal(server.requests.length, 2);
  });
});

describe("a pooled connection that turns out to be dead", () => {
  it("costs a keyed call nothing, and is not used for one without a key", async () => {
    const server = await fake((_request, i) => (i % 2 === 0 ? made : "reset"));
    const client = new Client({ url: server.url, token: "t", retries: 0 });
    await client.enqueue("x");
    await client.enqueue("x");
    assert.equal(server.requests.length, 3);
    await assert.rejects(client.task("a").retry(), Unavailable);
    assert.equal(server.requests.length, 4);
  });
});

describe("several servers", () => {
  it("are tried in turn, and the one that answers is kept", async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const server = await fake(() => made);
    const client = new Client({ url: `${dead},${server.url}`, token: "t", retries: 1 });
    const started = performance.now();
    await client.enqueue("x");
    await client.enqueue("x");
    assert.ok(performance.now() - started < 1_000, "without a pause");
    assert.equal(server.requests.length, 2);
  });

  it("say that none can be reached, and that nothing happened", async () => {
    const client = new Client({ url: `http://127.0.0.1:${await freePort()},http://127.0.0.1:${await freePort()}`, token: "t", retries: 2 });
    await assert.rejects(client.enqueue("x"), (error) => error instanceof Unavailable && !error.outcomeUnknown && /2 servers/.test(error.message));
  });
});

describe("a wait", () => {
  it("is repeated until the task has ended, and asks for at most 25 s", async () => {
    const server = await fake((_request, i) => (i === 1 ? "reset" : { status: 200, body: { id: "a", state: i < 3 ? "running" : "completed", result: 7 } }));
    assert.equal(await new Client({ url: server.url, token: "t" }).task("a").result(), 7);
    assert.ok(server.requests.every(({ path }) => path === "/v1/tasks/a/wait?timeout=25000ms"));
  });

  it("ends in time, and says that the task goes on", async () => {
    const server = await fake(() => "hang");
    const started = performance.now();
    await assert.rejects(new Client({ url: server.url, token: "t" }).task("a").result({ timeoutMs: 100 }), WaitTimeout);
    assert.ok(performance.now() - started < 5_000);
  });

  it("asks for less once something has cut it off", async () => {
    const server = await fake((_request, i) => (i === 0 ? "hang" : { status: 200, body: { id: "a", state: "completed", result: null } }));
    const client = new Client({ url: server.url, token: "t" });
    setTimeout(() => server.close(), 2_500);
    const waiting = client.task("a").result({ timeoutMs: 6_000 });
    await assert.rejects(waiting, WaitTimeout);
    assert.ok(client.calls.pollMs < 3_000, String(client.calls.pollMs));
  });
});

describe("every request", () => {
  it("tells how far the store was seen, and never goes back", async () => {
    const marks = ["s:e:1:5", "s:e:1:3", "s:f:2:1", "s:e:1:9", "t:g:1:1"];
    const server = await fake((_request, i) => ({ status: 200, body: {}, headers: { "drover-seen": marks[i] ?? "x" } }));
    const client = new Client({ url: server.url, token: "t" });
    for (let i = 0; i < 6; i += 1) await client.call("GET", "/x");
    assert.deepEqual(server.requests.map(({ headers }) => headers["drover-seen"]), [undefined, "s:e:1:5", "s:e:1:5", "s:f:2:1", "s:e:1:9", "t:g:1:1"]);
  });

  it("has a token, and a length instead of chunks", async () => {
    const server = await fake(() => made);
    await new Client({ url: server.url, token: "drv_x" }).enqueue("x", "é");
    const { headers } = server.requests[0] as Request;
    assert.equal(headers.authorization, "Bearer drv_x");
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["content-length"], String(Buffer.byteLength('{"type":"x","payload":"é"}')));
    assert.equal(headers["transfer-encoding"], undefined);
  });

  it("may go through fetch", async () => {
    const server = await fake((_request, i) => (i === 0 ? problem(503, "store_unavailable") : made));
    let calls = 0;
    const client = new Client({ url: server.url, token: "t", fetch: (url, init) => ((calls += 1), fetch(url, init)) });
    await client.enqueue("x", 1);
    assert.equal(calls, 2);
    await assert.rejects(new Client({ url: "unix:/x", fetch }).enqueue("x"), Invalid);
  });
});
