// Viewer, producer and operator of two owners side by side: no id of another owner in the page, in an answer or in a frame; what a role may
// not do is not there.
import {settled, show} from './lib/browser.mjs';
import {everyPage} from './lib/pages.mjs';
import {addConversations, addQuestions, addSessions} from './lib/people.mjs';
import {check, same, until} from './lib/until.mjs';
import {enqueue, fail, Worker} from './lib/worker.mjs';

const OWNERS = ['ann', 'bob'];

async function twoOwners(server) {
  await server.api('PUT', '/v1/config', {version: (await server.api('GET', '/v1/config')).version, document: {types: {fix: {breaker: 'off', budget_per_run: {usd: 0}}}, owners: {default: {budgets: [{usd: 20, per: 'day'}]}}}});
  const worker = await Worker.register(server, 'w1', ['eng'], 100);
  const ids = {ann: [], bob: []};
  for (const owner of OWNERS) {
    ids[owner] = await enqueue(server, Array.from({length: 12}, (_, at) => ({type: 'fix', queue: 'eng', owner, prompt: `secret of ${owner} ${at}`, max_attempts: 1})));
  }
  const claimed = await worker.claim(16);
  for (const one of claimed.slice(0, 12)) {
    await worker.say(one, `printed for ${one.task.owner}\n`);
    await worker.settle([fail(one, 'agent_error', `failed for ${one.task.owner}`)]);
  }
  const questions = {};
  for (const owner of OWNERS) {
    questions[owner] = (await addQuestions(server, owner, [{text: `a question: secret of ${owner}`, options: ['yes', 'no']}])).questions[0];
    await addSessions(server, owner);
    await addConversations(server, owner, [['message', {content: `a message: secret of ${owner}`}]]);
  }
  return {worker, ids, questions};
}

/** Everything that comes to a page: bodies of answers and frames. */
function overhear(page) {
  const heard = [];
  const pending = [];
  page.on('response', response => {
    if (response.url().includes('/v1/')) pending.push(response.text().then(text => heard.push(`${response.url()} ${text}`), () => {}));
  });
  page.on('websocket', socket => socket.on('framereceived', frame => heard.push(`frame ${String(frame.payload)}`)));
  return {heard, all: () => Promise.all(pending)};
}

async function foreignIds(desk, role, owner, other, server, {worker, ids, questions}) {
  const page = await desk.page(server, {token: await server.token(role, owner)});
  const ear = overhear(page);
  await page.reload();
  await page.locator('.live.live').waitFor();
  const [mine] = ids[owner];
  const {groups} = await server.api('GET', '/v1/dlq');
  const seen = [];
  const own = [...everyPage({failed: mine, running: mine, waiting: mine, fingerprint: groups[0].fingerprint, session: `${owner}/reviewer`, conversation: `${owner}/agent-7`}),
    ['a foreign session', `/sessions/${other}/reviewer`], ['a foreign conversation', `/conversations/${other}/agent-7`], ['a foreign budget', `/queues?find=owner:${other}`]];
  for (const [name, path] of own) {
    await show(page, path);
    await settled(page);
    const text = await page.evaluate(() => document.documentElement.outerHTML);
    for (const id of ids[other]) if (text.includes(id)) seen.push(`${id} on ${name}`);
    if (text.includes(questions[other].id)) seen.push(`the question of ${other} on ${name}`);
    if (text.includes(`secret of ${other}`) || text.includes(`failed for ${other}`)) seen.push(`a text of ${other} on ${name}`);
  }
  // Another's id in the address shows nothing of the task.
  await show(page, `/tasks/${ids[other][0]}`);
  await page.getByText('There is no such task here').waitFor();
  // Something happens to tasks of both while the page watches.
  const [mark] = await enqueue(server, [{type: 'fix', queue: 'eng', owner: other, prompt: `secret of ${other}, later`}]);
  const [own2] = await enqueue(server, [{type: 'fix', queue: 'eng', owner, prompt: `of ${owner}, later`}]);
  await until('the page has heard of its own task', () => ear.heard.some(text => text.includes(own2)));
  await ear.all();
  for (const text of ear.heard) {
    for (const id of [...ids[other], mark]) if (text.includes(id) && !text.includes(`/v1/tasks/${ids[other][0]}`)) seen.push(`${id} in ${text.slice(0, 100)}`);
    if (text.includes(`secret of ${other}`)) seen.push(`a prompt of ${other} in ${text.slice(0, 100)}`);
  }
  same(seen, [], `what ${role} of ${owner} sees of ${other}`);
  check(worker.id === 'w1', worker.id);
  return page;
}

async function whatARoleMay(page, role) {
  await show(page, '/tasks');
  const names = await page.locator('nav.navigation .nav-entry').allTextContents();
  same(names.some(name => name.includes('Workers') || name.includes('Alerts')), role === 'operator', `Workers and Alerts in the navigation of ${role}`);
  same(await page.getByRole('button', {name: 'Stop'}).count(), role === 'operator' ? 1 : 0, `Stop for ${role}`);
  await page.locator('.row:not([hidden]) .box').first().click();
  const verbs = await page.locator('.selection-bar .button').allTextContents();
  const wanted = {viewer: [], producer: ['Cancel…', 'Edit…'], operator: ['Retry…', 'Cancel…', 'Edit…', 'Escalate…', 'Delete…']}[role];
  same(verbs, wanted, `what ${role} may do with selected tasks`);
  await page.keyboard.press('Escape');
  await show(page, '/');
  const asked = page.getByRole('row').filter({hasText: 'a question: secret of'});
  await asked.first().waitFor();
  same(await asked.first().getByRole('button').allTextContents(), role === 'viewer' ? [] : ['yes', 'no', 'Withdraw'], `the buttons of a question for ${role}`);
  await show(page, '/sessions');
  await page.getByText('reviewer').first().waitFor();
  same((await page.getByRole('button', {name: 'Reset'}).count()) > 0, role !== 'viewer', `Reset of a session for ${role}`);
  await show(page, '/queues');
  await page.getByRole('heading', {name: 'Budgets'}).waitFor();
  same((await page.getByRole('button', {name: 'Raise'}).count()) > 0, role === 'operator', `Raise of a budget for ${role}`);
  if (role === 'operator') return;
  await show(page, '/conversations');
  if (role === 'viewer') await page.getByText('There is no such page').waitFor();
  else await page.getByRole('link', {name: 'agent-7'}).waitFor();
  await show(page, '/workers');
  await page.getByText('There is no such page').waitFor();
}

const GATE_QUESTION = {
  id: '01920f5e-7a3c-7def-8123-456789abcdef', task_id: null, gate: 'owner:ann', owner: 'ann', generation: 0, run: 0, key: 'k', text: 'The budget of owner:ann is used up. Raise it?',
  options: ['raise', 'stop'], schema: null, default: null, to: 'human', spawner: null, patient_until: null, state: 'open', asked_at: new Date().toISOString(), expires_at: null,
  answer: null, answered_by: null, closed_at: null, why: '',
};

/** A gate asks those who may change it. */
async function whatAGateAsks(desk) {
  const server = await desk.server();
  for (const role of ['viewer', 'producer', 'operator']) {
    const page = await desk.page(server, {token: await server.token(role)});
    await page.route(/\/v1\/questions\?state=open/, route => route.fulfill({json: {questions: [GATE_QUESTION], cursor: null}}));
    await page.reload();
    const row = page.getByRole('row').filter({hasText: GATE_QUESTION.text});
    await row.waitFor();
    same(await row.getByRole('button').allTextContents(), role === 'operator' ? ['raise', 'stop', 'Withdraw'] : [], `the buttons of a gate's question for ${role}`);
    check(await row.getByRole('link', {name: 'owner:ann'}).count() === 1, 'the question does not lead to its gate');
  }
}

async function sideBySide(desk) {
  for (const store of ['sqlite', 'redis']) {
    const server = await desk.server({store});
    const fleet = await twoOwners(server);
    for (const role of ['viewer', 'producer'])
      for (const [owner, other] of [OWNERS, [...OWNERS].reverse()]) {
        const page = await foreignIds(desk, role, owner, other, server, fleet);
        await whatARoleMay(page, role);
        await page.context().close();
      }
    await whatARoleMay(await desk.page(server, {token: await server.token('operator')}), 'operator');
  }
}

export default [
  {name: 'what a gate asks', run: whatAGateAsks},
  {name: 'two owners, viewer, producer and operator, on SQLite and Redis', ms: 300_000, run: sideBySide},
];
