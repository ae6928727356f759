/** Calls to the servers in front of one store: which server, how often, with which token; and what an answer means. */

import type { Address } from "./address.js";
import { type DroverError, errorOfAnswer, Invalid, Unavailable } from "./errors.js";
import { type BigIntegers, parseJson } from "./json.js";
import { Aborted, type Answer, NoAnswer, type Request, type Stream, type Transport } from "./transport.js";

const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 5_000;
/** What an answer may take beyond the time that the server was asked to wait. */
const POLL_MARGIN_MS = 10_000;
/** As long as a server is asked to hold an answer back; proxies often give up at 60 s, some sooner. */
export const POLL_MS = 25_000;
const POLL_MIN_MS = 2_000;

/**
 * What may be done when nobody knows whether a call took effect. `again`: it has a key or changes nothing twice. `once`: it is
 * sent again only if no server can have got it.
 */
export type Repeat = "again" | "once";

export interface CallOptions {
  repeat: Repeat;
  body?: string | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** How long the server may hold the answer back. */
  waitMs?: number;
  timeoutMs?: number;
  /** How often the call is repeated at most. */
  retries?: number;
  contentType?: string;
}

export interface CallsOptions {
  addresses: readonly Address[];
  transport: Transport;
  token: string | undefined;
  timeoutMs: number;
  retries: number;
  bigints: BigIntegers;
}

/** An answer, and how often it was asked for. */
export interface Answered extends Answer {
  tries: number;
}

export class Calls {
  private current = 0;
  private readonly seen = new SeenStore();
  private longest = POLL_MS;

  constructor(readonly options: CallsOptions) {}

  /** How long to let the server wait: shorter once something between us and the server has cut an answer off. */
  get pollMs(): number {
    return this.longest;
  }

  async json(method: string, path: string, options: CallOptions): Promise<unknown> {
    const answer = await this.call(method, path, options);
    return answer.text === "" ? undefined : this.parse(answer.text);
  }

  parse(text: string, bigints = this.options.bigints): unknown {
    try {
      return parseJson(text, bigints);
    } catch (error) {
      if (error instanceof Invalid) throw error;
      throw errorOfAnswer(502, "", undefined);
    }
  }

  /** Repeats what may be repeated; throws a DroverError, or the reason of the caller's signal. */
  async call(method: string, path: string, options: CallOptions): Promise<Answered> {
    const retries = options.retries ?? this.options.retries;
    for (let tries = 1; ; tries += 1) {
      options.signal?.throwIfAborted();
      const outcome = await this.attempt(method, path, options);
      if (!(outcome instanceof Failed)) return Object.assign(outcome, { tries });
      if (!outcome.repeatable || tries > retries) throw outcome.error;
      if (!outcome.tryAnother) await pause(backoffMs(tries, outcome.error.retryAfterMs), options.signal);
    }
  }

  /** One stream of server-sent events, without retries. */
  async stream(path: string, signal: AbortSignal | undefined): Promise<Stream> {
    const request = this.request("GET", path, { repeat: "again", signal, headers: { accept: "text/event-stream" } });
    try {
      const stream = await this.options.transport.stream(this.address(), request);
      if (stream.status === 200) return stream;
      const parts: Uint8Array[] = [];
      for await (const part of stream.chunks) parts.push(part);
      throw errorOfAnswer(stream.status, Buffer.concat(parts).toString("utf8"), retryAfter(stream));
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof NoAnswer ? this.noAnswer(error, true).error : error;
    }
  }

  private address(): Address {
    return this.options.addresses[this.current % this.options.addresses.length] as Address;
  }

  private request(method: string, path: string, options: CallOptions): Request {
    const headers: Record<string, string> = { ...options.headers };
    if (this.options.token) headers["authorization"] = `Bearer ${this.options.token}`;
    const seen = this.seen.text;
    if (seen) headers["drover-seen"] = seen;
    if (options.body !== undefined) headers["content-type"] = options.contentType ?? "application/json";
    const timeoutMs = options.timeoutMs ?? (options.waitMs === undefined ? this.options.timeoutMs : options.waitMs + POLL_MARGIN_MS);
    return { method, path, headers, body: options.body, timeoutMs, signal: options.signal };
  }

  private async attempt(method: string, path: string, options: CallOptions): Promise<Answer | Failed> {
    const started = performance.now();
    const request = this.request(method, path, options);
    let answer: Answer;
    try {
      answer = await this.exchange(request, options.repeat);
    } catch (error) {
      if (error instanceof Aborted) options.signal?.throwIfAborted();
      if (!(error instanceof NoAnswer)) throw error;
      if (options.waitMs !== undefined) this.learnFromCut(performance.now() - started);
      return this.noAnswer(error, options.repeat === "again");
    }
    this.seen.take(request.headers["drover-seen"], answer.header("drover-seen"));
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (options.waitMs !== undefined && answer.status >= 502 && answer.status <= 504) this.learnFromCut(performance.now() - started);
    return this.refused(answer, options.repeat);
  }

  /** With a pooled connection, or with a new one if that turned out to be dead. */
  private async exchange(request: Request, repeat: Repeat): Promise<Answer> {
    const { transport } = this.options;
    try {
      return await transport.exchange(this.address(), request);
    } catch (error) {
      if (!(error instanceof NoAnswer && error.stale && repeat === "again")) throw error;
      return transport.exchange(this.address(), { ...request, fresh: true });
    }
  }

  /** Something that ends waiting calls after some seconds would end all of them: ask for less. */
  private learnFromCut(elapsedMs: number): void {
    if (elapsedMs >= POLL_MIN_MS && elapsedMs < this.longest) this.longest = Math.max(POLL_MIN_MS, Math.floor(elapsedMs * 0.75));
  }

  private noAnswer(error: NoAnswer, again: boolean): Failed {
    const asked = this.options.addresses.length > 1 ? ` (${this.options.addresses.length} servers)` : "";
    this.current += 1;
    const unavailable = new Unavailable({
      code: "store_unavailable",
      detail: error.unsent
        ? `the server${asked} cannot be reached: ${error.message}`
        : `the server${asked} did not answer, so the call may have taken effect: ${error.message}`,
      outcomeUnknown: !error.unsent,
      cause: error,
    });
    const hasOther = this.current % this.options.addresses.length !== 0;
    return new Failed(unavailable, (error.unsent || again) && !error.hopeless, hasOther);
  }

  private refused(answer: Answer, repeat: Repeat): Failed {
    const error = errorOfAnswer(answer.status, answer.text, retryAfter(answer));
    // A batch that is too large stays too large, and a schema that is too new stays new.
    const isLasting = error.code === "limit_exceeded" || error.code === "schema_too_new";
    const gateway = answer.status >= 502 && answer.status <= 504;
    const mayRepeat = answer.status === 429 || (gateway && (repeat === "again" || !isUnknown(error)));
    return new Failed(error, mayRepeat && !isLasting, false);
  }
}

class Failed {
  constructor(
    readonly error: DroverError,
    readonly repeatable: boolean,
    /** Another server is asked at once. */
    readonly tryAnother: boolean,
  ) {}
}

function isUnknown(error: DroverError): boolean {
  return error instanceof Unavailable && error.outcomeUnknown;
}

function retryAfter(answer: { header(name: string): string | undefined }): number | undefined {
  const seconds = Number(answer.header("retry-after"));
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

/** From half to all of a step that doubles; at least what the server asks for. */
export function backoffMs(tries: number, atLeastMs = 0): number {
  const step = Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** (tries - 1));
  return Math.max(atLeastMs, step * (0.5 + Math.random() / 2));
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * How far this client has seen the store to be, as STORE:EPOCH:NUMBER:SEQ. Sent with every request, it lets a server find out that
 * its store went backwards. A later epoch counts only in an answer to a request that told what was seen before.
 */
class SeenStore {
  text: string | undefined;

  take(sent: string | undefined, answered: string | undefined): void {
    if (answered === undefined || answered === this.text) return;
    if (this.text === undefined) {
      this.text = answered;
      return;
    }
    const [store, epoch, , seq] = this.text.split(":");
    const [newStore, newEpoch, , newSeq] = answered.split(":");
    if (store !== newStore) this.text = answered;
    else if (epoch === newEpoch) this.text = Number(newSeq) > Number(seq) ? answered : this.text;
    else if (sent === this.text) this.text = answered;
  }
}
