/** Where a server is: http://HOST[:PORT], https://HOST[:PORT][?ca=FILE] or unix:PATH, or several with commas between them. */

import { Invalid } from "./errors.js";

const DEFAULT_PORT = 7711;
const HTTPS_PORT = 443;

export interface Address {
  readonly kind: "http" | "https" | "unix";
  /** Without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket. */
  readonly socketPath?: string;
  readonly caFile?: string;
  /** By which the server is called, for the Host header. */
  readonly hostHeader: string;
}

/** What stands before an @ or behind a ? may be a password or a token, so it is not repeated. */
function refused(url: string): Invalid {
  const shown = url.replace(/\?.*$/s, "").replace(/\/\/[^/]*@/, "//…@");
  return new Invalid({
    code: "invalid_argument",
    detail: `"${shown}" is not the address of a server; use http://HOST:PORT, https://HOST:PORT or unix:PATH`,
  });
}

export function parseAddress(url: string): Address {
  if (url.startsWith("unix:")) {
    const socketPath = url.slice("unix:".length);
    if (!socketPath) throw refused(url);
    return { kind: "unix", host: "drover", port: 0, socketPath, hostHeader: "drover" };
  }
  const match = /^(https?):\/\/(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?\/?(?:\?ca=([^&]+))?$/.exec(url);
  if (!match) throw refused(url);
  const [, scheme, host, port, ca] = match as unknown as [string, "http" | "https", string, string | undefined, string | undefined];
  const number = port === undefined ? (scheme === "https" ? HTTPS_PORT : DEFAULT_PORT) : Number(port);
  if (number < 1 || number > 65535 || (ca !== undefined && scheme !== "https")) throw refused(url);
  return {
    kind: scheme,
    host: host.replace(/^\[|\]$/g, ""),
    port: number,
    ...(ca === undefined ? {} : { caFile: decodeURIComponent(ca) }),
    hostHeader: port === undefined ? host : `${host}:${port}`,
  };
}

export function parseAddresses(urls: string): Address[] {
  return urls.split(",").map(parseAddress);
}
