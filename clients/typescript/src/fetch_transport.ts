/** The transport over `fetch`, for hosts that bring their own. node:http is faster, and only it speaks to Unix sockets. */

import type { Address } from "./address.js";
import { Invalid } from "./errors.js";
import { Aborted, NoAnswer, noAnswer, type Answer, type Request, type Stream, type Transport } from "./transport.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export class FetchTransport implements Transport {
  constructor(private readonly fetch: Fetch) {}

  async exchange(address: Address, request: Request): Promise<Answer> {
    const url = urlOf(address, request.path);
    const call = new Call(request);
    try {
      const response = await this.fetch(url, call.init(request));
      const text = await response.text();
      return { status: response.status, header: headerOf(response), text };
    } catch (error) {
      throw call.reasonFor(error);
    } finally {
      call.finish();
    }
  }

  async stream(address: Address, request: Request): Promise<Stream> {
    const url = urlOf(address, request.path);
    const call = new Call(request);
    try {
      const response = await this.fetch(url, call.init(request));
      call.headArrived();
      return { status: response.status, header: headerOf(response), chunks: chunksOf(response, call) };
    } catch (error) {
      call.finish();
      throw call.reasonFor(error);
    }
  }

  close(): void {
    // fetch has its own pool, which is not ours to close.
  }
}

/** Time limit and signal of one call. */
class Call {
  private readonly controller = new AbortController();
  private timedOut = false;
  private readonly timer: ReturnType<typeof setTimeout>;
  private readonly onAbort = (): void => this.controller.abort();

  constructor(private readonly request: Request) {
    this.timer = setTimeout(() => {
      this.timedOut = true;
      this.controller.abort();
    }, request.timeoutMs);
    if (request.signal?.aborted) this.controller.abort();
    request.signal?.addEventListener("abort", this.onAbort, { once: true });
  }

  init(request: Request): RequestInit {
    const init: RequestInit = { method: request.method, headers: request.headers, signal: this.controller.signal, redirect: "manual" };
    return request.body === undefined ? init : { ...init, body: request.body };
  }

  reasonFor(error: unknown): unknown {
    if (this.timedOut) return new NoAnswer(`no answer within ${this.request.timeoutMs} ms`, false, false);
    if (this.request.signal?.aborted) return new Aborted();
    return noAnswer(error, true);
  }

  headArrived(): void {
    clearTimeout(this.timer);
  }

  finish(): void {
    clearTimeout(this.timer);
    this.request.signal?.removeEventListener("abort", this.onAbort);
    this.controller.abort();
  }
}

async function* chunksOf(response: Response, call: Call): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    while (reader) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value as Uint8Array;
    }
  } catch (error) {
    throw call.reasonFor(error);
  } finally {
    call.finish();
  }
}

function urlOf(address: Address, path: string): string {
  if (address.kind === "unix" || address.caFile !== undefined) {
    throw new Invalid({ code: "invalid_argument", detail: "fetch cannot use unix: or ?ca= addresses; leave the option fetch out" });
  }
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${address.kind}://${host}:${address.port}${path}`;
}

function headerOf(response: Response): (name: string) => string | undefined {
  return (name) => response.headers.get(name) ?? undefined;
}
