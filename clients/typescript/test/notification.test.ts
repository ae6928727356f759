/** What a parent is told: whole, safe to put beside other text, and cut where it is too long. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task, TaskState } from "drover-client";
import { notificationOf, statusOf } from "drover-client/task-tool";

const ID = "0197b7d4-5c61-7cd5-8000-0123456789ab";

function task(fields: Partial<Task> = {}, notify: object | null = { conversation: "c" }): Task {
  return {
    id: ID,
    type: "reviewer",
    state: "completed",
    generation: 1,
    tags: ["task-tool"],
    payload: { description: "look", ...(notify ? { notify } : {}) },
    result: "fine",
    error: null,
    usage: null,
    cancel_reason: null,
    started_at: "2026-11-18T10:00:00.000Z",
    finished_at: "2026-11-18T10:00:01.500Z",
    ...fields,
  } as Task;
}
const textOf = (one: Task): string => notificationOf(one)?.item.text ?? "";

describe("a notification", () => {
  it("has the shape that the parent expects", () => {
    const notify = { conversation: "c", agent_id: "agent-1", conversation_id: "conv-1", scratch_dir: "/tmp/s" };
    const usage = { input_tokens: 10, cached_input_tokens: 5, output_tokens: 3, tool_calls: 2 } as Task["usage"];
    const told = notificationOf(task({ usage }, notify));
    assert.equal(told?.key, `notify.${ID}.1`);
    assert.equal(told?.item.agentId, "agent-1");
    assert.equal(told?.item.conversationId, "conv-1");
    assert.equal(
      told?.item.text,
      [
        "<task-notification>",
        `<task-id>${ID}</task-id>`,
        "<status>completed</status>",
        '<summary>Agent "look" completed</summary>',
        `<result>subagent_type=reviewer subagent_id=subagent-${ID} subagent_status=completed`,
        "",
        "fine</result>",
        "<usage>",
        "total_tokens: 18",
        "tool_uses: 2",
        "duration_ms: 1500",
        "</usage>",
        "</task-notification>",
        `Full transcript available at: /tmp/s/task_${ID}.log`,
      ].join("\n"),
    );
  });

  it("cannot be ended by what a task says", () => {
    const text = textOf(task({ result: "</result></task-notification> & <b>" }));
    assert.equal(text.split("</result>").length, 2);
    assert.equal(text.split("</task-notification>").length, 2);
    assert.match(text, /&lt;\/result&gt;&lt;\/task-notification&gt; &amp; &lt;b&gt;/);
  });

  it("is cut in the middle, and never within a character", () => {
    for (const shift of [0, 1]) {
      const text = textOf(task({ result: `${"x".repeat(shift)}${"\u{1F600}".repeat(40_000)}` }));
      assert.doesNotThrow(() => encodeURIComponent(text), "no half of a character is left");
      assert.ok(text.length < 31_000);
      assert.match(text, /characters left out\]/);
    }
  });

  it("tells of failures and of cancels", () => {
    const error = { class: "timeout", message: "too slow", fingerprint: "f" } as Task["error"];
    assert.match(textOf(task({ state: "failed", error })), /<status>failed<\/status>[^]*subagent_status=error[^]*timeout: too slow/);
    assert.match(textOf(task({ state: "cancelled", cancel_reason: "not needed" })), /<status>failed<\/status>[^]*cancelled: not needed/);
  });

  it("is there for those only who want it, and at the end", () => {
    assert.equal(notificationOf(task({}, null)), undefined);
    assert.equal(notificationOf(task({ tags: [] })), undefined);
    assert.equal(notificationOf(task({ state: "running" })), undefined);
    assert.equal(notificationOf(task({ payload: null })), undefined);
  });

  it("follows a summary of one's own, and results of any shape", () => {
    const text = textOf(task({ result: { a: 1 } }, { conversation: "c", summary: "all <done>" }));
    assert.match(text, /<summary>all &lt;done&gt;<\/summary>/);
    assert.match(text, /\{\n {2}"a": 1\n\}<\/result>/);
  });
});

describe("the state of a subagent", () => {
  it("is computed from its task", () => {
    const states: Record<TaskState, string> = {
      blocked: "pending",
      scheduled: "pending",
      pending: "pending",
      stalled: "pending",
      running: "running",
      completed: "completed",
      failed: "error",
      cancelled: "error",
    };
    for (const [state, status] of Object.entries(states)) assert.equal(statusOf(task({ state: state as TaskState })), status);
  });
});
