// Pictures of every page in both themes and both sizes, for people to look at: --pictures names the folder. A fleet with 10,000 tasks, an
// empty one, and a server that is away.
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {settled, show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {everyPage, exemplars} from './lib/pages.mjs';
import {addPeople} from './lib/people.mjs';

const TASKS = Number(process.env.DROVER_LOOK_TASKS ?? 10_000);
const ONLY = process.env.DROVER_LOOK_PAGES ?? '';  // a part of their names
const NOBODY = '01920f5e-7a3c-7def-8123-456789abcdef';

async function shoot(desk, page, name) {
  await settled(page);
  await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 150)));
  await settled(page);
  await page.screenshot({path: join(desk.pictures, `${name}.png`)});
}

async function full(desk) {
  mkdirSync(desk.pictures, {recursive: true});
  const server = await desk.server({name: 'staging'});
  const fleet = await makeFleet(server, {total: TASKS, done: 90});
  await addWaiting(server, fleet.random, {held: 300});
  await addPeople(server);
  const pages = everyPage(await exemplars(server)).filter(([name]) => name.includes(ONLY));
  for (const size of ['wide', 'narrow'])
    for (const theme of ['light', 'dark']) {
      const page = await desk.page(server, {size, theme});
      for (const [name, path] of pages) {
        await show(page, path);
        await shoot(desk, page, `${name}.${size}.${theme}`);
      }
    }
}

async function emptyAndAway(desk) {
  mkdirSync(desk.pictures, {recursive: true});
  const server = await desk.server({name: 'staging'});
  for (const size of ['wide', 'narrow']) {
    const page = await desk.page(server, {size});
    for (const [name, path] of everyPage({failed: NOBODY, running: NOBODY, waiting: NOBODY, fingerprint: '000000000000'}).filter(([page]) => page.includes(ONLY))) {
      await show(page, path);
      await shoot(desk, page, `empty-${name}.${size}`);
    }
  }
  await makeFleet(server, {total: 100});
  for (const size of ['wide', 'narrow']) {
    const page = await desk.page(server, {size, path: '/overview'});
    await settled(page);
    await server.down('SIGKILL');
    await page.locator('.live.offline').waitFor();
    await shoot(desk, page, `offline-overview.${size}`);
    await page.getByRole('button', {name: 'Stop'}).click();
    await shoot(desk, page, `offline-stop.${size}`);
    await server.up();
  }
}

export default [
  {name: `every page, ${TASKS} tasks`, ms: 900_000, run: full},
  {name: 'an empty fleet, and a server that is away', ms: 300_000, run: emptyAndAway},
];
