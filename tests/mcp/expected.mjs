/** What the official suite is asked, and the checks of it that cannot pass, each with its reason. */

const notOffered = "Drover offers tools only: no prompts, resources, sampling, elicitation or logging (docs/guide/mcp.md)";
const asksNothing = "no tool of Drover's asks its client for anything, so there is nothing that a client could lack";
const deadLetter = "a dead letter is a call that was completed with an error: the queue kept its promise";
const namesTask = "an answer names the task that the call made, and each call makes another";
const sessionless = "Drover keeps no sessions, which the protocol allows";

/** By revision: scenario, and its checks that are expected to fail. */
export const scenarios = {
  "2026-07-28": {
    "server-stateless": {
      "sep-2575-server-rejects-undeclared-capability": asksNothing,
      "sep-2575-missing-capability-http-400": asksNothing,
      "sep-2575-http-server-no-independent-requests-on-stream": asksNothing,
      "sep-2575-server-no-log-without-loglevel": notOffered,
    },
    "tools-list": {},
    "tools-call-simple-text": {},
    "tools-call-error": {},
    "tools-call-with-progress": {},
    "server-sse-multiple-streams": {},
    "dns-rebinding-protection": {},
    caching: {
      "sep-2549-prompts-list-caching-hints": notOffered,
      "sep-2549-resources-list-caching-hints": notOffered,
      "sep-2549-resources-templates-list-caching-hints": notOffered,
    },
    "input-required-result-unsupported-methods": {},
    "http-header-validation": {},
  },
  "2025-11-25": {
    "server-initialize": {},
    ping: {},
    "tools-list": {},
    "tools-call-simple-text": {},
    "tools-call-error": {},
    "tools-call-with-progress": {},
    "server-sse-multiple-streams": { "server-sse-multiple-streams-session": sessionless },
    "dns-rebinding-protection": {},
  },
  extension: {
    "tasks-lifecycle": { "sep-2663-tasks-get-status-failed": deadLetter },
    "tasks-capability-negotiation": {},
    "tasks-wire-fields": {},
    "tasks-request-state-removal": {},
    "tasks-request-headers": { "tasks-headers-tolerate-mcp-method-on-tools-call": namesTask },
    "tasks-dispatch-and-envelope": { "tasks-result-type-complete-on-non-task-responses": asksNothing },
    "tasks-required-task-error": {},
  },
};

/** Task types that are tools, and whether a client may follow them: what the scenarios call. */
export const fixtureTools = [
  "test_simple_text:never",
  "test_error_handling:never",
  "test_tool_with_progress:never",
  "greet:never",
  "slow_compute",
  "failing_job:required",
  "protocol_error_job",
];
