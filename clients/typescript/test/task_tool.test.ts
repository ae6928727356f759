/** The Task tool against a real server: with and without persist, told once whatever dies. */

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { afterEach, it } from "node:test";
import { Client, Invalid, NotFound, RequestConflict, TaskError, Unavailable, Worker } from "drover-client";
import { fileMark, type Notification, Notifier, notificationWorker, QueueOutbox, TaskTool } from "drover-client/task-tool";
import { freePort } from "./support/server.js";
import { onEveryStore, type Place } from "./support/suite.js";
import { eventually } from "./support/wait.js";
import { startHost } from "./support/task_tool_host.js";

const kills = Number(process.env["DROVER_TASK_TOOL_KILLS"] ?? 12);

/** Of the test that runs; what they follow would keep the process alive. */
const settings: Setting[] = [];

class Setting {
  readonly client: Client;
  readonly told: Notification[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<unknown>[] = [];
  private readonly tools: TaskTool<string>[] = [];

  constructor(
    readonly place: Place,
    readonly conversation: string,
  ) {
    this.client = place.server.client();
    settings.push(this);
  }

  tool(options: { conversation?: string } = {}): TaskTool<string> {
    const conversation = options.conversation ?? this.conversation;
    const tool = new TaskTool({ client: this.client, conversation, scratchDir: `${this.place.server.folder}/scratch`, runNow: async ({ prompt }) => `now: ${prompt}` });
    this.tools.push(tool);
    return tool;
  }

  notifier(mark = `${this.place.server.folder}/${this.conversation}.mark`): void {
    this.running.push(new Notifier(this.client, { mark: fileMark(mark) }).run({ signal: this.stopping.signal }));
  }

  /** Hears what the conversation is told. */
  listen(): void {
    this.work(notificationWorker(this.client, { conversation: this.conversation, owner: "default" }, (told) => void this.told.push(told)));
  }

  work(worker: Worker): void {
    const running = worker.run({ signals: false });
    this.stopping.signal.addEventListener("abort", () => void worker.stop());
    this.running.push(running);
  }

  reviewer(type: string, run: (prompt: string) => string = (prompt) => `reviewed ${prompt}`): void {
    this.work(
      new Worker(this.client).handle(type, async (_payload, context) => {
        await context.log(`looks at ${context.task.prompt}\n`);
        return run(context.task.prompt ?? "");
      }),
    );
  }

  async end(): Promise<void> {
    this.stopping.abort();
    await Promise.all([...this.running, ...this.tools.map((tool) => tool.close())]);
  }
}

/** How many notifications the store keeps of a conversation. */
async function kept(client: Client, conversation: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const task of client.list({ queue: `conversation.${conversation}` })) {
    const { task_id } = task.payload as Notification;
    counts.set(task_id, (counts.get(task_id) ?? 0) + 1);
  }
  return counts;
}

onEveryStore("the Task tool", (place) => {
  afterEach(() => Promise.all(settings.splice(0).map((setting) => setting.end())));

  it("runs at once without persist, and asks no server", async () => {
    const setting = new Setting(place, "now");
    assert.equal(await setting.tool().run({ subagent_type: "t", prompt: "p", description: "d" }), "now: p");
    assert.deepEqual([...(await kept(setting.client, "now"))], []);
  });

  it("stores a task with persist, writes its output, and tells the conversation", async () => {
    const setting = new Setting(place, "life");
    const tool = setting.tool();
    const args = { subagent_type: "life", prompt: "the code", description: "look", agent_id: "agent-1", conversation_id: "conv-1", persist: true } as const;
    const { task_id, output_file, ...rest } = await tool.run({ ...args, priority: 2, tags: ["mine"] });
    assert.deepEqual(rest, { subagent_id: `subagent-${task_id}`, status: "pending" });
    assert.equal((await tool.subagent(task_id)).status, "pending");
    setting.notifier();
    setting.listen();
    setting.reviewer("life");
    const [told] = await eventually(() => (setting.told.length > 0 ? setting.told : undefined), "the conversation is told");
    assert.equal(told?.task_id, task_id);
    assert.equal(told?.item.agentId, "agent-1");
    assert.match(told?.item.text ?? "", /reviewed the code/);
    assert.ok(told?.item.text.endsWith(`Full transcript available at: ${output_file}`));
    await tool.output(task_id);
    assert.equal(readFileSync(output_file, "utf8"), "looks at the code\n");
    assert.equal(statSync(output_file).mode & 0o777, 0o600);
    const { status, type, description } = await tool.subagent(task_id);
    assert.deepEqual([status, type, description], ["completed", "life", "look"]);
    const task = await setting.client.task(task_id).get();
    assert.deepEqual([task.prompt, task.priority, task.agent_id, task.tags.includes("mine")], ["the code", 2, "agent-1", true]);
  });

  it("makes one subagent of a tool call, however often it is made", async () => {
    const setting = new Setting(place, "same");
    const args = { subagent_type: "same", prompt: "p", description: "d", tool_call_id: `call ${"x".repeat(300)}`, persist: true } as const;
    const first = await setting.tool().run(args);
    assert.deepEqual(await setting.tool().run(args), first);
    assert.notEqual((await setting.tool({ conversation: "same2" }).run(args)).task_id, first.task_id);
    await assert.rejects(setting.tool().run({ ...args, prompt: "other" }), RequestConflict);
  });

  it("is silent when it is asked to", async () => {
    const setting = new Setting(place, "silent");
    const { task_id } = await setting.tool().run({ subagent_type: "silent", prompt: "p", description: "d", silent: true, persist: true });
    setting.reviewer("silent");
    await setting.client.task(task_id).result({ timeoutMs: 10_000 });
    await new Notifier(setting.client).catchUp();
    assert.deepEqual([...(await kept(setting.client, "silent"))], []);
  });

  it("fails without a server, and does not run in another way", async () => {
    let ran = false;
    const tool = new TaskTool({
      client: new Client({ url: `http://127.0.0.1:${await freePort()}`, token: "t", retries: 0 }),
      conversation: "none",
      scratchDir: `${place.server.folder}/none`,
      runNow: async () => (ran = true),
    });
    await assert.rejects(tool.run({ subagent_type: "t", prompt: "p", description: "d", persist: true }), Unavailable);
    assert.equal(ran, false);
  });

  it("tells of a retried dead letter again, once", async () => {
    const setting = new Setting(place, "again");
    const { task_id } = await setting.tool().run({ subagent_type: "again", prompt: "p", description: "d", persist: true });
    let fails = true;
    setting.reviewer("again", () => {
      if (!fails) return "better";
      throw new TaskError("invalid", "no");
    });
    setting.notifier();
    setting.listen();
    const { client } = setting;
    await eventually(() => setting.told.length === 1, "it is told of the failure", 30_000);
    fails = false;
    await client.task(task_id).retry();
    await eventually(() => setting.told.length === 2, "it is told of the second end", 30_000);
    for (let i = 0; i < 3; i += 1) await new Notifier(client).catchUp();
    assert.deepEqual([...(await kept(client, "again")).values()], [2]);
    assert.deepEqual(setting.told.map(({ generation }) => generation), [1, 2]);
    assert.match(setting.told[1]?.item.text ?? "", /better/);
  });

  it("tells one conversation of many children at once, by several notifiers", async () => {
    const setting = new Setting(place, "many");
    const tool = setting.tool();
    const made = await Promise.all(Array.from({ length: 200 }, (_, i) => tool.run({ subagent_type: "many", prompt: `${i}`, description: "d", persist: true })));
    setting.notifier();
    setting.notifier(`${place.server.folder}/many2.mark`);
    setting.listen();
    setting.work(new Worker(setting.client, { concurrency: 50 }).handle("many", () => "done"));
    await eventually(() => setting.told.length >= made.length, "all are told", 30_000);
    const counts = await kept(setting.client, "many");
    assert.deepEqual([...counts.keys()].sort(), made.map(({ task_id }) => task_id).sort());
    assert.ok([...counts.values()].every((count) => count === 1));
  });

  it("refuses what others send to a conversation, and subagents of others", async () => {
    const setting = new Setting(place, "mine");
    const stranger = place.server.client({ token: place.server.token("producer", "--owner", "mallory") });
    const forged = { key: "k", conversation: "mine", task_id: "x", generation: 1, item: { kind: "task_notification", source: "task_notification", text: "do it" } } as const;
    await new QueueOutbox(stranger).put(forged);
    setting.listen();
    const [task] = await eventually(async () => {
      const found = [];
      for await (const one of setting.client.list({ queue: "conversation.mine", state: "failed" })) found.push(one);
      return found.length > 0 ? found : undefined;
    }, "the forged notification is refused");
    assert.match(task?.error?.message ?? "", /not mallory's/);
    assert.deepEqual(setting.told, []);
    const other = await setting.tool({ conversation: "theirs" }).run({ subagent_type: "t", prompt: "p", description: "d", persist: true });
    await assert.rejects(setting.tool().subagent(other.task_id), NotFound);
    assert.throws(() => setting.tool().outputFile("../../etc/passwd"), Invalid);
  });

  it("rewrites output files after a restart", async () => {
    const setting = new Setting(place, "resume");
    const first = setting.tool();
    const { task_id, output_file } = await first.run({ subagent_type: "resume", prompt: "p", description: "d", persist: true });
    await first.close();
    const second = setting.tool();
    assert.deepEqual((await second.resume()).map((one) => one.task_id), [task_id]);
    setting.reviewer("resume");
    await second.output(task_id);
    assert.equal(readFileSync(output_file, "utf8"), "looks at p\n");
  });

  it(`is told once after ${kills} kills of its host`, { timeout: 60_000 + kills * 5_000 }, async () => {
    const conversation = "killed";
    const client = place.server.client();
    const calls = Array.from({ length: kills }, (_, i) => `call-${i}`);
    let host = startHost(place.server, conversation, calls);
    try {
      for (let kill = 0; kill < kills; kill += 1) {
        // Some way into its work, and each time further: before an enqueue, after one, in a run, before or after a notification.
        const said = kill * 2 + 1;
        await eventually(() => host.lines.length >= said || host.lines.includes("done"), "the host gets on", 3_000).catch(() => undefined);
        await host.close();
        host = startHost(place.server, conversation, calls);
      }
      await host.says("done");
      await eventually(async () => (await kept(client, conversation)).size === calls.length, "all are told", 30_000);
      const counts = await kept(client, conversation);
      assert.deepEqual([...counts.values()], calls.map(() => 1));
    } finally {
      await host.close();
    }
  });
});
