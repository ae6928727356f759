// What it costs: the size of the page, the server at rest with one dashboard open, and a watcher at 5,000 events a second.
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {show} from './lib/browser.mjs';
import {Churn} from './lib/churn.mjs';
import {makeFleet} from './lib/fleet.mjs';
import {watchEvents} from './lib/socket.mjs';
import {check, until} from './lib/until.mjs';
import {enqueue} from './lib/worker.mjs';

const wait = ms => new Promise(resolve => setTimeout(resolve, ms));

async function size(desk) {
  const {gzip_bytes: bytes} = JSON.parse(readFileSync(join(desk.web, 'out/manifest.json'), 'utf8'));
  desk.figure('the whole page, gzip', Math.round(bytes / 102.4) / 10, 'KB', 100);
  const server = await desk.server();
  const page = await desk.page(server);
  const loaded = await page.evaluate(() => performance.getEntriesByType('resource').filter(entry => entry.name.includes('/assets/')).reduce((sum, entry) => sum + entry.encodedBodySize, 0));
  desk.figure('what a browser loads of it', Math.round(loaded / 102.4) / 10, 'KB', 100);
}

const REST_MS = 20_000;

async function atRest(desk) {
  for (const store of ['sqlite', 'redis']) {
    const server = await desk.server({store});
    await makeFleet(server, {total: 2000, running: 4});
    const page = await desk.page(server, {path: '/overview'});
    await show(page, '/overview');
    await wait(3000);  // what a start does is over
    const before = server.usage();
    await wait(REST_MS);
    const after = server.usage();
    desk.figure(`server at rest, one dashboard open, ${store}`, Math.round(((after.cpuSeconds - before.cpuSeconds) / (REST_MS / 1000)) * 10_000) / 100, '% of a core', 1);
    desk.figure(`its memory, ${store}`, Math.round(after.residentMb), 'MB', 40);
    await page.context().close();
  }
}

const EVENTS_PER_SECOND = 5000;
const WATCHERS = 20;
const LOAD_MS = 8000;

async function cpuWith(server, churn, watchers) {
  const open = await Promise.all(Array.from({length: watchers}, () => watchEvents(server)));
  churn.start();
  await wait(1000);
  const before = server.usage().cpuSeconds;
  await wait(LOAD_MS);
  const cpu = (server.usage().cpuSeconds - before) / (LOAD_MS / 1000);
  const rate = await churn.stop();
  check(open.every(watcher => watcher.isOpen && watcher.bytes > 10_000), 'a watcher was cut off, or heard nothing');
  open.forEach(watcher => watcher.close());
  return {cpu, rate};
}

async function perWatcher(desk) {
  const server = await desk.server();
  await enqueue(server, Array.from({length: 2000}, (_, at) => ({type: 'fix', queue: 'eng', prompt: `Fix ${at}`})));
  const churn = await Churn.prepare(server, 'eng', EVENTS_PER_SECOND);
  const alone = await cpuWith(server, churn, 0);
  const watched = await cpuWith(server, churn, WATCHERS);
  desk.figure('events a second, nobody watching', alone.rate, `at ${Math.round(alone.cpu * 100)} % of a core`);
  desk.figure(`events a second, ${WATCHERS} watchers`, watched.rate, `at ${Math.round(watched.cpu * 100)} % of a core`);
  // A busy machine does not make the same number of events both times, so it is by event.
  const perEvent = (watched.cpu / watched.rate - alone.cpu / alone.rate) / WATCHERS;
  desk.figure(`CPU of the server for one watcher, for ${EVENTS_PER_SECOND} events a second`, Math.round(perEvent * EVENTS_PER_SECOND * 10_000) / 100, '% of a core');
  await until('the server answers', async () => (await server.ask('GET', '/v1/me')).status === 200);
}

export default [
  {name: 'size', run: size},
  {name: 'the server at rest', ms: 180_000, run: atRest},
  {name: 'a watcher', ms: 180_000, run: perWatcher},
];
