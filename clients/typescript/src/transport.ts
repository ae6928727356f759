/** One request to one server, and what came back. Retries are the business of calls.ts. */

import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import type { Address } from "./address.js";

/** A pooled socket that has been idle longer may be half dead: servers and proxies drop them without a word. */
const IDLE_SOCKET_MS = 30_000;

export interface Request {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** How long the whole answer may take; of a stream, its head. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Not over a pooled connection. */
  fresh?: boolean;
}

export interface Answer {
  status: number;
  header(name: string): string | undefined;
  text: string;
}

export interface Stream {
  status: number;
  header(name: string): string | undefined;
  /** Ends with the stream; breaking off closes the connection. */
  chunks: AsyncIterable<Uint8Array>;
}

export interface Transport {
  exchange(address: Address, request: Request): Promise<Answer>;
  stream(address: Address, request: Request): Promise<Stream>;
  close(): void;
}

/** There was no answer. */
export class NoAnswer extends Error {
  constructor(
    message: string,
    /** Whether the server cannot have got the request. */
    readonly unsent: boolean,
    /** Whether trying again makes sense at all. */
    readonly hopeless: boolean,
    cause?: unknown,
    /** Whether a pooled connection turned out to be dead, which says nothing about the server. */
    readonly stale = false,
  ) {
    super(message, { cause });
  }
}

const NOT_CONNECTED = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENOENT", "EACCES", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL",
  "ConnectionRefused", "FailedToOpenSocket", "UND_ERR_CONNECT_TIMEOUT",
]);
const BAD_CERTIFICATE = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY|DECODE))/;

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (typeof code === "string") return code;
  return cause === undefined || cause === null ? "" : codeOf(cause);
}

export function noAnswer(error: unknown, wasConnected: boolean, wasReused = false): NoAnswer {
  if (error instanceof NoAnswer) return error;
  const code = codeOf(error);
  const message = error instanceof Error && error.message ? error.message : code || String(error);
  const unsent = !wasConnected || NOT_CONNECTED.has(code);
  return new NoAnswer(message, unsent, BAD_CERTIFICATE.test(code), error, wasReused);
}

export class NodeTransport implements Transport {
  private readonly agents = new Map<Address, http.Agent>();

  async exchange(address: Address, request: Request): Promise<Answer> {
    const { response, finish, failure } = await this.send(address, request);
    try {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      if (!response.complete) throw new Error("the answer was cut off");
      const text = parts.length === 1 ? (parts[0] as Buffer).toString("utf8") : Buffer.concat(parts).toString("utf8");
      return { status: response.statusCode ?? 0, header: headerOf(response), text };
    } catch (error) {
      throw failure() ?? noAnswer(error, true);
    } finally {
      finish();
    }
  }

  async stream(address: Address, request: Request): Promise<Stream> {
    const { response, headArrived, finish, failure } = await this.send(address, request);
    headArrived();
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        for await (const part of response) yield part as Buffer;
      } catch (error) {
        throw failure() ?? noAnswer(error, true);
      } finally {
        response.destroy();
        finish();
      }
    }
    return { status: response.statusCode ?? 0, header: headerOf(response), chunks: chunks() };
  }

  close(): void {
    for (const agent of this.agents.values()) agent.destroy();
    this.agents.clear();
  }

  private agent(address: Address): http.Agent {
    const known = this.agents.get(address);
    if (known) return known;
    const options = { keepAlive: true, timeout: IDLE_SOCKET_MS, scheduling: "lifo", maxFreeSockets: 64 } as const;
    const agent =
      address.kind === "https"
        ? new https.Agent({ ...options, ...(address.caFile === undefined ? {} : { ca: readFileSync(address.caFile) }) })
        : new http.Agent(options);
    this.agents.set(address, agent);
    return agent;
  }

  private send(address: Address, request: Request): Promise<Sent> {
    return new Promise((resolve, reject) => {
      let connected = false;
      let failure: unknown;
      const where = address.kind === "unix" ? { socketPath: address.socketPath as string } : { host: address.host, port: address.port };
      const body = request.body === undefined ? undefined : Buffer.from(request.body, "utf8");
      // Without a pool, TLS would not know the authority.
      const ca = request.fresh && address.caFile !== undefined ? { ca: readFileSync(address.caFile) } : {};
      const headers: Record<string, string | number> = { host: address.hostHeader, ...request.headers };
      if (body) headers["content-length"] = body.length;
      const outgoing = (address.kind === "https" ? https : http).request({
        ...where,
        ...ca,
        agent: request.fresh ? false : this.agent(address),
        method: request.method,
        path: request.path,
        headers,
      });
      let incoming: http.IncomingMessage | undefined;
      const stop = (reason: Error): void => {
        failure ??= reason;
        incoming?.destroy(reason);
        outgoing.destroy(reason);
        // Not every runtime closes the connection of a request that waits, or says so soon.
        outgoing.socket?.destroy();
        finish();
        reject(reason);
      };
      const onAbort = (): void => stop(new Aborted());
      const timer = setTimeout(
        () => stop(new NoAnswer(`no answer within ${request.timeoutMs} ms`, !connected, false)),
        request.timeoutMs,
      );
      const finish = (): void => {
        clearTimeout(timer);
        request.signal?.removeEventListener("abort", onAbort);
      };
      outgoing.on("socket", (socket) => {
        if (!socket.connecting) connected = true;
        else socket.once(address.kind === "https" ? "secureConnect" : "connect", () => (connected = true));
      });
      outgoing.on("response", (response) => {
        incoming = response;
        resolve({ response, finish, failure: () => failure, headArrived: () => clearTimeout(timer) });
      });
      outgoing.on("error", (error) => {
        finish();
        reject(failure ?? noAnswer(error, connected, outgoing.reusedSocket));
      });
      if (request.signal?.aborted) {
        onAbort();
        return;
      }
      request.signal?.addEventListener("abort", onAbort, { once: true });
      outgoing.end(body);
    });
  }
}

interface Sent {
  response: http.IncomingMessage;
  headArrived(): void;
  finish(): void;
  failure(): unknown;
}

/** The caller's signal ended it; the caller throws the signal's reason. */
export class Aborted extends Error {
  constructor() {
    super("aborted by the caller");
  }
}

function headerOf(response: http.IncomingMessage): (name: string) => string | undefined {
  return (name) => {
    const value = response.headers[name.toLowerCase()];
    return Array.isArray(value) ? value[0] : value;
  };
}
