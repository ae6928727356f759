/**
 * A host of a mirrored queue is killed again and again: what flushed() had confirmed is there for the next one. DROVER_MIRROR_KILLS says how often.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { it } from "node:test";
import { setTimeout as after } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { QueueRuntime } from "drover-client/queue-runtime";
import { WorkerProcess } from "./support/child.js";
import type { MirrorOrders } from "./support/mirror_host.js";
import { onEveryStore } from "./support/suite.js";
import { eventually } from "./support/wait.js";

const kills = Number(process.env["DROVER_MIRROR_KILLS"] ?? 5);
const BOUND_MS = 60_000;
const CONVERSATION = "storm";

onEveryStore("the host of a mirror", (place) => {
  it(`loses nothing that was confirmed in ${kills} kills`, { timeout: 60_000 + kills * 10_000 }, async (context) => {
    const client = place.server.client();
    const token = place.server.token("producer", "--owner", "default");
    const confirmed = new Set<string>();
    const taken = new Set<string>();
    let repeated = 0;
    const program = fileURLToPath(new URL("./support/mirror_host.js", import.meta.url));

    /** What is missing now, or there twice. */
    const judge = (found: readonly string[], when: string): void => {
      const there = new Set(found);
      assert.equal(there.size, found.length, `${when}: something is there twice`);
      assert.deepEqual([...confirmed].filter((item) => !taken.has(item) && !there.has(item)), [], `${when}: something is lost`);
      repeated += found.filter((item) => taken.has(item)).length;
      for (const item of found) taken.delete(item); // its dequeue was not answered: it may be taken again
    };

    for (let kill = 0; kill < kills; kill += 1) {
      const orders: MirrorOrders = { url: place.server.url, token, conversation: CONVERSATION, prefix: `host${kill}` };
      const host = new WorkerProcess(spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ["ignore", "pipe", "inherit"] }));
      await eventually(() => host.lines.some((line) => line.startsWith("confirmed")), "the host works", BOUND_MS);
      await after(Math.random() * 60);
      await host.close();
      const said = (what: string): string[] => host.lines.filter((line) => line.split(" ", 1)[0] === what).flatMap((line) => line.split(" ").slice(1));
      judge(said("found"), `after ${kill} kills`);
      for (const item of said("confirmed")) confirmed.add(item);
      for (const item of said("took")) taken.add(item);
      await client.conversation(CONVERSATION).releaseConsumer(said("lease")[0] as string);
    }
    const queue = await QueueRuntime.open({ client, conversation: CONVERSATION, maxItems: 5_000 });
    judge(queue.items.map((item) => String((item as { content: unknown }).content)), "at the end");
    assert.ok(taken.size > 0, "something was taken");
    context.diagnostic(`${confirmed.size} items confirmed, ${repeated} handed out again`);
    await queue.close(BOUND_MS);
  });
});
