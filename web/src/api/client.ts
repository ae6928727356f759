// Calls the server. One function, typed by the operation: call('GET /v1/tasks/{id}', {path: {id}}).
import type {Operations} from './types';

export type OperationName = keyof Operations;
type Part<O, K extends string> = K extends keyof O ? O[K] : undefined;
export type Answer<N extends OperationName> = Operations[N]['answer'];

/** A body that is JSON text already, so that its numbers keep their text. */
export class JsonText {
  constructor(readonly text: string) {}
}

export interface CallOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

export type Request<N extends OperationName> = CallOptions & {
  path?: Part<Operations[N], 'path'>;
  query?: Part<Operations[N], 'query'>;
  body?: Part<Operations[N], 'body'> | JsonText;
};

/** A problem that the server described (RFC 9457), or one of the connection with code `unreachable`. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, detail: string) {
    super(detail);
    this.name = 'ApiError';
  }
}

/** Where the page lives: "" or the path of --public-url, without a slash at its end. */
export const base: string = (() => {
  const meta = typeof document === 'undefined' ? null : document.querySelector<HTMLMetaElement>('meta[name="drover-base"]');
  const value = meta?.content ?? '';
  return value.startsWith('%') ? '' : value.replace(/\/$/, '');
})();

let secret: string | null = null;
let isSignedOut = false;
const SIGN_IN = '/v1/signins';
let onSignedOut: () => void = () => {};
let onReached: (reached: boolean) => void = () => {};

/** The page's half of the sign-in. */
export function setSecret(value: string | null): void {
  secret = value;
}

/** While nobody is signed in, nothing is asked for but a sign-in: what is on the screen waits, and its timers cost the server nothing. */
export function setSignedOut(value: boolean): void {
  isSignedOut = value;
}

export function observeCalls(signedOut: () => void, reached: (reached: boolean) => void): void {
  onSignedOut = signedOut;
  onReached = reached;
}

export function addressOf(name: OperationName, path: object | undefined, query: object | undefined): string {
  const [, template] = name.split(' ') as [string, string];
  const filled = template.replace(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(String((path as Record<string, unknown>)[key])));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(key, String(one));
  }
  const text = search.toString();
  return base + filled + (text ? `?${text}` : '');
}

function headersOf(extra: Record<string, string> | undefined, hasBody: boolean): Record<string, string> {
  return {
    Accept: 'application/json',
    ...(hasBody ? {'Content-Type': 'application/json'} : {}),
    ...(secret ? {'Drover-Signin': secret} : {}),
    ...extra,
  };
}

async function problemOf(response: Response): Promise<ApiError> {
  try {
    const problem = (await response.json()) as {code?: string; detail?: string};
    return new ApiError(response.status, problem.code ?? 'internal', problem.detail ?? response.statusText);
  } catch {
    return new ApiError(response.status, 'internal', `The server answered ${response.status} ${response.statusText}`);
  }
}

export async function rawCall(address: string, method: string, body: unknown, options: CallOptions = {}): Promise<Response> {
  if (isSignedOut && address !== base + SIGN_IN) throw new ApiError(401, 'unauthenticated', 'Your sign-in has ended.');
  let response: Response;
  try {
    response = await fetch(address, {
      method,
      headers: headersOf(options.headers, body !== undefined),
      body: body === undefined ? null : body instanceof JsonText ? body.text : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: options.signal ?? null,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    onReached(false);
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.');
  }
  onReached(true);
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) onSignedOut();
  throw problem;
}

export interface Answered<T> {
  data: T;
  /** The number of the last event when the answer was begun (Drover-As-Of), if the operation says it. */
  asOf: number | null;
  etag: string | null;
  /** The JSON as the server wrote it, for payloads whose number text must stay. */
  text: string;
}

export async function callWithText<N extends OperationName>(name: N, request: Request<N> = {}): Promise<Answered<Answer<N>>> {
  const [method] = name.split(' ') as [string];
  const needsBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
  const body = request.body === undefined && needsBody ? {} : request.body;
  const response = await rawCall(addressOf(name, request.path as object, request.query as object), method, body, request);
  const text = response.status === 204 ? '' : await response.text();
  const asOf = response.headers.get('Drover-As-Of');
  return {
    data: (text === '' ? null : JSON.parse(text)) as Answer<N>,
    asOf: asOf === null ? null : Number(asOf),
    etag: response.headers.get('ETag'),
    text,
  };
}

export async function call<N extends OperationName>(name: N, request: Request<N> = {}): Promise<Answer<N>> {
  return (await callWithText(name, request)).data;
}

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

export const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
