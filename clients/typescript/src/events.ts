/** What happens, live: server-sent events, resumed by number. */

import { backoffMs, type Calls, pause } from "./calls.js";
import { DroverError, errorOf, Unavailable } from "./errors.js";
import type { Event as WireEvent } from "./wire.js";

/** The server says something every 15 s, if only that nothing happened. */
const SILENCE_MAX_MS = 40_000;
const PAGE = 1_000;
const LINE_BYTES_MAX = 64 * 1024 * 1024;

export interface DroverEvent extends WireEvent {
  readonly kind?: undefined;
}

/** Events after `after` are gone. If `seq` is smaller than `after`, the store went backwards and uses numbers a second time. */
export interface Gap {
  readonly kind: "gap";
  readonly after: number;
  readonly seq: number;
}

export interface EventOptions {
  /** Events after this number; without it, those from now on. */
  after?: number;
  task?: string;
  queue?: string;
  type?: string;
  owner?: string;
  signal?: AbortSignal;
  /** When nothing at all has come for so long, the stream is given up and read page by page instead. */
  silenceMs?: number;
}

interface Frame {
  kind: "events" | "gap" | "bye" | "snapshot";
  seq?: number;
  after?: number;
  events?: WireEvent[];
  code?: string;
}

/** The stream was silent, so something on the way keeps it back: a proxy that buffers. */
class Silent extends Error {}

export async function* events(calls: Calls, options: EventOptions): AsyncGenerator<DroverEvent | Gap, void, undefined> {
  const position = { seq: options.after ?? (await lastSeq(calls, options.signal)) };
  for (let failures = 0, mayStream = true; ; ) {
    const before = position.seq;
    try {
      if (mayStream) yield* follow(calls, options, position);
      else yield* readPages(calls, options, position);
      failures = 0;
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof Silent) mayStream = false;
      else if (!mayPass(error)) throw error;
      if (position.seq !== before) failures = 0;
      failures += 1;
      await pause(backoffMs(failures, error instanceof DroverError ? error.retryAfterMs : 0), options.signal);
    }
  }
}

async function lastSeq(calls: Calls, signal: AbortSignal | undefined): Promise<number> {
  return ((await calls.json("GET", "/v1/events/last", { repeat: "again", signal })) as { seq: number }).seq;
}

function mayPass(error: unknown): boolean {
  return error instanceof Unavailable || (error instanceof DroverError && error.status === 429);
}

function query(options: EventOptions, seq: number): string {
  const parameters = new URLSearchParams({ after: String(seq), snapshot: "false" });
  for (const name of ["task", "queue", "type", "owner"] as const) {
    const value = options[name];
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}

interface Position {
  seq: number;
}

/** One stream, until it ends. */
async function* follow(calls: Calls, options: EventOptions, position: Position): AsyncGenerator<DroverEvent | Gap> {
  const silence = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, silence.signal]) : silence.signal;
  const give_up = (): void => silence.abort(new Silent());
  let timer = setTimeout(give_up, options.silenceMs ?? SILENCE_MAX_MS);
  try {
    const stream = await calls.stream(`/v1/events?${query(options, position.seq)}`, signal);
    for await (const frame of frames(stream.chunks, calls)) {
      clearTimeout(timer);
      yield* take(frame, position);
      timer = setTimeout(give_up, options.silenceMs ?? SILENCE_MAX_MS);
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    silence.signal.throwIfAborted();
    throw error instanceof DroverError ? error : new Unavailable({ code: "store_unavailable", detail: "the stream broke off", outcomeUnknown: false, cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function* take(frame: Frame, position: Position): Generator<DroverEvent | Gap> {
  if (frame.kind === "bye") {
    const code = frame.code ?? "store_unavailable";
    if (code === "unauthorised" || code === "forbidden") throw errorOf({ code, detail: "the token is not valid any more" });
    return;
  }
  if (frame.kind === "gap") yield { kind: "gap", after: frame.after ?? position.seq, seq: frame.seq ?? position.seq };
  for (const event of frame.events ?? []) {
    yield event;
    // Only what was taken counts: a reader that stops in the middle of a frame goes on from there.
    position.seq = event.seq;
  }
  if (frame.seq !== undefined) position.seq = frame.seq;
}

async function* frames(chunks: AsyncIterable<Uint8Array>, calls: Calls): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let rest = "";
  let data = "";
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > LINE_BYTES_MAX) throw errorOf({ code: "protocol", detail: "the server sent an event that does not end" });
    const lines = rest.split("\n");
    rest = lines.pop() as string;
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line.startsWith("data:")) data += line.slice(5).trimStart();
      if (line !== "" || data === "") continue;
      yield calls.parse(data, calls.options.bigints === "error" ? "number" : calls.options.bigints) as Frame;
      data = "";
    }
  }
}

/** Without a stream: waits for a change, then reads what is new. Gaps cannot be told this way. */
async function* readPages(calls: Calls, options: EventOptions, position: Position): AsyncGenerator<DroverEvent> {
  let seen = "";
  for (;;) {
    const path = `/v1/events?after=${position.seq}&limit=${PAGE}`;
    const page = (await calls.json("GET", path, { repeat: "again", signal: options.signal })) as { events: WireEvent[]; next: number };
    for (const event of page.events) {
      if (concerns(event, options)) yield event;
      position.seq = event.seq;
    }
    position.seq = Math.max(position.seq, page.next);
    if (page.events.length > 0) continue;
    const waitMs = calls.pollMs;
    const change = `/v1/changes?timeout=${waitMs}ms${seen && `&seen=${seen}`}`;
    seen = String(((await calls.json("GET", change, { repeat: "again", waitMs, signal: options.signal })) as { changes: number }).changes);
  }
}

function concerns(event: WireEvent, options: EventOptions): boolean {
  return (
    (options.task === undefined || event.task_id === options.task) &&
    (options.queue === undefined || event.queue === options.queue) &&
    (options.type === undefined || event.type === options.type) &&
    (options.owner === undefined || event.owner === options.owner)
  );
}
