/** What a parent agent is told when a subagent has ended: the text, and whom it is for. Nothing here talks to a server. */

import { valueOf } from "./handle.js";
import type { Task, Usage } from "./wire.js";

/** Tasks that somebody wants to hear of. */
export const NOTIFY_TAG = "task-tool";
const RESULT_MAX = 30_000;

/** Whom a task tells of its end. It is the member `notify` of the task's payload. */
export interface Notify {
  conversation: string;
  agent_id?: string;
  conversation_id?: string;
  /** The folder of the output file, on the host of the conversation. */
  scratch_dir?: string;
  /** Instead of the usual summary. */
  summary?: string;
}

/** A notification as a conversation takes it: `queue.enqueue(notification.item)`. */
export interface Notification {
  /** One task and generation has one key, so that it is told once however often it is sent. */
  key: string;
  conversation: string;
  task_id: string;
  generation: number;
  item: {
    kind: "task_notification";
    source: "task_notification";
    text: string;
    agentId?: string;
    conversationId?: string;
  };
}

export type SubagentStatus = "pending" | "running" | "completed" | "error";

/** The state of a subagent is that of its task, and kept nowhere else. */
export function statusOf(task: Task): SubagentStatus {
  switch (task.state) {
    case "blocked":
    case "scheduled":
    case "pending":
    case "stalled":
      return "pending";
    case "running":
      return "running";
    case "completed":
      return "completed";
    case "failed":
    case "cancelled":
      return "error";
  }
}

export function outputFileOf(scratchDir: string, taskId: string): string {
  return `${scratchDir}/task_${taskId}.log`;
}

export function subagentId(taskId: string): string {
  return `subagent-${taskId}`;
}

/** Undefined: the task tells nobody, or has not ended. */
export function notificationOf(task: Task): Notification | undefined {
  const notify = notifyOf(task);
  const status = statusOf(task);
  if (!notify || (status !== "completed" && status !== "error")) return undefined;
  return {
    key: `notify.${task.id}.${task.generation}`,
    conversation: notify.conversation,
    task_id: task.id,
    generation: task.generation,
    item: {
      kind: "task_notification",
      source: "task_notification",
      text: render(task, notify, status),
      ...(notify.agent_id === undefined ? {} : { agentId: notify.agent_id }),
      ...(notify.conversation_id === undefined ? {} : { conversationId: notify.conversation_id }),
    },
  };
}

export function notifyOf(task: Task): Notify | undefined {
  if (!task.tags.includes(NOTIFY_TAG)) return undefined;
  const notify = (task.payload as { notify?: Partial<Notify> } | null)?.notify;
  return typeof notify?.conversation === "string" ? (notify as Notify) : undefined;
}

export function descriptionOf(task: Task): string {
  const description = (task.payload as { description?: unknown } | null)?.description;
  return typeof description === "string" ? description : task.type;
}

function render(task: Task, notify: Notify, status: "completed" | "error"): string {
  const outcome = status === "completed" ? "completed" : "failed";
  const summary = notify.summary ?? `Agent "${descriptionOf(task)}" ${outcome}`;
  const head = `subagent_type=${task.type} subagent_id=${subagentId(task.id)} subagent_status=${status}`;
  const lines = [
    "<task-notification>",
    `<task-id>${task.id}</task-id>`,
    `<status>${outcome}</status>`,
    `<summary>${escaped(summary)}</summary>`,
    `<result>${escaped(cut(`${head}\n\n${resultText(task)}`))}</result>`,
    ...usageLines(task),
    "</task-notification>",
  ];
  if (notify.scratch_dir !== undefined) lines.push(`Full transcript available at: ${outputFileOf(notify.scratch_dir, task.id)}`);
  return lines.join("\n");
}

function resultText(task: Task): string {
  if (task.state === "cancelled") return task.cancel_reason ? `The task was cancelled: ${task.cancel_reason}` : "The task was cancelled.";
  if (task.state === "failed") return task.error ? `${task.error.class}: ${task.error.message}` : "The task failed.";
  const result = valueOf(task, "result");
  if (typeof result === "string") return result;
  return result === undefined ? "" : JSON.stringify(result, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value), 2);
}

function usageLines(task: Task): string[] {
  if (!task.usage || !task.started_at || !task.finished_at) return [];
  const durationMs = Date.parse(task.finished_at) - Date.parse(task.started_at);
  return ["<usage>", `total_tokens: ${tokensOf(task.usage)}`, `tool_uses: ${task.usage.tool_calls ?? 0}`, `duration_ms: ${durationMs}`, "</usage>"];
}

function tokensOf(usage: Usage): number {
  const { input_tokens = 0, cached_input_tokens = 0, cache_write_tokens = 0, output_tokens = 0 } = usage;
  return input_tokens + cached_input_tokens + cache_write_tokens + output_tokens;
}

/** A text of the task cannot end the element that it is in. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The middle is left out: a result begins and ends with what matters. No character is cut in two. */
function cut(text: string): string {
  if (text.length <= RESULT_MAX) return text;
  const half = RESULT_MAX / 2;
  const start = text.slice(0, isLow(text, half) ? half - 1 : half);
  const from = text.length - half;
  const end = text.slice(isLow(text, from) ? from + 1 : from);
  const left = text.length - start.length - end.length;
  return `${start}\n[${left} characters left out]\n${end}\n[The result was cut to ${RESULT_MAX} characters.]`;
}

/** Whether the second half of a character is there. */
function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
