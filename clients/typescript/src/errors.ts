/** What can go wrong, as classes. `code` is stable; `detail` is for people. */

import type { Problem, Task } from "./wire.js";

/** Codes of the server's problems, and those that the client adds. Unknown ones pass through. */
export type ErrorCode =
  | Problem["code"]
  | "task_failed"
  | "task_cancelled"
  | "wait_timeout"
  | "unsafe_integer"
  | "protocol"
  | (string & {});

export interface ErrorFields {
  code: ErrorCode;
  detail: string;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

export class DroverError extends Error {
  /** Stable; look at this one in programs. */
  readonly code: ErrorCode;
  /** Of the HTTP answer; undefined when there was none. */
  readonly status: number | undefined;
  /** For people: what happened and what to do. */
  readonly detail: string;
  /** How long the server asks to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(fields: ErrorFields) {
    super(`${fields.detail} (${fields.code})`, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = new.target.name;
    this.code = fields.code;
    this.status = fields.status;
    this.detail = fields.detail;
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** There is no such thing, or it belongs to somebody else. */
export class NotFound extends DroverError {}
/** The task is not in a state that allows it, or somebody changed it first. */
export class WrongState extends DroverError {}
/** This run is not the task's any more. */
export class StaleLease extends DroverError {}
/** The request id, or the task id, is taken by another request. */
export class RequestConflict extends DroverError {}
/** As many tasks wait as the policy allows. Nothing was stored. */
export class QueueFull extends DroverError {}
/** What was sent is wrong, or cannot be written as JSON. */
export class Invalid extends DroverError {}
/** There is no valid token, or its role does not allow the call. */
export class Unauthorised extends DroverError {}

/** No server answered, or it cannot reach its store. */
export class Unavailable extends DroverError {
  /** Whether the call may have taken effect all the same. */
  readonly outcomeUnknown: boolean;

  constructor(fields: ErrorFields & { outcomeUnknown: boolean }) {
    super(fields);
    this.outcomeUnknown = fields.outcomeUnknown;
  }
}

/** The task whose result was asked for has failed. */
export class TaskFailed extends DroverError {
  readonly task: Task;

  constructor(task: Task) {
    const why = task.error ? `${task.error.class}: ${task.error.message}` : "no reason is known";
    super({ code: "task_failed", detail: `task ${task.id} (${task.type}) failed: ${why}` });
    this.task = task;
  }
}

/** The task whose result was asked for was cancelled. */
export class TaskCancelled extends DroverError {
  readonly task: Task;

  constructor(task: Task) {
    const why = task.cancel_reason ? `: ${task.cancel_reason}` : "";
    super({ code: "task_cancelled", detail: `task ${task.id} (${task.type}) was cancelled${why}` });
    this.task = task;
  }
}

/** The time to wait is over. The task goes on. */
export class WaitTimeout extends DroverError {
  constructor(id: string, timeoutMs: number) {
    super({ code: "wait_timeout", detail: `task ${id} has not ended within ${timeoutMs} ms; it goes on` });
  }
}

type Build = (fields: ErrorFields) => DroverError;
const mayHaveHappened: Build = (fields) => new Unavailable({ ...fields, outcomeUnknown: true });
const didNotHappen: Build = (fields) => new Unavailable({ ...fields, outcomeUnknown: false });

const byCode: Record<string, Build> = {
  not_found: (fields) => new NotFound(fields),
  unknown_worker: (fields) => new NotFound(fields),
  wrong_state: (fields) => new WrongState(fields),
  version_mismatch: (fields) => new WrongState(fields),
  session_busy: (fields) => new WrongState(fields),
  stale_lease: (fields) => new StaleLease(fields),
  request_conflict: (fields) => new RequestConflict(fields),
  queue_full: (fields) => new QueueFull(fields),
  unauthorised: (fields) => new Unauthorised(fields),
  forbidden: (fields) => new Unauthorised(fields),
  store_unavailable: mayHaveHappened,
  store_regressed: didNotHappen,
  schema_too_new: didNotHappen,
  disk_full: didNotHappen,
};

export function errorOf(fields: ErrorFields): DroverError {
  const build = byCode[fields.code];
  if (build) return build(fields);
  const status = fields.status ?? 0;
  return status >= 400 && status < 500 ? new Invalid(fields) : new DroverError(fields);
}

/** The error of an answer that is no success. A proxy may have sent it, so it need not be a problem of RFC 9457. */
export function errorOfAnswer(status: number, text: string, retryAfterMs: number | undefined): DroverError {
  const problem = readProblem(text);
  if (problem) return errorOf({ code: problem.code, detail: problem.detail, status, retryAfterMs });
  const isGateway = status >= 502 && status <= 504;
  const code = isGateway ? "store_unavailable" : status === 401 || status === 403 ? "unauthorised" : "protocol";
  return errorOf({ code, detail: `HTTP ${status} from something that is not a Drover server`, status, retryAfterMs });
}

function readProblem(text: string): { code: string; detail: string } | undefined {
  try {
    const value = JSON.parse(text) as Partial<Problem> | null;
    if (value && typeof value.code === "string" && typeof value.detail === "string") return { code: value.code, detail: value.detail };
  } catch {
    // Not JSON, so not a problem: the caller says what it is.
  }
  return undefined;
}
