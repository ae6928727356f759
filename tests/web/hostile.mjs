// Sixty hostile strings through every field that takes text: no dialog, no report of the CSP, no request to elsewhere, no new element.
import {settled, show} from './lib/browser.mjs';
import {foreignElements} from './lib/guard.mjs';
import {HOSTILE} from './lib/hostile.mjs';
import {everyPage, exemplars} from './lib/pages.mjs';
import {check, same} from './lib/until.mjs';
import {complete, fail, Worker} from './lib/worker.mjs';

const POLICY = {types: {hostile: {breaker: 'off', budget_per_run: {usd: 0}}}, owners: {default: {budgets: [{usd: 9, per: 'day'}]}}};

/** Asks with a text in a field; a server that refuses it is right, too. */
async function offer(server, counts, method, path, body) {
  const {status, json} = await server.ask(method, path, body);
  check(status < 500, `${method} ${path} answered ${status}`);
  counts[status < 300 ? 'taken' : 'refused']++;
  return status < 300 ? json : null;
}

const FIELDS = text => ({
  prompt: text, system_prompt: text, repo: text, base: text, agent_id: text, source: text, model: text, traceparent: text, ref: text, dedupe_key: text, request_id: text,
  owner: text, tags: [text], locks: [text], session: text, payload: {[text]: text, nested: [text]},
});

/** A task that has the text in every field that takes it. */
async function hostileTask(server, counts, text, type, at) {
  const spec = {type, session: `s${at}`, queue: 'hostile', max_attempts: 1};
  for (const [field, value] of Object.entries(FIELDS(text))) {
    const {status} = await server.ask('POST', '/v1/tasks', {...spec, [field]: value, delay: '24h'});
    if (status < 300 && field !== 'dedupe_key' && field !== 'request_id') spec[field] = value;
    counts[status < 300 ? 'taken' : 'refused']++;
  }
  const made = await offer(server, counts, 'POST', '/v1/tasks', spec);
  check(made !== null, `a task with all of its fields is refused for ${JSON.stringify(text.slice(0, 40))}`);
  return made.id;
}

/** Every fourth stays open. */
async function hostileQuestion(server, counts, id, lease, text, at) {
  const question = {text, key: text};
  const asked = (await offer(server, counts, 'POST', `/v1/tasks/${id}/questions`, {...lease, question: {...question, options: [text, 'other'], default: text}})) ??
    (await offer(server, counts, 'POST', `/v1/tasks/${id}/questions`, {...lease, question: {text: `? ${text}`, schema: {enum: [text], title: text}}}));
  if (!asked || at % 4 === 3) return;
  if (at % 4 === 1) await offer(server, counts, 'POST', `/v1/questions/${asked.id}/answer`, {value: text});
  else await offer(server, counts, 'POST', `/v1/questions/${asked.id}/withdraw`, {why: text});
}

async function runHostile(server, counts, worker, text, at) {
  const [claimed] = await worker.claim(1);
  const lease = {lease_id: claimed.lease_id};
  const {id} = claimed.task;
  await offer(server, counts, 'POST', `/v1/tasks/${id}/log`, {...lease, chunks: [{stream: 'stdout', text: `${text}\n`}, {stream: 'stderr', text: `${text}\n`}]});
  await offer(server, counts, 'POST', `/v1/tasks/${id}/progress`, {...lease, percent: 50, message: text});
  await offer(server, counts, 'POST', `/v1/tasks/${id}/checkpoint`, {...lease, value: text});
  await offer(server, counts, 'POST', `/v1/tasks/${id}/usage`, {...lease, usage: {input_tokens: 1, output_tokens: 1, unpriced_tokens: 2, models: {[text]: {input_tokens: 1, output_tokens: 1}}}, agent: {preset: 'claude', session_id: text, host: text, workspace: text, model: text}});
  await hostileQuestion(server, counts, id, lease, text, at);
  if (at % 4 === 3) return;  // goes on running, for Overview
  if (at % 2) await worker.settle([complete(claimed, {result: {[text]: text, decision_report: {summary: text}}, note: text})]);
  else await worker.settle([fail(claimed, 'agent_error', text, {note: text})]);
}

async function hostileAround(server, counts, text, at, taskId) {
  await offer(server, counts, 'POST', `/v1/tasks/${taskId}/escalate`, {to: text, why: text});
  await offer(server, counts, 'POST', `/v1/tasks/${taskId}/cancel`, {reason: text});
  await offer(server, counts, 'PUT', `/v1/views/${encodeURIComponent(text)}`, {q: text, query: text});
  await offer(server, counts, 'POST', '/v1/tokens', {role: 'viewer', owner: 'ann', note: text});
  await offer(server, counts, 'POST', '/v1/workers', {id: `h${at}`, version: text, serves: [{queue: `h${at}`, trouble: text}], capacity: 1});
  await offer(server, counts, 'POST', `/v1/workers/h${at}/drain`, {why: text});
  await offer(server, counts, 'POST', `/v1/gates/lock:h${at}`, {action: 'close', why: text});
  await offer(server, counts, 'POST', `/v1/gates/${encodeURIComponent(`lock:${text}`)}`, {action: 'close', why: text});
  const item = {agent_id: text, conversation_id: text, body: {content: text, source: text, [text]: text}};
  for (const name of ['hostile', encodeURIComponent(text)]) await offer(server, counts, 'POST', `/v1/conversations/${name}/items?owner=ann`, {item_key: `h${at}`, kind: 'message', ...item});
  await offer(server, counts, 'POST', '/v1/conversations/hostile/items?owner=ann', {item_key: `k${at}`, kind: text, body: {[text]: [text]}});
  for (const gate of ['owner:default', `owner:${text}`]) await offer(server, counts, 'POST', `/v1/budgets/${encodeURIComponent(gate)}/raise`, {unit: 'usd', amount: 1, why: text});
  await offer(server, counts, 'POST', `/v1/sessions/default/${encodeURIComponent(text)}/reset`, {why: text});
  await offer(server, counts, 'POST', '/v1/bulk', {verb: 'escalate', ids: [taskId], to: text, why: text});
}

async function look(page, name, path) {
  await show(page, path);
  await settled(page);
  same(await foreignElements(page), [], `elements on ${name}`);
}

/** The dialogs of every open question. */
async function hostileAnswers(page) {
  await show(page, '/');
  const rows = page.getByRole('row').filter({has: page.getByRole('button', {name: 'Withdraw'})});
  const count = await rows.count();
  check(count >= HOSTILE.length / 5, `only ${count} questions are open`);
  for (let at = 0; at < count; at++) {
    await rows.nth(at).locator('.answers .button').first().click();
    await page.getByRole('dialog').waitFor();
    same(await foreignElements(page), [], 'elements of a dialog with an answer');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({state: 'detached'});
  }
}

async function everywhere(desk) {
  const server = await desk.server({name: '<b>x</b>'});
  const counts = {taken: 0, refused: 0};
  await server.api('PUT', '/v1/config', {version: (await server.api('GET', '/v1/config')).version, document: POLICY});
  const worker = await Worker.register(server, 'w1', ['hostile'], 100);
  const ids = [];
  for (const [at, text] of HOSTILE.entries()) {
    const id = await hostileTask(server, counts, text, 'hostile', at);
    await runHostile(server, counts, worker, text, at);
    await hostileAround(server, counts, text, at, id);
    ids.push(id);
  }
  desk.figure('hostile strings', HOSTILE.length, `in ${counts.taken} fields that took them; ${counts.refused} were refused`);
  const page = await desk.page(server);
  const [waiting] = await server.api('GET', '/v1/tasks?limit=1&view=summary').then(answer => answer.tasks.map(task => task.id));
  for (const [name, path] of everyPage({waiting, running: waiting, ...JSON.parse(JSON.stringify(await exemplars(server)))})) await look(page, name, path);
  for (const id of ids) for (const tab of ['log', 'data', 'events', 'transcript']) await look(page, `task ${id}, ${tab}`, `/tasks/${id}?tab=${tab}`);
  for (const text of HOSTILE) {
    await look(page, `Tasks with ${text.slice(0, 40)}`, `/tasks?q=${encodeURIComponent(text)}&peek=${encodeURIComponent(text)}`);
    await look(page, `Queues with ${text.slice(0, 40)}`, `/queues?find=${encodeURIComponent(text)}&kind=${encodeURIComponent(text)}`);
    await look(page, `path with ${text.slice(0, 40)}`, `/dlq/${encodeURIComponent(text)}?type=${encodeURIComponent(text)}`);
    await look(page, `task with ${text.slice(0, 40)}`, `/tasks/${encodeURIComponent(text)}`);
  }
  const {sessions} = await server.api('GET', '/v1/sessions?limit=1000');
  check(sessions.length >= HOSTILE.length, `there are only ${sessions.length} sessions`);
  for (const {owner, name} of sessions) await look(page, `session ${name}`, `/sessions/${owner}/${encodeURIComponent(name)}`);
  const {conversations} = await server.api('GET', '/v1/conversations');
  for (const {owner, key} of conversations) await look(page, `conversation ${key}`, `/conversations/${owner}/${encodeURIComponent(key)}`);
  await hostileAnswers(page);
  await page.keyboard.press('Control+k');
  for (const text of HOSTILE.slice(0, 12)) {
    await page.locator('dialog[open] input, [role=dialog] input').first().fill(text.slice(0, 300));
    same(await foreignElements(page), [], 'elements in the palette');
  }
}

export default [{name: 'sixty strings in every field, on every page', ms: 600_000, run: everywhere}];
