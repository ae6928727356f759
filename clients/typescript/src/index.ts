/** Drover for TypeScript: a client, typed tasks, and a worker. */

export { AwaitingAnswer, Unanswered } from "./ask.js";
export type { AskOptions } from "./ask.js";
export { AsyncQueueRuntime } from "./async_queue_runtime.js";
export type { AsyncQueueOptions } from "./async_queue_runtime.js";
export { Client } from "./client.js";
export type { CallExtras, ClientOptions, EnqueueOptions, Handles, ManyOptions, TaskFilter } from "./client.js";
export { Conversation } from "./conversation.js";
export type { PartOptions, WaitForItems } from "./conversation.js";
export {
  DroverError,
  Invalid,
  NotFound,
  QueueFull,
  RequestConflict,
  StaleLease,
  TaskCancelled,
  TaskFailed,
  Unauthorised,
  Unavailable,
  WaitTimeout,
  WrongState,
} from "./errors.js";
export type { ErrorCode } from "./errors.js";
export type { DroverEvent, EventOptions, Gap } from "./events.js";
export { Handle } from "./handle.js";
export type { JsonMember, LogRecord, WaitOptions } from "./handle.js";
export type { BigIntegers } from "./json.js";
export { QuestionHandle } from "./question.js";
export type { QuestionFilter } from "./question.js";
export { RunAborted, TaskError } from "./run.js";
export type { Context, ParentResult } from "./run.js";
export type { AbortKind } from "./renewal_thread.js";
export type { Report } from "./settler.js";
export { taskType } from "./task_type.js";
export type { NewTask, PayloadOf, ResultOf, TaskOptions, TaskType } from "./task_type.js";
export { version } from "./version.js";
export { Worker } from "./worker.js";
export type { Handler, RunOptions, WorkerOptions } from "./worker.js";
export { operations } from "./wire.js";
export type { ClaimedTask, ErrorClass, Question, Run, Task, TaskSpec, TaskState } from "./wire.js";
export type * as wire from "./wire.js";
