/** A proxy that loses answers, cuts them off or holds them back, as a test tells it to. */

import { once } from "node:events";
import * as http from "node:http";

export interface Passing {
  method: string;
  path: string;
  body: string;
}

/**
 * What to do with a request. `pass`; `lose`: the server gets it, the client never hears; `refuse`: nobody gets it; `gateway`: the server gets it,
 * the client hears 502; `hold`: the server's answer is kept back until the connection ends, as by a proxy that buffers.
 */
export type Treatment = "pass" | "lose" | "refuse" | "gateway" | "hold";

export class Proxy {
  readonly passed: Passing[] = [];
  /** How many answers the client has been sent in full. */
  answered = 0;
  private readonly server: http.Server;
  private readonly agent = new http.Agent({ keepAlive: true });
  /** Requests that take longer are cut off. */
  cutAfterMs = 0;

  private constructor(
    private readonly target: string,
    private readonly treat: (request: Passing) => Treatment,
  ) {
    this.server = http.createServer((request, response) => void this.take(request, response));
  }

  static async before(target: string, treat: (request: Passing) => Treatment): Promise<Proxy> {
    const proxy = new Proxy(target, treat);
    proxy.server.listen(0, "127.0.0.1");
    await once(proxy.server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  /** How many requests of a path have passed. */
  count(path: RegExp): number {
    return this.passed.filter((request) => path.test(request.path)).length;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.agent.destroy();
  }

  private async take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const passing = { method: request.method ?? "", path: request.url ?? "", body: body.toString("utf8") };
    const treatment = this.treat(passing);
    this.passed.push(passing);
    if (treatment === "refuse") return void response.destroy();
    const headers = { ...request.headers, host: new URL(this.target).host };
    const outgoing = http.request(this.target + passing.path, { method: passing.method, headers, agent: this.agent }, (answer) => {
      if (treatment === "lose" || treatment === "gateway") return this.withhold(answer, response, treatment);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (treatment === "hold") return;
      answer.on("error", () => response.destroy());
      answer.pipe(response);
      response.on("finish", () => (this.answered += 1));
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => response.writableEnded || treatment === "lose" || outgoing.destroy());
    if (this.cutAfterMs > 0) setTimeout(() => response.writableEnded || response.destroy(), this.cutAfterMs).unref();
    outgoing.end(body);
  }

  private withhold(answer: http.IncomingMessage, response: http.ServerResponse, treatment: "lose" | "gateway"): void {
    answer.resume();
    answer.on("end", () => {
      if (treatment === "lose") response.destroy();
      else response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>");
    });
  }
}
