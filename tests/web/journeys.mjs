// The four questions of somebody who sees the dashboard for the first time, answered with the page alone, and what else people come for.
import {show} from './lib/browser.mjs';
import {makeFleet, setPolicy} from './lib/fleet.mjs';
import {check, same, until} from './lib/until.mjs';
import {complete, enqueue, fail, Worker} from './lib/worker.mjs';

async function whichGate(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 100});
  await server.api('POST', '/v1/gates/provider:anthropic', {action: 'close', why: 'the key is over its limit'});
  await setPolicy(server, {types: {ask: {provider: 'anthropic'}}});
  await enqueue(server, Array.from({length: 300}, (_, at) => ({type: 'ask', queue: 'eng', prompt: `Ask ${at}`})));
  const page = await desk.page(server, {path: '/overview'});
  const row = page.getByRole('row').filter({hasText: 'provider:anthropic'});
  await row.getByText('300', {exact: true}).waitFor();
  await row.getByText('the key is over its limit').waitFor();
  await row.getByRole('link', {name: '300', exact: true}).click();
  await page.locator('.total', {hasText: '300 tasks'}).waitFor();
  await page.goBack();
  await row.getByRole('button', {name: 'Open'}).click();
  await page.getByRole('dialog').getByText(/Opening it releases 300 tasks/).waitFor();
  await page.getByRole('dialog').getByText(/room for 6 at once/).waitFor();
  await page.getByRole('dialog').getByRole('button', {name: 'Open', exact: true}).click();
  await until('nothing is held by it any more', async () => !(await server.api('GET', '/v1/stuck')).groups.some(group => group.gate === 'provider:anthropic'));
  await row.waitFor({state: 'detached'});
}

async function whyFailedTwice(desk) {
  const server = await desk.server();
  await setPolicy(server, {types: {fix: {max_attempts: 2, retry: 'fixed:1ms', breaker: 'off'}}});
  const worker = await Worker.register(server, 'w1', ['eng']);
  const [id] = await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Fix the parser'}]);
  for (const message of ['first it ran out of turns', 'then the tests failed']) {
    const [claimed] = await until('it can be claimed', async () => {
      const found = await worker.claim(1);
      return found.length ? found : null;
    });
    await worker.say(claimed, `about to end: ${message}\n`, 'stderr');
    await worker.settle([fail(claimed, 'agent_error', message, {exit_code: 1})]);
  }
  const page = await desk.page(server, {path: '/tasks?q=state:failed'});
  await page.getByText('Fix the parser').click();
  await page.getByRole('link', {name: 'Open'}).click();
  await page.locator('.error-box').getByText('then the tests failed').waitFor();
  const runs = page.locator('.task-head');
  await runs.getByText('first it ran out of turns').waitFor();
  await page.getByText('about to end: then the tests failed').waitFor();
  await page.getByRole('combobox').first().selectOption('1');
  await page.getByText('about to end: first it ran out of turns').waitFor();
  same(page.url().includes('run=1'), true, 'the address names the run');
  check(id.length === 36, id);
}

async function whichWorkerIsIdle(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 60});
  const page = await desk.page(server, {path: '/workers'});
  await page.getByText('1 idle').waitFor();
  await page.getByRole('link', {name: 'Idle', exact: true}).click();
  await page.getByText('build-8').waitFor();
  same(await page.getByText('build-7').count(), 0, 'workers that work in the list of idle ones');
}

async function stopEverything(desk) {
  const server = await desk.server();
  const {worker, runs} = await makeFleet(server, {total: 100});
  const page = await desk.page(server, {path: '/overview'});
  await page.getByRole('button', {name: 'Stop'}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`Also cancel what is running (${runs.length} tasks)`).click();
  await dialog.getByLabel(/Reason/).fill('the budget is gone');
  await dialog.getByRole('button', {name: 'Stop and cancel'}).click();
  await dialog.getByText('tasks still run').waitFor();
  same(await dialog.getByText('Stopped.').count(), 0, 'it says "Stopped" while tasks run');
  const asked = async () => (await Promise.all(runs.map(one => server.api('GET', `/v1/tasks/${one.task.id}`)))).every(task => task.cancel_requested_at !== null);
  await until('all that run are asked to stop', asked);
  await worker.settle(runs.map(one => ({task_id: one.task.id, lease_id: one.lease_id, end: 'cancelled'})));
  await dialog.getByText('Stopped.').waitFor();
  same((await worker.claim(5)).length, 0, 'tasks that started after Stop');
  await dialog.getByText('the budget is gone').waitFor();
  await dialog.getByRole('button', {name: 'Open again'}).click();
  await until('the gate is open', async () => !(await server.api('GET', '/v1/gates')).gates.some(gate => gate.name === 'all' && gate.closed_until));
}

async function bulkOverSeveralTypes(desk) {
  const server = await desk.server();
  await enqueue(server, ['a', 'b', 'c'].flatMap(type => Array.from({length: 150}, (_, at) => ({type, queue: 'q', owner: at % 2 ? 'ann' : 'bob', prompt: `${type} ${at}`}))));
  const page = await desk.page(server, {path: '/tasks?q=type:a,b owner:ann,bob'});
  await page.locator('.total', {hasText: '300 tasks'}).waitFor();
  await page.locator('.row:not([hidden]) .box').first().click();
  await page.getByText('Select all 300 tasks that match').click();
  await page.getByRole('button', {name: 'Cancel…'}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', {name: 'Cancel 300 tasks'}).waitFor();
  same(await dialog.locator('.command code').textContent(), 'drover cancel --type a,b --owner ann,bob', 'the command');
  await dialog.getByRole('button', {name: 'Cancel 300 tasks'}).click();
  await dialog.getByText('300 cancelled').waitFor();
  same((await server.api('GET', '/v1/stats')).tasks, {...(await server.api('GET', '/v1/stats')).tasks, cancelled: 300, pending: 150}, 'the tasks');
}

async function costsAtTheDoor(desk) {
  const server = await desk.server();
  const worker = await Worker.register(server, 'w1', ['eng']);
  await enqueue(server, [{type: 'ask', queue: 'eng', prompt: 'Ask'}, {type: 'unpriced', queue: 'eng', prompt: 'Has no price'}]);
  const claimed = await worker.claim(2);
  const ask = claimed.find(one => one.task.type === 'ask');
  await server.api('POST', `/v1/tasks/${ask.task.id}/usage`, {lease_id: ask.lease_id, usage: {input_tokens: 900, output_tokens: 80, cost_usd: 0.25, cost_basis: 'reported', models: {opus: {input_tokens: 900, output_tokens: 80, cost_usd: 0.25}}}});
  const unpriced = claimed.find(one => one.task.type === 'unpriced');
  await server.api('POST', `/v1/tasks/${unpriced.task.id}/usage`, {lease_id: unpriced.lease_id, usage: {input_tokens: 700, output_tokens: 10, unpriced_tokens: 710}});
  const page = await desk.page(server, {path: '/costs'});
  await page.locator('.figure').filter({hasText: 'Spent'}).getByText('$0.25').waitFor();
  await page.getByRole('row').filter({hasText: 'ask'}).getByText('$0.25').waitFor();
  await worker.settle(claimed.map(one => complete(one)));
  await page.reload();
  await page.getByRole('row').filter({hasText: 'ask'}).getByText('$0.25').waitFor();
  await page.getByRole('row').filter({hasText: 'unpriced'}).getByText('not reported', {exact: true}).waitFor();
  await show(page, '/costs?by=model');
  await page.getByRole('row').filter({hasText: 'opus'}).getByText('$0.25').waitFor();
}

async function logByLongPoll(desk) {
  const server = await desk.server();
  const {worker, runs: [first]} = await makeFleet(server, {total: 30});
  const page = await desk.page(server);
  const asked = [];
  page.on('request', request => request.url().includes('/log?') && asked.push(request.url()));
  await show(page, `/tasks/${first.task.id}`);
  await page.getByText('running make check').waitFor();
  await until('it waits for more', () => asked.some(url => url.includes('wait=')));
  const before = asked.length;
  for (let at = 0; at < 3; at++) {
    await worker.say(first, `line ${at}\n`);
    await page.getByText(`line ${at}`).waitFor();
  }
  check(asked.length - before <= 4, `${asked.length - before} requests for three lines: it polls`);
  check(asked.slice(1).every(url => url.includes('wait=')), 'a request after the first one does not wait');
}

const TIME_MS = 60_000;

export default [
  {name: 'which gate holds 300 tasks back', ms: TIME_MS, run: whichGate},
  {name: 'why a task failed twice', ms: TIME_MS, run: whyFailedTwice},
  {name: 'which worker is idle', ms: TIME_MS, run: whichWorkerIsIdle},
  {name: 'stop everything, and see that it stopped', ms: TIME_MS, run: stopEverything},
  {name: 'one operation over several types and owners', run: bulkOverSeveralTypes},
  {name: 'what an agent reports while it runs is in Costs', run: costsAtTheDoor},
  {name: 'a log waits on the server instead of polling', run: logByLongPoll},
];
