/** Live events: complete, in order, resumed. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { Client, DroverEvent, EventOptions, Gap } from "drover-client";
import { Proxy } from "./support/proxy.js";
import { onEveryStore } from "./support/suite.js";
import { eventually } from "./support/wait.js";

/** Collects events in the background. */
class Watcher {
  readonly events: (DroverEvent | Gap)[] = [];
  private readonly controller = new AbortController();
  readonly done: Promise<unknown>;

  constructor(client: Client, options: EventOptions) {
    this.done = this.run(client, options).catch((error: unknown) => error);
  }

  private async run(client: Client, options: EventOptions): Promise<void> {
    for await (const event of client.events({ ...options, signal: this.controller.signal })) this.events.push(event);
  }

  names(task?: string): string[] {
    return this.events.flatMap((event) => (event.kind === "gap" ? ["gap"] : task === undefined || event.task_id === task ? [event.name] : []));
  }

  async stop(): Promise<unknown> {
    this.controller.abort(new Error("stopped"));
    return this.done;
  }
}

onEveryStore("events", (place) => {
  it("come live, by task and by queue", async () => {
    const client = place.server.client();
    const first = await client.enqueue("watched", 1);
    const all = new Watcher(client, { after: 0 });
    const one = new Watcher(client, { after: 0, task: first.id });
    const other = new Watcher(client, { after: 0, queue: "elsewhere" });
    const second = await client.enqueue("watched", 2, { queue: "elsewhere" });
    await first.cancel();
    await eventually(() => all.names(first.id).includes("task.cancelled") && one.names().includes("task.cancelled"), "the cancel is seen");
    await eventually(() => other.names().length > 0, "the other queue is seen");
    assert.ok(one.events.every((event) => event.kind !== "gap" && event.task_id === first.id));
    assert.deepEqual(new Set(other.events.map((event) => (event.kind === "gap" ? "" : event.task_id))), new Set([second.id]));
    for (const watcher of [all, one, other]) assert.match(String(await watcher.stop()), /stopped/);
  });

  it("start from now on unless a number is given", async () => {
    const client = place.server.client();
    await client.enqueue("early");
    const { seq } = await client.call<{ seq: number }>("GET", "/v1/events/last");
    const events = client.events();
    const next = events.next();
    let first: DroverEvent | Gap | undefined;
    void next.then(({ value }) => (first = value as DroverEvent));
    await eventually(async () => {
      await client.enqueue("late");
      return first;
    }, "an event comes");
    assert.ok(first?.kind !== "gap" && (first as DroverEvent).seq > seq);
    await events.return();
  });

  it("go on through a server that is replaced, without loss or repeat", async () => {
    const client = place.server.client();
    const watcher = new Watcher(client, { type: "resumed" });
    const ids: string[] = [];
    const enqueue = async (): Promise<void> => void ids.push((await client.enqueue("resumed")).id);
    await eventually(async () => {
      await enqueue();
      return watcher.events.length > 0;
    }, "the watcher has begun");
    await place.server.down("SIGKILL");
    await place.server.up();
    for (let i = 0; i < 20; i += 1) await enqueue();
    const last = ids.at(-1) as string;
    await eventually(() => watcher.names(last).length > 0, "the last event is seen");
    const seen = watcher.events.map((event) => (event.kind === "gap" ? 0 : event.seq));
    assert.deepEqual(seen, [...new Set(seen)].sort((a, b) => a - b));
    const from = ids.findIndex((id) => watcher.names(id).length > 0);
    assert.ok(ids.slice(from).every((id) => watcher.names(id).length === 1));
    await watcher.stop();
  });

  it("tell of a gap", async () => {
    const client = place.server.client();
    const { seq } = await client.call<{ seq: number }>("GET", "/v1/events/last");
    const watcher = new Watcher(client, { after: seq + 1_000_000 });
    await eventually(() => watcher.names().includes("gap"), "the gap is told");
    const gap = watcher.events[0] as Gap;
    assert.equal(gap.after, seq + 1_000_000);
    assert.ok(gap.seq >= seq);
    await watcher.stop();
  });

  it("come page by page when something holds the stream back (nasty case 6)", async () => {
    const proxy = await Proxy.before(place.server.url, ({ path }) => (path.startsWith("/v1/events?after") && path.includes("snapshot") ? "hold" : "pass"));
    try {
      const client = place.server.client({ url: proxy.url });
      const { seq } = await client.call<{ seq: number }>("GET", "/v1/events/last");
      const watcher = new Watcher(client, { after: seq, queue: "held", silenceMs: 300 });
      const [one, other] = await client.enqueueMany([{ type: "held" }, { type: "unheld" }]);
      await eventually(() => watcher.names(one.id).length > 0, "the event comes");
      const later = await client.enqueue("held");
      await eventually(() => watcher.names(later.id).length > 0, "the next one, too");
      assert.equal(watcher.names(other.id).length, 0);
      await watcher.stop();
    } finally {
      proxy.close();
    }
  });
});
