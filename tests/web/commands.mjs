// Every command that the page shows does the same in a terminal: the command line takes it, and means the same tasks.
import {execFile} from 'node:child_process';
import {dirname} from 'node:path';
import {promisify} from 'node:util';
import {show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {exemplars} from './lib/pages.mjs';
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

export default [
  {name: 'a list, as a command, has the same tasks', run: lists},
  {name: 'an operation, as a command, means the same tasks', run: operations},
  {name: 'other dialogs', run: others},
];
