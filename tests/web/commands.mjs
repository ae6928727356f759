// Every command that the page shows does the same in a terminal: the command line takes it, and means the same tasks.
import {execFile} from 'node:child_process';
import {dirname} from 'node:path';
import {promisify} from 'node:util';
import {show} from './lib/browser.mjs';
import {addWaiting, makeFleet, setPolicy} from './lib/fleet.mjs';
import {exemplars} from './lib/pages.mjs';
import {addConversations, addQuestions, addSessions, addSpend, PEOPLE_POLICY} from './lib/people.mjs';
import {check, same, until} from './lib/until.mjs';

const run = promisify(execFile);

/** In a shell, as somebody who pastes it; `drover` is the program that is tested. */
async function inShell(server, text) {
  const {stdout} = await run('bash', ['-ec', text], {env: {...server.environment, PATH: `${dirname(server.drover)}:${process.env.PATH}`}, cwd: server.folder, timeout: 30_000, maxBuffer: 64 << 20});
  return stdout;
}

const copied = page => page.evaluate(() => navigator.clipboard.readText());

const QUERIES = [
  '', 'state:failed', 'state:failed,pending type:fix,review', 'queue:eng,ops owner:ann,bob', 'tag:nightly,release', 'class:timeout', 'model:opus', 'gate:queue:ops',
  'worker:build-7', 'since:1h', 'until:1s', 'finished_after:1h', 'finished_before:1s', 'escalated:false state:failed', 'order:oldest', 'order:newest state:failed', 'parser',
  '"the release notes"', "it's", 'id:01',
];

async function lists(desk) {
  const server = await desk.server();
  const fleet = await makeFleet(server, {total: 150});
  await addWaiting(server, fleet.random, {held: 20});
  const {fingerprint, failed} = await exemplars(server);
  const page = await desk.page(server, {permissions: ['clipboard-read', 'clipboard-write']});
  for (const query of [...QUERIES, `fingerprint:${fingerprint}`, `spawner:${failed}`, 'agent_id:nobody']) {
    await show(page, `/tasks?q=${encodeURIComponent(query)}`);
    await page.locator('.total').waitFor();
    await until('the list has loaded', () => page.evaluate(() => document.querySelector('.total').textContent !== ''));
    const total = Number((await page.locator('.total').textContent()).replace(/\D/g, ''));
    await page.locator('.total').click();
    const command = await until('a command was copied', async () => {
      const text = await copied(page);
      return text.startsWith('drover list') ? text : null;
    });
    await page.evaluate(() => navigator.clipboard.writeText(''));
    const ids = (await inShell(server, `${command} --limit 10000 --quiet`)).split('\n').filter(Boolean);
    same(ids.length, total, `tasks of ${command} for "${query}"`);
  }
}

const BULK = [
  ['Cancel…', 'state:pending type:fix,review'], ['Cancel…', 'queue:eng,ops gate:queue:ops'], ['Edit…', 'state:pending tag:nightly,release'], ['Retry…', 'state:failed class:timeout'],
  ['Delete…', 'state:completed type:fix'], ['Delete…', 'state:failed type:fix'], ['Escalate…', 'state:failed owner:ann,bob'], ['Cancel…', 'model:opus since:1h state:pending'],
];

async function operations(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 400});
  const page = await desk.page(server);
  for (const [button, query] of BULK) {
    await show(page, `/tasks?q=${encodeURIComponent(query)}`);
    await page.locator('.row:not([hidden]) .box').first().click();
    await page.getByText(/^Select all/).click();
    await page.getByRole('button', {name: button}).click();
    const dialog = page.getByRole('dialog');
    if (button === 'Escalate…') await dialog.getByLabel('To').fill('ada');
    if (button === 'Edit…') await dialog.getByLabel('Priority').selectOption('3');
    const shown = await dialog.locator('.bulk-total strong').first().textContent();
    const command = await dialog.locator('.command code').textContent();
    const said = JSON.parse(await inShell(server, `${command} --dry-run --json`));
    same(said.matched, Number(shown.replace(/\D/g, '')), `tasks of ${command}`);
    await page.keyboard.press('Escape');
    await dialog.waitFor({state: 'detached'});
  }
}

/** Commands of the other dialogs, with the state that they lead to. */
async function others(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 100});
  const page = await desk.page(server, {path: '/queues'});
  await page.getByRole('row').filter({hasText: 'eng'}).getByRole('button', {name: 'Pause'}).click();
  await page.getByRole('dialog').getByLabel(/Reason/).fill("it's late");
  await inShell(server, await page.getByRole('dialog').locator('.command code').textContent());
  const {gates} = await server.api('GET', '/v1/gates');
  check(gates.some(gate => gate.name === 'queue:eng' && gate.closed_until && gate.holds.some(hold => hold.why === "it's late")), 'the command does not pause the queue');
  await page.keyboard.press('Escape');
  await show(page, '/costs');
  check((await inShell(server, await page.locator('.command code').textContent())).length > 10, 'the command of Costs prints nothing');
  await page.getByRole('button', {name: 'Stop'}).click();
  await inShell(server, await page.getByRole('dialog').locator('.command code').textContent());
  await page.getByRole('dialog').getByText(/The gate all was closed/).waitFor();
}

/** Opens a dialog, fills it, and runs its command in a shell instead of pressing its button. */
async function runDialog(page, server, path, open, fill = async () => {}) {
  await show(page, path);
  await open(page);
  const dialog = page.getByRole('dialog');
  await fill(dialog);
  await inShell(server, await dialog.locator('.command code').textContent());
  await page.keyboard.press('Escape');
  await dialog.waitFor({state: 'detached'});
}

const VALUES = ["it's", '-f', '--json', '$(id)', 'two\nlines'];

async function forPeople(desk) {
  const server = await desk.server();
  await setPolicy(server, PEOPLE_POLICY);
  const {questions} = await addQuestions(server, 'ann', [
    {text: 'Which?', options: ['--all', 'none']}, {text: 'Settings?', schema: {type: 'object'}}, {text: 'Gone?'}, ...VALUES.map(text => ({text})),
  ]);
  await addSessions(server);
  await addSpend(server);
  await addConversations(server);
  const page = await desk.page(server);
  const answer = async at => (await server.api('GET', `/v1/questions/${questions[at].id}`)).answer;
  const row = text => page.getByRole('row').filter({has: page.getByText(text, {exact: true})});
  await runDialog(page, server, '/', () => row('Which?').getByRole('button', {name: '--all'}).click());
  same(await answer(0), '--all', 'an option that looks like a flag');
  await runDialog(page, server, '/questions', () => row('Settings?').getByRole('button', {name: 'Answer…'}).click(), dialog => dialog.getByLabel('Answer').fill('{"replicas": 3}'));
  same(await answer(1), {replicas: 3}, 'an answer in JSON');
  await runDialog(page, server, '/', () => row('Gone?').getByRole('button', {name: 'Withdraw'}).click(), dialog => dialog.getByLabel(/Reason/).fill("it's late"));
  same((await server.api('GET', `/v1/questions/${questions[2].id}`)).why, "it's late", 'why the question was withdrawn');
  for (const [at, value] of VALUES.entries()) {
    await runDialog(page, server, `/tasks/${questions[at + 3].task_id}`, () => page.getByRole('button', {name: 'Answer…'}).click(), dialog => dialog.getByLabel('Answer').fill(value));
    same(await answer(at + 3), value, 'a typed answer');
  }
  await runDialog(page, server, '/queues?find=owner:ann', () => page.getByRole('button', {name: 'Raise'}).first().click(), dialog => dialog.getByLabel(/Add/).fill('5.50'));
  same((await server.api('GET', '/v1/budgets')).budgets.find(budget => budget.gate === 'owner:ann').raised, 5.5, 'what the budget was raised by');
  await runDialog(page, server, '/sessions/ann/reviewer', () => page.getByRole('button', {name: 'Reset'}).click(), dialog => dialog.getByLabel(/Reason/).fill('a new start'));
  check((await server.api('GET', '/v1/sessions/ann/reviewer')).reset_at !== null, 'the command does not reset the session');
  await runDialog(page, server, '/conversations/ann/agent-7', () => page.getByRole('button', {name: 'Clear'}).click());
  same((await server.api('GET', '/v1/conversations/agent-7?owner=ann')).items, [], 'items after the command');
  for (const path of ['/sessions/ann/reviewer', '/conversations/ann/agent-8']) {
    await show(page, path);
    check((await inShell(server, await page.locator('.command code').last().textContent())).length > 10, `the command of ${path} prints nothing`);
  }
}

export default [
  {name: 'answers, budgets, sessions, conversations', run: forPeople},
  {name: 'a list, as a command, has the same tasks', run: lists},
  {name: 'an operation, as a command, means the same tasks', run: operations},
  {name: 'other dialogs', run: others},
];
