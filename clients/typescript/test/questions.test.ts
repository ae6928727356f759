/** Handlers that ask, and people who answer, against real servers. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { type AskOptions, AwaitingAnswer, type Client, type Context, Invalid, type Question, TaskFailed, Unanswered, Worker, WrongState } from "drover-client";
import { Proxy } from "./support/proxy.js";
import { onEveryStore } from "./support/suite.js";
import { eventually, signalled } from "./support/wait.js";

const BOUND = { timeoutMs: 20_000 };

async function questionsOf(client: Client, task: string): Promise<Question[]> {
  const found: Question[] = [];
  for await (const question of client.questions({ task, limit: 1 })) found.push(question);
  return found;
}

function asked(client: Client, task: string): Promise<Question> {
  return eventually(async () => (await questionsOf(client, task)).find(({ state }) => state === "open"), "an open question");
}

onEveryStore("questions", (place) => {
  /** A worker that asks, and how to end it. */
  function working(client: Client, type: string, handler: (context: Context) => Promise<unknown>, drainMs = 30_000): () => Promise<void> {
    const worker = new Worker(client, { heartbeatMs: 100, drainMs }).handle(type, (_payload, context) => handler(context));
    const ended = worker.run({ signals: false });
    return async () => {
      await worker.stop();
      await ended;
    };
  }

  it("are answered while the handler waits", async () => {
    const client = place.server.client();
    const stop = working(client, "waits", (context) => context.ask("Deploy?", { options: ["yes", "no"] }));
    const handle = await client.enqueue("waits");
    const { id, text, options } = await asked(client, handle.id);
    assert.deepEqual([text, options], ["Deploy?", ["yes", "no"]]);
    await assert.rejects(client.question(id).answer("perhaps"), Invalid);
    assert.equal((await client.question(id).answer("yes")).state, "answered");
    assert.equal(await handle.result(BOUND), "yes");
    assert.equal((await handle.get()).run, 1);
    await stop();
  });

  it("give the slot back, and are answered at once in the next run", async () => {
    const client = place.server.client();
    const runs: unknown[] = [];
    const stop = working(client, "gives_way", async (context) => {
      try {
        const answer = await context.ask("How many?", { schema: { type: "integer" }, key: "count", waitMs: 0 });
        runs.push(answer);
        return answer;
      } catch (error) {
        runs.push(error);
        throw error;
      }
    });
    const handle = await client.enqueue("gives_way");
    const { id } = await asked(client, handle.id);
    await eventually(async () => (await handle.get()).state === "blocked", "suspended");
    assert.ok(runs[0] instanceof AwaitingAnswer && runs[0].question.id === id);
    // Its slot is free.
    const other = await client.enqueue("gives_way");
    await asked(client, other.id);
    await client.question(id).answer(3);
    assert.equal(await handle.result(BOUND), 3);
    const task = await handle.get();
    assert.deepEqual([task.suspends, task.attempts, (await questionsOf(client, handle.id)).length], [1, 1, 1]);
    await stop();
  });

  it("suspend a handler that returns although it has no answer, and fail one that throws something else", async () => {
    const client = place.server.client();
    const stop = working(client, "returns", async (context) => {
      const answer = await context.ask("Well?", { waitMs: 10 }).catch((error: unknown) => error);
      if (context.task.priority === 0 && answer instanceof AwaitingAnswer) throw new TypeError("something else");
      return answer;
    });
    const returns = await client.enqueue("returns");
    await client.question((await asked(client, returns.id)).id).answer({ a: [1.5, null] });
    assert.deepEqual(await returns.result(BOUND), { a: [1.5, null] });
    const throws = await client.enqueue("returns", undefined, { priority: 0, max_attempts: 1 });
    await assert.rejects(throws.result(BOUND), (error) => error instanceof TaskFailed && error.task.error?.class === "agent_error");
    await stop();
  });

  it("that nobody answers use their default, or fail the task as unanswered", async () => {
    const client = place.server.client();
    const options: AskOptions[] = [{ default: "no", expires: 50, key: "a" }, { expires: "50ms", key: "b" }];
    const stop = working(client, "expires", (context) => context.ask("Now?", options[context.task.priority] as AskOptions));
    const withDefault = await client.enqueue("expires", undefined, { priority: 0 });
    assert.equal(await withDefault.result(BOUND), "no");
    const without = await client.enqueue("expires", undefined, { priority: 1 });
    await assert.rejects(without.result(BOUND), (error) => error instanceof TaskFailed && error.task.error?.class === "unanswered");
    assert.equal((await without.get()).run, 1, "it is of no use to ask again");
    await stop();
  });

  it("may be withdrawn, which the handler hears", async () => {
    const client = place.server.client();
    const stop = working(client, "withdrawn", async (context) => {
      return context.ask("Still?").catch((error: unknown) => (error instanceof Unanswered ? error.question.why : String(error)));
    });
    const handle = await client.enqueue("withdrawn");
    const { id } = await asked(client, handle.id);
    await client.question(id).withdraw("not needed");
    assert.equal(await handle.result(BOUND), "not needed");
    assert.equal((await client.question(id).withdraw("again")).state, "withdrawn");
    await assert.rejects(client.question(id).answer(1), WrongState);
    await stop();
  });

  it("are waited for by what may run at most once; its time limits stand still", async () => {
    const client = place.server.client();
    const stop = working(client, "once", (context) => context.ask("Sure?", { waitMs: 1 }));
    const handle = await client.enqueue("once", undefined, { at_most_once: true, timeout_ms: 300, idle_timeout_ms: 300 });
    const { id } = await asked(client, handle.id);
    const before = await client.question(id).closed({ timeoutMs: 900 });
    assert.equal(before.state, "open");
    await client.question(id).answer(true);
    assert.equal(await handle.result(BOUND), true);
    await stop();
  });

  it("end with the wait of the caller, of a cancelled task, and of a worker that drains", async () => {
    const client = place.server.client();
    const began = signalled();
    const stop = working(client, "ends", async (context) => {
      began.resolve();
      if (context.task.priority !== 0) return context.ask("Long?");
      const mine = new AbortController();
      setTimeout(() => mine.abort(new Error("enough")), 50);
      return context.ask("Long?", { signal: mine.signal }).catch((error: unknown) => String(error));
    });
    const own = await client.enqueue("ends", undefined, { priority: 0 });
    assert.equal(await own.result(BOUND), "Error: enough", "the handler went on without an answer");
    const cancelled = await client.enqueue("ends");
    await asked(client, cancelled.id);
    await cancelled.cancel();
    assert.equal((await cancelled.ended(BOUND)).state, "cancelled");
    const drained = await client.enqueue("ends");
    await asked(client, drained.id);
    await stop();
    assert.deepEqual([(await drained.get()).state, (await drained.get()).suspends], ["blocked", 1]);
  });

  it("are asked and answered once though the answers to calls are lost", async () => {
    const lost = new Set<string>();
    const proxy = await Proxy.before(place.server.url, ({ path }) => {
      const verb = /\/(questions|answer)$/.exec(path)?.[1];
      if (!verb || lost.has(verb)) return "pass";
      lost.add(verb);
      return "lose";
    });
    const client = place.server.client({ url: proxy.url });
    const stop = working(client, "lossy", (context) => context.ask("Heard?"));
    const handle = await client.enqueue("lossy");
    await client.question((await asked(client, handle.id)).id).answer("yes");
    assert.equal(await handle.result(BOUND), "yes");
    assert.deepEqual([lost.size, (await questionsOf(client, handle.id)).length], [2, 1]);
    await stop();
    proxy.close();
  });
});
