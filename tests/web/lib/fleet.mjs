// Fleets with something of everything: failures of several kinds, retries, gates, dependencies, agents that run and that are done.
// The same seed makes the same fleet.
import {seeded} from './until.mjs';
import {complete, enqueue, fail, Worker} from './worker.mjs';

const TYPES = ['fix', 'review', 'draft', 'test', 'deploy'];
const QUEUES = {fix: 'eng', review: 'eng', draft: 'docs', test: 'ci', deploy: 'ops'};
const OWNERS = ['ann', 'bob', 'nightly'];
const THINGS = ['the failing test in src/parser', 'the flaky login flow', 'issue 4711 about empty carts', 'the release notes of 2.4', 'the slow query of the report', 'the retry loop of the mailer'];
const VERBS = {fix: 'Fix', review: 'Review', draft: 'Draft', test: 'Run the tests for', deploy: 'Deploy'};
const MODELS = ['sonnet', 'opus', 'haiku'];
const FAILURES = [
  ['agent_error', 'the agent gave up: 3 tests of test_cart.py still fail'],
  ['timeout', 'no answer from the agent for 10 minutes'],
  ['invalid', 'result has no member "summary"'],
  ['verify_failed', 'make check exited with 2: src/parser.c:118: undefined reference to `token_next\''],
  ['max_turns', 'the agent used all of its 40 turns'],
];
const SCHEMA = {types: {fix: {max_attempts: 2, retry: 'fixed:1s', breaker: 'off'}, review: {breaker: 'off'}, test: {breaker: 'off'}, draft: {breaker: 'off'}, deploy: {breaker: 'off'}}};

const pick = (random, list) => list[Math.floor(random() * list.length)];

function specOf(random, at) {
  const type = pick(random, TYPES);
  return {
    type, queue: QUEUES[type], owner: pick(random, OWNERS), priority: pick(random, [2, 5, 5, 5, 7]), model: pick(random, MODELS),
    prompt: `${VERBS[type]} ${pick(random, THINGS)} (${at})`, tags: random() < 0.3 ? [pick(random, ['nightly', 'release', 'customer'])] : [],
    payload: {repository: 'shop', number: at, options: {dry_run: random() < 0.5, depth: 3}}, max_attempts: random() < 0.8 ? 1 : 3,
  };
}

function usageOf(random, model) {
  const tokens = {input_tokens: Math.floor(random() * 90_000), output_tokens: Math.floor(random() * 9000), cached_input_tokens: Math.floor(random() * 50_000)};
  const cost_usd = random() < 0.1 ? null : Math.round(random() * 9000) / 10_000;
  return {...tokens, turns: 3, tool_calls: 11, cost_usd, ...(cost_usd === null ? {} : {cost_basis: 'reported'}), models: {[model]: {...tokens, ...(cost_usd === null ? {} : {cost_usd})}}};
}

function settlementOf(random, claimed) {
  const usage = usageOf(random, claimed.task.model ?? 'sonnet');
  if (random() < 0.82) return complete(claimed, {usage, result: {summary: 'done', files: ['src/parser.c', 'tests/parser_test.c']}});
  const [errorClass, message] = pick(random, FAILURES);
  return fail(claimed, errorClass, `${message} (run of ${claimed.task.type})`, {usage, exit_code: 1});
}

export async function setPolicy(server, document) {
  const {version} = await server.api('GET', '/v1/config');
  await server.api('PUT', '/v1/config', {version, document});
}

/** `total` tasks; about `done` of a hundred have ended. Gives back the ids, the workers and what runs. */
export async function makeFleet(server, {total = 400, done = 60, running = 6, seed = 7} = {}) {
  const random = seeded(seed);
  await setPolicy(server, SCHEMA);
  const ids = await enqueue(server, Array.from({length: total}, (_, at) => specOf(random, at)));
  const worker = await Worker.register(server, 'build-7', ['eng', 'docs', 'ci', 'ops'], 8);
  await Worker.register(server, 'build-8', ['eng'], 4);
  let left = Math.floor((total * done) / 100);
  while (left > 0) {
    const claimed = await worker.claim(Math.min(100, left));
    if (!claimed.length) break;
    await worker.settle(claimed.map(one => settlementOf(random, one)));
    left -= claimed.length;
  }
  const runs = await worker.claim(running);
  for (const [at, one] of runs.entries()) {
    await worker.say(one, `reading the repository\n\u001b[32mok\u001b[0m 12 files\nrunning make check\n`);
    await worker.progress(one, 10 + at * 12, ['reading', 'planning', 'writing', 'testing'][at % 4]);
  }
  return {ids, worker, runs, random};
}

/** Tasks that wait behind gates, behind each other and for later. */
export async function addWaiting(server, random, {held = 60} = {}) {
  await server.api('POST', '/v1/gates/queue:ops', {action: 'close', why: 'the cluster is being moved'});
  await server.api('POST', '/v1/gates/owner:nightly', {action: 'limit', permits: 2, why: 'nights only'});
  await enqueue(server, Array.from({length: held}, (_, at) => ({...specOf(random, at), type: 'deploy', queue: 'ops', prompt: `Deploy shop ${at} to staging`})));
  const [first] = await enqueue(server, [{type: 'draft', queue: 'docs', owner: 'ann', prompt: 'Outline the guide', delay: '2h'}]);
  await enqueue(server, [
    {type: 'draft', queue: 'docs', owner: 'ann', prompt: 'Write the guide', depends_on: [first]},
    {type: 'review', queue: 'nobody', owner: 'bob', prompt: 'Review the guide'},
  ]);
}
