// What waits for people: questions in every state, budgets near and past their limits, sessions, conversations, a provider that comes back.
import {setPolicy} from './fleet.mjs';
import {complete, enqueue, Worker} from './worker.mjs';

export const PEOPLE_POLICY = {
  types: {pay: {budget_per_run: {usd: 1, tokens: 1000}, breaker: 'off'}, ask: {breaker: 'off', budget_per_run: {usd: 0, tokens: 0}}, limited: {provider: 'anthropic', breaker: 'off', budget_per_run: {usd: 0, tokens: 0}}},
  owners: {default: {budgets: [{usd: 20, per: 'day'}]}, ann: {budgets: [{usd: 5, per: 'day', on_breach: 'pause'}]}},
  gates: {all: {budgets: [{usd: 500, per: 'month', zone: 'Europe/Berlin'}]}, 'type:pay': {budgets: [{tokens: 5_000_000}]}, 'provider:anthropic': {permits: 8}},
};

const QUESTIONS = [
  {text: 'Deploy the shop to production?\nThe canary has run for an hour without an error.', options: ['yes', 'no'], default: 'no', expires: '2h'},
  {text: 'Which of the two migrations is to go first? Both touch the table of orders, and the second one takes the lock for about four minutes.'},
  {text: 'How many replicas, and in which region?', schema: {type: 'object', required: ['replicas'], properties: {replicas: {type: 'integer'}, region: {type: 'string'}}}, expires: '30m'},
  {text: 'May the tests talk to the network?', schema: {type: 'boolean'}},
];

export async function ask(server, claimed, question) {
  return server.api('POST', `/v1/tasks/${claimed.task.id}/questions`, {lease_id: claimed.lease_id, question});
}

const suspend = (server, claimed) => server.api('POST', `/v1/tasks/${claimed.task.id}/suspend`, {lease_id: claimed.lease_id});

/** Tasks that ask; of the first, one question is answered already. */
export async function addQuestions(server, owner = 'ann', texts = QUESTIONS) {
  const worker = await Worker.register(server, 'asker-1', ['people'], 20);
  const ids = await enqueue(server, texts.map((_, at) => ({type: 'ask', queue: 'people', owner, prompt: `Carry out the release, part ${at + 1}`})));
  const claimed = await worker.claim(texts.length);
  const byId = new Map(claimed.map(one => [one.task.id, one]));
  const first = byId.get(ids[0]);
  const done = await ask(server, first, {text: 'Which branch?', key: 'branch'});
  await server.api('POST', `/v1/questions/${done.id}/answer`, {value: 'release-2.4'});
  const questions = [];
  for (const [at, text] of texts.entries()) {
    const one = byId.get(ids[at]);
    questions.push(await ask(server, one, text));
    await suspend(server, one);
  }
  return {ids, questions, worker};
}

/** Spends of each owner's budget: ann's is used up, bob's is not. */
export async function addSpend(server) {
  const worker = await Worker.register(server, 'payer-1', ['money'], 20);
  const spend = {ann: 5.2, bob: 13.75};
  await enqueue(server, Object.keys(spend).map(owner => ({type: 'pay', queue: 'money', owner, prompt: 'Write the report', max_attempts: 1})));
  const claimed = await worker.claim(2);
  await worker.settle(claimed.map(one => complete(one, {usage: {input_tokens: 90_000, output_tokens: 8000, cost_usd: spend[one.task.owner], cost_basis: 'reported', turns: 9, tool_calls: 20}})));
  await enqueue(server, [...Array(3)].map((_, at) => ({type: 'pay', queue: 'money', owner: 'ann', prompt: `Write report ${at + 2}`})));
}

export async function addSessions(server, owner = 'ann') {
  const worker = await Worker.register(server, 'session-1', ['warm'], 20);
  await enqueue(server, ['reviewer', 'reviewer', 'planner'].map((session, at) => ({type: 'ask', queue: 'warm', owner, session, prompt: `Look at part ${at + 1} of the parser`})));
  const [one] = await worker.claim(1);
  const usage = {input_tokens: 120_000, output_tokens: 9000, cost_usd: 1.84, cost_basis: 'reported', turns: 12, tool_calls: 40};
  await worker.settle([complete(one, {usage, agent: {preset: 'claude', session_id: '0b9d7c1e-4d7c-4a52-9f2e-0a1b2c3d4e5f', host: 'build-7', workspace: '/srv/work/reviewer', model: 'opus', totals: usage}})]);
  return worker.claim(1);
}

const ITEMS = [
  ['message', {source: 'user', content: 'Please look at the failing test of the parser.\nIt fails only on Tuesdays.'}], ['task_notification', {source: 'drover', text: 'Task 1b2c ended: completed\nAll 181 tests pass.'}],
  ['cron_prompt', {source: 'cron', text: 'Write the summary of the day.'}], ['approval_result', {source: 'user', approvals: [{tool: 'bash', approve: true}]}],
];

export async function addConversations(server, owner = 'ann', items = ITEMS) {
  for (const key of ['agent-7', 'agent-8'])
    for (const [at, [kind, body]] of items.entries())
      await server.api('POST', `/v1/conversations/${key}/items?owner=${owner}`, {item_key: `${key}-${at}`, kind, body, agent_id: key, conversation_id: at % 2 ? 'thread-1' : null});
}

/** All of it. The policy must be set first. */
export async function addPeople(server) {
  await setPolicy(server, PEOPLE_POLICY);
  const asked = await addQuestions(server);
  await addSessions(server);
  await addSpend(server);
  await addConversations(server);
  return asked;
}
