/** Every operation of the REST API has a method here, or a reason why not; and what was generated is up to date. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Client, Conversation, Handle, operations, QuestionHandle, version, Worker } from "drover-client";
import { Run } from "../src/run.js";

type Method = readonly [owner: { prototype: object }, name: string];
const client = (name: string): Method => [Client, name];
const handle = (name: string): Method => [Handle, name];
const context = (name: string): Method => [Run, name];
const worker = (name: string): Method => [Worker, name];
const conversation = (name: string): Method => [Conversation, name];
const question = (name: string): Method => [QuestionHandle, name];
const through = (why: string): string => `through call(): ${why}`;

const operator = through("operators use the command line and the dashboard; programs rarely need it");
const dump = through("`drover export` and `drover import` put the parts together");
const page = through("for the dashboard");
const spawner = through("agents answer at the door of their run; handlers that spawn tasks which ask them are rare");
const single = "the worker settles with settleMany, which has one answer for each";

const covered: Record<keyof typeof operations, Method | string> = {
  enqueue: client("enqueue"),
  listTasks: client("list"),
  showTask: handle("get"),
  editTask: through("never repeated after an unknown outcome, as call() does"),
  deleteTask: operator,
  waitForTask: handle("result"),
  showParent: context("parents"),
  listRuns: handle("runs"),
  readTranscript: through("lines of agents; events tell when there are more"),
  readLog: handle("log"),
  appendLog: context("log"),
  explainTask: operator,
  cancelTask: handle("cancel"),
  previewCancel: operator,
  retryTask: handle("retry"),
  escalateTask: operator,
  spawn: context("spawn"),
  complete: single,
  fail: single,
  release: single,
  confirmCancel: single,
  suspend: single,
  progress: context("progress"),
  checkpoint: context("checkpoint"),
  reportUsage: context("usage"),
  settleMany: worker("run"),
  registerWorker: worker("run"),
  listWorkers: operator,
  unregisterWorker: worker("stop"),
  claim: worker("run"),
  heartbeat: worker("run"),
  drainWorker: operator,
  backlog: worker("run"),
  requeueStalled: operator,
  listGates: operator,
  setGate: operator,
  listQueues: operator,
  listDeadLetters: operator,
  stats: operator,
  stuck: operator,
  usage: operator,
  listAlerts: operator,
  showConfig: worker("run"),
  applyConfig: operator,
  listConfigVersions: operator,
  showConfigVersion: operator,
  fsck: operator,
  createToken: operator,
  listTokens: operator,
  revokeToken: operator,
  showStore: operator,
  acceptRegression: operator,
  lookAtFleet: operator,
  introduce: client("server"),
  dumpHead: dump,
  dumpIds: dump,
  dumpTasks: dump,
  dumpEvents: dump,
  dumpConversations: dump,
  beginImport: dump,
  importPiece: dump,
  finishImport: dump,
  listEvents: client("events"),
  lastEvent: client("events"),
  watch: "events() uses server-sent events, which carry the same frames and pass through more proxies",
  waitForChange: client("events"),
  readGraph: page,
  listTaskEvents: through("events() has a filter by task"),
  statsHistory: operator,
  startBulk: operator,
  listBulk: operator,
  showBulk: operator,
  stopBulk: operator,
  listAlertHistory: operator,
  snoozeAlert: operator,
  listAudit: operator,
  listViews: page,
  saveView: page,
  deleteView: page,
  listConversations: operator,
  getConversation: conversation("show"),
  waitForConversation: conversation("changes"),
  appendItem: conversation("append"),
  removeItem: conversation("remove"),
  dequeueItems: conversation("dequeue"),
  consumeItems: conversation("consume"),
  ackBatch: conversation("ack"),
  clearItems: conversation("clear"),
  takeConsumer: conversation("takeConsumer"),
  releaseConsumer: conversation("releaseConsumer"),
  mirrorItems: conversation("mirror"),
  ask: context("ask"),
  answerAsSpawner: spawner,
  listQuestions: client("questions"),
  getQuestion: question("get"),
  answerQuestion: question("answer"),
  withdrawQuestion: question("withdraw"),
  askStanding: through("for runners of agents, which `drover work` has"),
  listBudgets: operator,
  raiseBudget: operator,
  listSessions: operator,
  getSession: operator,
  resetSession: operator,
  createSigninCode: page,
  signIn: page,
  listSignins: page,
  signOut: page,
  me: page,
  createWsTicket: page,
  mcp: "for agents, which bring their own client",
  openapi: through("a description for tools"),
  metrics: through("callText() reads it; Prometheus usually does"),
  healthz: through("for load balancers"),
  readyz: through("for load balancers"),
};

describe("the operations", () => {
  it("are all covered, or left out for a reason", () => {
    assert.deepEqual(Object.keys(covered).sort(), Object.keys(operations).sort());
    for (const [operation, by] of Object.entries(covered)) {
      if (typeof by === "string") assert.ok(by.length > 20, operation);
      else assert.equal(typeof (by[0].prototype as Record<string, unknown>)[by[1]], "function", operation);
    }
  });
});

describe("the renewal thread", () => {
  it("is a literal in the package, so that bundlers leave it alone", () => {
    const text = readFileSync(new URL("../../dist/renewal_code.js", import.meta.url), "utf8");
    assert.match(text, /^export const renewalCode = "\(async function renewalThread/m);
    assert.doesNotMatch(text, /^import/m);
  });
});

describe("the version", () => {
  it("is that of the package", () => {
    const read = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
    assert.equal(version, read.version);
  });
});
