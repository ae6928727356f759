/** The client: enqueues, looks, waits, watches. Everything else goes through `call`. */

import { randomUUID } from "node:crypto";
import { parseAddresses } from "./address.js";
import { Calls, type Repeat } from "./calls.js";
import { Conversation } from "./conversation.js";
import { Invalid } from "./errors.js";
import { type DroverEvent, type EventOptions, events, type Gap } from "./events.js";
import { type Fetch, FetchTransport } from "./fetch_transport.js";
import { Handle } from "./handle.js";
import { type BigIntegers, writeJson } from "./json.js";
import { type QuestionFilter, QuestionHandle } from "./question.js";
import type { NewTask, PayloadAnd, ResultOf, TaskOptions, TaskType } from "./task_type.js";
import { NodeTransport } from "./transport.js";
import type { Enqueued, Introduction, ListQuestionsAnswer, Question, Task, TaskPage, TaskState } from "./wire.js";

const DEFAULT_URL = "http://127.0.0.1:7711";

export interface ClientOptions {
  /** http://HOST:PORT, https://HOST:PORT[?ca=FILE] or unix:PATH; several with commas. `DROVER_STORE` unless set. */
  url?: string;
  /** `DROVER_TOKEN` unless set. */
  token?: string;
  /** For an answer to one try; 30,000 unless set. */
  timeoutMs?: number;
  /** How often a call is repeated that may be; 8 unless set, about 20 s in all. */
  retries?: number;
  /** Integers that are not exact as a number: refused unless set. */
  bigints?: BigIntegers;
  /** Used instead of node:http. */
  fetch?: Fetch;
}

export interface EnqueueOptions extends TaskOptions {
  /** Ends the call, not a task that was made by then. */
  signal?: AbortSignal;
}

export interface ManyOptions {
  /** The same key with the same tasks gives the same batch, however often it is sent. Made for each call unless set. */
  request_id?: string;
  signal?: AbortSignal;
}

export interface TaskFilter {
  type?: string;
  queue?: string;
  owner?: string;
  state?: TaskState | readonly TaskState[];
  tag?: string;
  spawner?: string;
  worker?: string;
  since?: string;
  until?: string;
  search?: string;
  id?: string;
  class?: string;
  fingerprint?: string;
  finished_before?: string;
  escalated?: boolean;
  /** Of one page. */
  limit?: number;
  signal?: AbortSignal;
}

export interface CallExtras {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Whether the call may be sent again when nobody knows if it took effect. Reads always may; others only if this says so. */
  repeatable?: boolean;
}

/** The handles of a batch, each with the result type of its task. */
export type Handles<T extends readonly NewTask[]> = { -readonly [K in keyof T]: Handle<ResultOf<T[K]>> };

export class Client {
  /** For the worker of this package. */
  readonly calls: Calls;

  constructor(options: ClientOptions = {}) {
    const url = options.url ?? (process.env["DROVER_STORE"] || DEFAULT_URL);
    const token = options.token ?? process.env["DROVER_TOKEN"];
    this.calls = new Calls({
      addresses: parseAddresses(url),
      transport: options.fetch ? new FetchTransport(options.fetch) : new NodeTransport(),
      token: token === undefined ? undefined : checkToken(token),
      timeoutMs: options.timeoutMs ?? 30_000,
      retries: options.retries ?? 8,
      bigints: options.bigints ?? "error",
    });
  }

  /** Enqueues a task. Repeats are safe: each call has a key of its own, or `request_id`. */
  async enqueue<P, R>(task: TaskType<P, R>, ...rest: PayloadAnd<P, EnqueueOptions>): Promise<Handle<R>>;
  async enqueue<R = unknown>(task: string, payload?: unknown, options?: EnqueueOptions): Promise<Handle<R>>;
  async enqueue(task: TaskType<unknown, unknown> | string, payload?: unknown, options: EnqueueOptions = {}): Promise<Handle> {
    const { signal, ...given } = options;
    const spec: NewTask = typeof task === "string" ? { ...given, type: task, payload } : { ...task.defaults, ...given, type: task.name, payload };
    const headers = spec.request_id ? {} : { "idempotency-key": randomUUID() };
    const answer = await this.calls.call("POST", "/v1/tasks", { repeat: "again", body: this.spec(spec), headers, signal });
    const made = this.calls.parse(answer.text) as Enqueued;
    return new Handle(this.calls, made.id, isOld(made, spec, answer.tries));
  }

  /** Enqueues tasks together, all or nothing. "@name" in `depends_on` is the task of this batch whose `ref` is that name. */
  async enqueueMany<const T extends readonly NewTask[]>(tasks: T, options: ManyOptions = {}): Promise<Handles<T>> {
    if (tasks.length === 0) return [] as unknown as Handles<T>;
    const made = await this.make("/v1/tasks", tasks, options.request_id ?? randomUUID(), {}, options.signal);
    return made as unknown as Handles<T>;
  }

  /** A batch, sent to a route that takes one. For the worker of this package. */
  async make(path: string, tasks: readonly NewTask[], key: string, headers: Record<string, string>, signal?: AbortSignal): Promise<Handle[]> {
    // The server takes one key for all, or one for each. Tasks that have none of their own among others that do get one.
    const isMixed = tasks.some(({ request_id }) => request_id);
    const specs = tasks.map((task, i) => this.spec(isMixed && !task.request_id ? { ...task, request_id: `${key}.${i}` } : task));
    const body = `{"tasks":[${specs.join(",")}]}`;
    const keyed = isMixed ? headers : { ...headers, "idempotency-key": key };
    const answer = await this.calls.call("POST", path, { repeat: "again", body, headers: keyed, signal });
    const made = (this.calls.parse(answer.text) as { tasks: Enqueued[] }).tasks;
    return made.map((one, i) => new Handle(this.calls, one.id, isOld(one, tasks[i] as NewTask, answer.tries)));
  }

  /** A task by its id. Nothing is asked yet. */
  task<R = unknown>(id: string): Handle<R> {
    return new Handle<R>(this.calls, id);
  }

  /** The tasks that a filter lets through, newest first; pages are read as they are needed. */
  async *list(filter: TaskFilter = {}): AsyncGenerator<Task, void, undefined> {
    for await (const page of this.pages<TaskPage>("/v1/tasks", filter)) yield* page.tasks;
  }

  /** The questions that a filter lets through, newest first; pages are read as they are needed. */
  async *questions(filter: QuestionFilter = {}): AsyncGenerator<Question, void, undefined> {
    for await (const page of this.pages<ListQuestionsAnswer>("/v1/questions", filter)) yield* page.questions;
  }

  /** A question by its id: look at it, wait for its answer, answer it, withdraw it. Nothing is asked yet. */
  question(id: string): QuestionHandle {
    return new QuestionHandle(this.calls, id);
  }

  private async *pages<Page extends { cursor: string | null }>(path: string, filter: TaskFilter | QuestionFilter): AsyncGenerator<Page, void, undefined> {
    const { signal, ...wanted } = filter;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(wanted)) {
      if (value !== undefined) parameters.set(name, Array.isArray(value) ? value.join(",") : String(value));
    }
    for (;;) {
      const page = (await this.calls.json("GET", `${path}?${parameters.toString()}`, { repeat: "again", signal })) as Page;
      yield page;
      if (page.cursor === null) return;
      parameters.set("cursor", page.cursor);
    }
  }

  /** What happens, from now on or after an event. Goes on through broken connections; what was missed comes as a Gap. */
  events(options: EventOptions = {}): AsyncGenerator<DroverEvent | Gap, void, undefined> {
    return events(this.calls, options);
  }

  /** A conversation queue by its name; of the token's owner unless one is given. Nothing is asked yet. */
  conversation(key: string, owner?: string): Conversation {
    return new Conversation(this.calls, key, owner);
  }

  /** Who this token is, and which server answers. */
  async server(): Promise<Introduction> {
    return (await this.calls.json("GET", "/v1/server", { repeat: "again" })) as Introduction;
  }

  /** Any other operation of the REST API. `body` is sent as JSON; the answer is read as JSON, or undefined if it is empty. */
  async call<T = unknown>(method: string, path: string, body?: unknown, extras: CallExtras = {}): Promise<T> {
    const text = await this.callText(method, path, body, extras);
    return (text === "" ? undefined : this.calls.parse(text)) as T;
  }

  /** As `call`; gives the answer as it came, for numbers that must stay exact and for answers that are not JSON. */
  async callText(method: string, path: string, body?: unknown, extras: CallExtras = {}): Promise<string> {
    const repeat: Repeat = method === "GET" || extras.repeatable ? "again" : "once";
    const answer = await this.calls.call(method, path, {
      repeat,
      body: body === undefined ? undefined : writeJson(body, this.calls.options.bigints, "the body"),
      ...(extras.headers ? { headers: extras.headers } : {}),
      signal: extras.signal,
    });
    return answer.text;
  }

  /** Closes idle connections. The client can be used again. */
  close(): void {
    this.calls.options.transport.close();
  }

  /** A task as the wire has it: null is "unset" there, so a payload that is null says so. */
  private spec(task: NewTask): string {
    const { payload, fallback_result: fallback, ...rest } = task;
    const parts = [JSON.stringify(rest).slice(1, -1)];
    const nulls: string[] = [];
    for (const [name, value] of Object.entries({ payload, fallback_result: fallback })) {
      const text = writeJson(value, this.calls.options.bigints, `the ${name} of a task of type ${task.type}`);
      if (text === undefined) continue;
      if (text === "null") nulls.push(name);
      else parts.push(`"${name}":${text}`);
    }
    if (nulls.length > 0) parts.push(`"null_values":${JSON.stringify(nulls)}`);
    return `{${parts.join(",")}}`;
  }
}

/** After a repeat the server says of our own task that it was there already. */
function isOld(made: Enqueued, spec: NewTask, tries: number): boolean {
  const isOwnRepeat = tries > 1 && !spec.request_id && !spec.dedupe_key && !spec.dedupe;
  return made.deduplicated && !isOwnRepeat;
}

/** It goes into a header as it is. */
function checkToken(token: string): string {
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  throw new Invalid({ code: "invalid_argument", detail: "the token has a character in it that no token has" });
}
