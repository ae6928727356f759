// Nothing sticks out, overlaps or begins askew: every page at 390 and 1280 px.
import {settled, show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {everyPage, exemplars} from './lib/pages.mjs';
import {addPeople} from './lib/people.mjs';
import {check, same} from './lib/until.mjs';

/** One line for each thing that is wider than its place. */
const tooWide = page => page.evaluate(() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  for (const cell of document.querySelectorAll('table.list td, .figure, .gate > *, dialog[open] *')) {
    const clips = ['hidden', 'auto', 'scroll', 'clip'].includes(getComputedStyle(cell).overflowX);
    if (!clips && cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth > 0 && getComputedStyle(cell).display !== 'inline')
      found.push(`${cell.className || cell.tagName} is ${cell.scrollWidth} px wide in ${cell.clientWidth}: ${cell.textContent.slice(0, 40)}`);
  }
  return found;
});

async function everyPageFits(desk) {
  const server = await desk.server({name: 'a server with quite a long name'});
  const fleet = await makeFleet(server, {total: 2000, done: 90});
  await addWaiting(server, fleet.random, {held: 300});
  await addPeople(server);
  const pages = everyPage(await exemplars(server));
  const found = [];
  for (const size of ['narrow', 'wide']) {
    const page = await desk.page(server, {size});
    for (const [name, path] of pages) {
      await show(page, path);
      await settled(page);
      for (const one of await tooWide(page)) found.push(`${name}, ${size}: ${one}`);
    }
    await page.context().close();
  }
  desk.figure('things that are too wide', found.length, `on ${pages.length} pages`, 0);
  check(found.length === 0, found.slice(0, 30).join('\n        '));
}

async function cardsBeginTogether(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 40});
  const page = await desk.page(server, {size: 'narrow', path: '/tasks'});
  await page.locator('.row:not([hidden])').first().waitFor();
  const starts = await page.evaluate(() => [...document.querySelectorAll('.row:not([hidden])')].slice(0, 6).map(row =>
    ['.card-state .state', '.what-text', '.card-meta'].map(part => Math.round(row.querySelector(part).getBoundingClientRect().left))));
  for (const [state, title, meta] of starts) same([state, meta], [title, title], 'where state, title and details of a card begin');
  const boxes = page.locator('.row:not([hidden]) .box input');
  await boxes.first().click();
  await page.getByText('1 task selected').waitFor();
}

async function nameStays(desk) {
  const server = await desk.server({name: 'staging'});
  const page = await desk.page(server, {size: 'narrow', path: '/overview'});
  await server.down('SIGKILL');
  await page.locator('.live.offline').waitFor();
  const {scrollWidth, clientWidth} = await page.locator('.topbar-server').evaluate(element => ({scrollWidth: element.scrollWidth, clientWidth: element.clientWidth}));
  check(scrollWidth <= clientWidth, `the name of the server is cut to ${clientWidth} of ${scrollWidth} px while it is away`);
}

/** What comes later does not push what somebody is about to press. */
async function nothingJumps(desk) {
  const server = await desk.server();
  const fleet = await makeFleet(server, {total: 200});
  await addWaiting(server, fleet.random);
  const page = await desk.page(server);
  for (const path of ['/overview', '/queues', '/dlq', '/workers']) {
    await page.evaluate(() => {
      window.shifts = [];
      new PerformanceObserver(list => list.getEntries().forEach(entry => window.shifts.push(entry.value))).observe({type: 'layout-shift'});
    });
    await show(page, path);
    await page.mouse.move(700, 400);
    const before = await page.evaluate(() => window.shifts.length);
    await fleet.worker.settle((await fleet.worker.claim(2)).map(one => ({task_id: one.task.id, lease_id: one.lease_id, end: 'complete', exit_code: 0})));
    await settled(page);
    const moved = await page.evaluate(from => window.shifts.slice(from).reduce((sum, one) => sum + one, 0), before);
    desk.figure(`shift of the layout on ${path} while it is watched`, Math.round(moved * 1000) / 1000, '', 0.1);
  }
}

export default [
  {name: 'every page fits', ms: 300_000, run: everyPageFits},
  {name: 'state, title and details of a card begin at the same place', run: cardsBeginTogether},
  {name: 'the name of a server that is away can be read', run: nameStays},
  {name: 'nothing jumps', run: nothingJumps},
];
