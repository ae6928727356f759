// What the page says and keeps when the connection goes: killed server, cut socket, gap, a store that went backwards, an ended sign-in.
import {existsSync} from 'node:fs';
import {copyFile, rm} from 'node:fs/promises';
import {createServer, connect} from 'node:net';
import {isLive, show, signInWith} from './lib/browser.mjs';
import {makeFleet} from './lib/fleet.mjs';
import {check, same, until} from './lib/until.mjs';
import {enqueue} from './lib/worker.mjs';

const SAYS_SO_MS = 5000;

/** What Tasks shows, compared with what the server has. */
async function endsEqual(page, server, query = '') {
  const wanted = async () => (await server.api('GET', `/v1/tasks?view=summary&limit=12${query}`)).tasks.map(task => `${task.state} ${task.excerpt}`);
  const shown = () => page.evaluate(() => [...document.querySelectorAll('.row:not([hidden])')].sort((one, other) => one.getAttribute('aria-rowindex') - other.getAttribute('aria-rowindex'))
    .slice(0, 12).map(row => `${row.querySelector('.state').textContent} ${row.querySelector('.what-text').textContent}`));
  await until('the view is equal to the server', async () => JSON.stringify(await shown()) === JSON.stringify(await wanted()), 15_000).catch(async error => {
    throw new Error(`${error.message}: ${JSON.stringify(await shown())} instead of ${JSON.stringify(await wanted())}`);
  });
}

async function tasksPage(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 80});
  const page = await desk.page(server, {path: '/tasks'});
  await endsEqual(page, server);
  return {server, page};
}

async function killed(desk) {
  const {server, page} = await tasksPage(desk);
  const before = await page.locator('.row:not([hidden])').count();
  await server.down('SIGKILL');
  await page.locator('.live.offline, .live.resuming').waitFor({timeout: SAYS_SO_MS});
  await page.locator('.live.offline').waitFor();
  same(await page.locator('.row:not([hidden])').count(), before, 'rows that are shown while the server is away');
  await page.getByRole('button', {name: 'Stop'}).click();
  check(await page.getByRole('dialog').getByRole('button', {name: 'Stop', exact: true}).isDisabled(), 'Stop can be pressed while the server is away');
  await page.keyboard.press('Escape');
  await server.up();
  await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Made after the restart'}]);
  await isLive(page, 15_000);
  await endsEqual(page, server);
}

/** Passes bytes on to the server, and can cut what goes through it. */
async function cable(server) {
  const pairs = new Set();
  const listener = createServer(near => {
    const far = connect(server.port, '127.0.0.1');
    const pair = [near, far];
    pairs.add(pair);
    for (const end of pair) end.on('error', () => {}).on('close', () => pairs.delete(pair));
    near.pipe(far).pipe(near);
  });
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
  return {port: listener.address().port, cut: () => [...pairs].flat().forEach(end => end.destroy()), close: () => listener.close()};
}

async function cutSocket(desk) {
  const {server} = await tasksPage(desk);
  const wire = await cable(server);
  const through = Object.create(server, {url: {value: `http://127.0.0.1:${wire.port}`}});
  const page = await desk.page(through, {token: server.admin, path: '/tasks'});
  for (let at = 0; at < 3; at++) {
    wire.cut();
    await page.locator('.live.resuming, .live.offline').waitFor({timeout: SAYS_SO_MS});
    await enqueue(server, [{type: 'fix', queue: 'eng', prompt: `Made while it was cut ${at}`}]);
    await isLive(page, 15_000);
    await endsEqual(page, server);
  }
  wire.close();
}

/** The socket as the page sees it, so that a test can say what the server says rarely. */
async function withSocket(desk, path) {
  const server = await desk.server();
  await makeFleet(server, {total: 80});
  const page = await desk.page(server);
  let say = null;
  let close = null;
  await page.routeWebSocket(/\/v1\/ws/, socket => {
    socket.connectToServer();
    say = frame => socket.send(JSON.stringify(frame));
    close = options => socket.close(options);
  });
  await page.reload();
  await isLive(page);
  await show(page, path);
  return {server, page, say: frame => say(frame), close: options => close(options)};
}

async function gap(desk) {
  const {server, page, say} = await withSocket(desk, '/tasks');
  await endsEqual(page, server);
  const {seq} = await server.api('GET', '/v1/events/last');
  const asked = [];
  page.on('request', request => request.url().includes('/v1/tasks?') && asked.push(request.url()));
  say({kind: 'gap', seq});
  await page.locator('.live.gap').waitFor({timeout: SAYS_SO_MS});
  await until('the list is fetched again', () => asked.length > 0);
  await isLive(page);
  await endsEqual(page, server);
}

async function tooSlow(desk) {
  const {server, page, close} = await withSocket(desk, '/tasks');
  close({code: 1013, reason: 'too slow'});
  await page.locator('.live.resuming, .live.offline').waitFor({timeout: SAYS_SO_MS});
  await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Made meanwhile'}]);
  await isLive(page, 15_000);
  await endsEqual(page, server);
}

/** Somebody puts back yesterday's file: the numbers of events begin again at an older one. */
async function wentBackwards(desk) {
  const server = await desk.server();
  await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Is in the backup'}]);
  const file = `${server.folder}/drover.db`;
  await server.down();
  const parts = ['', '-wal', '-shm'].filter(end => existsSync(file + end));
  for (const end of parts) await copyFile(file + end, `${server.folder}/backup.db${end}`);
  await server.up();
  await enqueue(server, Array.from({length: 20}, (_, at) => ({type: 'fix', queue: 'eng', prompt: `Is lost ${at}`})));
  const page = await desk.page(server, {token: server.admin, path: '/tasks'});
  await endsEqual(page, server);
  await server.down();
  await Promise.all(['', '-wal', '-shm'].map(end => rm(file + end, {force: true})));
  for (const end of parts) await copyFile(`${server.folder}/backup.db${end}`, file + end);
  await server.up();
  // The sign-in was made after the backup, so it is gone too: the page asks for another.
  await page.getByLabel('Token').waitFor({timeout: 15_000});
  await signInWith(page, server.admin);
  await isLive(page, 15_000);
  await server.cli('store', 'accept-regression').catch(() => {});
  await endsEqual(page, server);
  same(await page.locator('.row:not([hidden])').filter({hasText: 'Is lost'}).count(), 0, 'tasks that the store has no more');
}

async function revoked(desk) {
  const {server, page} = await tasksPage(desk);
  const token = await server.token('operator');
  const {tokens} = await server.api('GET', '/v1/tokens');
  const other = await desk.page(server, {token, path: '/tasks'});
  await endsEqual(other, server);
  const rows = await other.locator('.row:not([hidden])').count();
  await server.api('DELETE', `/v1/tokens/${tokens[0].id}`);
  await other.getByText('Your sign-in has ended').waitFor({timeout: SAYS_SO_MS});
  same(await other.locator('.row:not([hidden])').count(), rows, 'rows that are shown after the token was revoked');
  await isLive(page);
  await signInWith(other, server.admin);
  await isLive(other);
  await endsEqual(other, server);
}

/** Nothing is asked for while nobody is signed in, however long the page stays open. */
async function quietWhenSignedOut(desk) {
  const server = await desk.server();
  const {runs} = await makeFleet(server, {total: 40});
  for (const path of ['/overview', '/queues', '/workers', '/costs', '/tasks', `/tasks/${runs[0].task.id}`]) {
    const page = await desk.page(server);
    await page.clock.install();
    await show(page, path);
    const {signins} = await server.api('GET', '/v1/signins');
    for (const one of signins) await server.api('DELETE', `/v1/signins/${one.id}`);
    await until('the page asks for a sign-in', async () => {
      await page.clock.runFor(500);
      return (await page.getByText('Your sign-in has ended').count()) > 0;
    });
    const asked = [];
    page.on('request', request => asked.push(request.url()));
    await page.clock.runFor(120_000);
    same(asked, [], `what ${path} asks for in two minutes after its sign-in has ended`);
    await page.context().close();
  }
}

async function frozen(desk) {
  const {server, page} = await tasksPage(desk);
  await page.keyboard.press('.');
  await page.locator('.live.frozen').waitFor();
  await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Made while it was frozen'}]);
  await page.getByText(/frozen, \d+ wait/).waitFor();
  same(await page.getByText('Made while it was frozen').count(), 0, 'rows that came while the page was frozen');
  await page.keyboard.press('.');
  await page.getByText('Made while it was frozen').waitFor();
}

async function holdsStill(desk) {
  const {server, page} = await tasksPage(desk);
  const row = page.locator('.row:not([hidden])').nth(3);
  const place = await row.boundingBox();
  await page.mouse.move(place.x + 100, place.y + 10);
  const text = await row.textContent();
  await enqueue(server, Array.from({length: 7}, (_, at) => ({type: 'fix', queue: 'eng', prompt: `Comes in ${at}`})));
  await page.getByRole('button', {name: /7 new/}).waitFor();
  same((await page.locator('.row:not([hidden])').nth(3).locator('.what-text').textContent()), await row.locator('.what-text').textContent(), 'the row under the pointer');
  check(text.length > 0, 'the row is empty');
  await page.mouse.move(5, 5);
  await page.getByText('Comes in 6').waitFor();
}

/** Another server at the same address, with other tasks: what the first one had is gone. */
async function secondServer(desk) {
  const {server, page} = await tasksPage(desk);
  const second = await desk.server({name: 'second'});
  await enqueue(second, [{type: 'other', queue: 'other', prompt: 'Of the second server'}]);
  await server.down('SIGKILL');
  await second.down('SIGKILL');
  await page.locator('.live.offline').waitFor({timeout: 2 * SAYS_SO_MS});
  second.port = server.port;
  await second.up();
  await page.getByLabel('Token').waitFor({timeout: 15_000});
  await signInWith(page, second.admin);
  await isLive(page, 15_000);
  await endsEqual(page, second);
}

export default [
  {name: 'killed server', run: killed},
  {name: 'cut socket', run: cutSocket},
  {name: 'gap', run: gap},
  {name: 'close 1013', run: tooSlow},
  {name: 'a store that went backwards', run: wentBackwards},
  {name: 'revoked token', run: revoked},
  {name: 'no request while nobody is signed in', run: quietWhenSignedOut},
  {name: 'a second server at the same address', run: secondServer},
  {name: 'frozen by hand', run: frozen},
  {name: 'rows hold still under the pointer', run: holdsStill},
];
