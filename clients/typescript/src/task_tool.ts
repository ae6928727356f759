/**
 * The Task tool of an agent: it hands work to a subagent. Without `persist` the host runs the subagent itself. With it the subagent is a task in the
 * queue: it survives the host, and the host's conversation is told of its end, exactly once.
 */

import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { backoffMs, pause } from "./calls.js";
import type { Client } from "./client.js";
import { DroverError, Invalid, NotFound, Unavailable, WaitTimeout } from "./errors.js";
import { hasEnded } from "./handle.js";
import { descriptionOf, NOTIFY_TAG, type Notify, outputFileOf, statusOf, subagentId, type SubagentStatus } from "./notification.js";
import { checkName } from "./task_type.js";
import type { Task } from "./wire.js";

export * from "./notification.js";
export * from "./notifier.js";

/** How often a running task's log is looked at. */
const LOOK_EVERY_MS = 2_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface TaskToolArguments {
  /** The type of the task, so what workers know it by. */
  subagent_type: string;
  prompt: string;
  description: string;
  model?: string;
  /** The same call has the same id: however often it is made, there is one subagent. */
  tool_call_id?: string;
  agent_id?: string;
  conversation_id?: string;
  max_turns?: number;
  /** Nobody is told of the end. */
  silent?: boolean;
  persist?: boolean;
  priority?: number;
  tags?: readonly string[];
}

/** What the agent gets at once from a call with `persist`. */
export interface PersistedTask {
  task_id: string;
  subagent_id: string;
  output_file: string;
  status: "pending";
}

export interface Subagent {
  id: string;
  task_id: string;
  type: string;
  description: string;
  status: SubagentStatus;
  /** Of a subagent that has not ended, how far it says it is. */
  progress?: { percent: number; message: string };
  error?: string;
  output_file: string;
}

export interface TaskToolOptions<R> {
  client: Client;
  /** Which conversation is told of the ends of its subagents; a name. */
  conversation: string;
  /** Where the output files are. Made if it is missing, for this user only. */
  scratchDir: string;
  /** Runs a subagent in this process, without a queue. */
  runNow: (args: TaskToolArguments, signal?: AbortSignal) => Promise<R>;
  /** Instead of the usual summary in notifications. */
  summary?: (args: TaskToolArguments) => string | undefined;
  /** What went wrong beside the calls: an output file that cannot be written. */
  log?: (text: string) => void;
}

export class TaskTool<R = unknown> {
  private readonly closing = new AbortController();
  private readonly following = new Map<string, Promise<void>>();
  private readonly log: (text: string) => void;

  constructor(private readonly options: TaskToolOptions<R>) {
    checkName(options.conversation, "the name of a conversation");
    mkdirSync(options.scratchDir, { recursive: true, mode: 0o700 });
    this.log = options.log ?? ((text) => process.stderr.write(`drover task tool: ${text}\n`));
  }

  run(args: TaskToolArguments & { persist: true }, options?: { signal?: AbortSignal }): Promise<PersistedTask>;
  run(args: TaskToolArguments, options?: { signal?: AbortSignal }): Promise<R | PersistedTask>;
  /** Without a server, a call with `persist` fails. It is never run in some other way. */
  run(args: TaskToolArguments, { signal }: { signal?: AbortSignal } = {}): Promise<R | PersistedTask> {
    return args.persist ? this.persist(args, signal) : this.options.runNow(args, signal);
  }

  private async persist(args: TaskToolArguments, signal?: AbortSignal): Promise<PersistedTask> {
    const { client } = this.options;
    const handle = await client.enqueue(checkName(args.subagent_type, "subagent_type"), this.payload(args), {
      prompt: args.prompt,
      source: "task-tool",
      tags: [...new Set([...(args.tags ?? []), NOTIFY_TAG, this.tag])],
      ...(args.model === undefined ? {} : { model: args.model }),
      ...(args.agent_id === undefined ? {} : { agent_id: args.agent_id }),
      ...(args.priority === undefined ? {} : { priority: args.priority }),
      ...(args.tool_call_id === undefined ? {} : { request_id: this.requestId(args.tool_call_id) }),
      ...(signal ? { signal } : {}),
    });
    this.follow(handle.id);
    return { task_id: handle.id, subagent_id: subagentId(handle.id), output_file: this.outputFile(handle.id), status: "pending" };
  }

  private payload(args: TaskToolArguments): unknown {
    const summary = this.options.summary?.(args);
    const notify: Notify = {
      conversation: this.options.conversation,
      ...(args.agent_id === undefined ? {} : { agent_id: args.agent_id }),
      ...(args.conversation_id === undefined ? {} : { conversation_id: args.conversation_id }),
      scratch_dir: this.options.scratchDir,
      ...(summary === undefined ? {} : { summary }),
    };
    return {
      description: args.description,
      ...(args.max_turns === undefined ? {} : { max_turns: args.max_turns }),
      ...(args.silent ? {} : { notify }),
    };
  }

  /** Ids of calls are unique in a conversation only, and may be longer than a request id. */
  private requestId(toolCallId: string): string {
    const hash = createHash("sha256").update(`${this.options.conversation}\n${toolCallId}`).digest("hex");
    return `task-tool.${hash}`;
  }

  private get tag(): string {
    const hash = createHash("sha256").update(this.options.conversation).digest("hex");
    return `${NOTIFY_TAG}.${hash.slice(0, 32)}`;
  }

  /** On this host. */
  outputFile(taskId: string): string {
    if (!UUID.test(taskId)) throw new Invalid({ code: "invalid_argument", detail: `"${taskId.slice(0, 100)}" is not the id of a task` });
    return outputFileOf(this.options.scratchDir, taskId);
  }

  /** A subagent as it is now. NotFound if there is none, or it is not one of this conversation. */
  async subagent(taskId: string): Promise<Subagent> {
    const task = await this.options.client.task(taskId).get();
    if (!task.tags.includes(this.tag)) throw new NotFound({ code: "not_found", status: 404, detail: `there is no subagent ${taskId} in this conversation` });
    return this.view(task);
  }

  /** The subagents of this conversation, newest first. */
  async *subagents(): AsyncGenerator<Subagent, void, undefined> {
    for await (const task of this.options.client.list({ tag: this.tag })) yield this.view(task);
  }

  private view(task: Task): Subagent {
    return {
      id: subagentId(task.id),
      task_id: task.id,
      type: task.type,
      description: descriptionOf(task),
      status: statusOf(task),
      ...(task.progress && !hasEnded(task.state) ? { progress: task.progress } : {}),
      ...(task.error ? { error: `${task.error.class}: ${task.error.message}` } : {}),
      output_file: this.outputFile(task.id),
    };
  }

  /** After a restart of the host: the output files of what has not ended are written again, and followed. Returns these subagents. */
  async resume(): Promise<Subagent[]> {
    const found: Subagent[] = [];
    for await (const task of this.options.client.list({ tag: this.tag, state: ["blocked", "scheduled", "pending", "running", "stalled"] })) {
      this.follow(task.id);
      found.push(this.view(task));
    }
    return found;
  }

  /** Writes the output file of a task, and waits until that has ended. */
  async output(taskId: string): Promise<string> {
    this.follow(taskId);
    await this.following.get(taskId);
    return this.outputFile(taskId);
  }

  /** Follows nothing any more, so that the process may end. Subagents go on. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.following.values());
  }

  private follow(taskId: string): void {
    if (this.following.has(taskId) || this.closing.signal.aborted) return;
    const done = this.write(taskId)
      .catch((error: unknown) => {
        if (!this.closing.signal.aborted) this.log(`the output file of task ${taskId} is not whole: ${(error as Error).message}`);
      })
      .finally(() => this.following.delete(taskId));
    this.following.set(taskId, done);
  }

  private async write(taskId: string): Promise<void> {
    const file = await open(this.outputFile(taskId), "w", 0o600);
    try {
      await this.copyLog(taskId, file);
    } finally {
      await file.close();
    }
  }

  /** The log as it grows, until the task has ended. The server may go away meanwhile. */
  private async copyLog(taskId: string, file: FileHandle): Promise<void> {
    const { signal } = this.closing;
    const handle = this.options.client.task(taskId);
    for (let after = 0, failures = 0; ; ) {
      try {
        const ended = await handle.ended({ timeoutMs: LOOK_EVERY_MS, signal }).catch((error: unknown) => {
          if (error instanceof WaitTimeout) return undefined;
          throw error;
        });
        for await (const { seq, stream, text } of handle.log({ after, signal })) {
          if (stream !== "transcript") await file.write(text);
          after = seq;
        }
        if (ended) return;
        failures = 0;
      } catch (error) {
        if (!(error instanceof Unavailable) && !(error instanceof DroverError && error.status === 429)) throw error;
        failures += 1;
        await pause(backoffMs(failures, error.retryAfterMs), signal);
      }
    }
  }
}
