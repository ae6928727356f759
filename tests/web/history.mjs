// The address holds the whole view: after random clicks, Back and reload show what was there.
import {settled} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {same, seeded, until} from './lib/until.mjs';

const STEPS = 24;
const SEEDS = [1, 2, 3];

// What a person would click: links of pages, tabs, chips and rows; nothing that changes the fleet or this browser.
const CLICKABLE = 'main a[href]:not([target]):not([download]), nav.navigation a, [role=tab], .filters .chip, .row:not([hidden]) .what-text';

/** What is shown, without what changes by itself: ages, numbers, and lists of what is wrong now. */
async function glance(page) {
  await settled(page);
  return page.evaluate(() => {
    const textOf = selector => [...document.querySelectorAll(selector)].map(element => element.innerText).join(' ').replace(/\d[\d.,:]*( ?(ms|s|m|h|d))?/g, '#').replace(/\s+/g, ' ');
    const rows = document.querySelector('.total')?.textContent ?? '';
    const inputs = [...document.querySelectorAll('main input[type=search], main input[type=text]')].map(element => element.value);
    return `${location.pathname}${location.search} ${textOf('main h1, main [aria-current], main [aria-selected=true], main [aria-pressed=true], .peek h2')} ${rows} ${inputs.join('|')}`;
  });
}

/** The same at two glances, so that what is still being loaded is in it. */
async function view(page) {
  let last = '';
  return until('the view is at rest', async () => {
    const seen = `${await glance(page)}${await page.evaluate(() => new Promise(resolve => setTimeout(() => resolve(''), 120)))}`;
    const isSame = seen === last;
    last = seen;
    return isSame ? seen : null;
  });
}

async function clickSomething(page, random) {
  const all = await page.locator(CLICKABLE).all();
  for (let tries = 0; tries < 20; tries++) {
    const chosen = all[Math.floor(random() * all.length)];
    const before = page.url();
    const isClicked = await chosen.click({timeout: 700}).then(() => true, () => false);
    if (!isClicked) continue;
    await settled(page);
    if (page.url() !== before) return true;
  }
  return false;
}

async function stays(page, wanted, what) {
  await until(what, async () => (await view(page)) === wanted, 8000).catch(async () => same(await view(page), wanted, what));
}

async function randomWalk(page, seed) {
  const random = seeded(seed);
  const views = [{length: await page.evaluate(() => history.length), shown: await view(page)}];
  for (let step = 0; step < STEPS; step++) {
    if (!(await clickSomething(page, random))) break;
    await page.mouse.move(1, 1);
    const length = await page.evaluate(() => history.length);
    const entry = {length, shown: await view(page)};
    // Some changes of a view replace its entry, as typing in a filter does.
    if (length === views.at(-1).length) views[views.length - 1] = entry;
    else views.push(entry);
    if (step % 8 === 7) {
      await page.reload();
      await page.locator('.live.live').waitFor();
      await stays(page, entry.shown, `the view after a reload (seed ${seed}, step ${step})`);
    }
  }
  for (let at = views.length - 2; at >= 0; at--) {
    await page.goBack();
    await stays(page, views[at].shown, `the view after Back to step ${at} (seed ${seed})`);
  }
  return views.length;
}

async function walks(desk) {
  const server = await desk.server();
  const fleet = await makeFleet(server, {total: 150});
  await addWaiting(server, fleet.random, {held: 20});
  let views = 0;
  for (const seed of SEEDS) {
    const page = await desk.page(server, {path: '/overview'});
    views += await randomWalk(page, seed);
    await page.context().close();
  }
  desk.figure('views that Back and reload restored', views, `in ${SEEDS.length} walks`);
}

async function scrollComesBack(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 300});
  const page = await desk.page(server, {path: '/tasks'});
  await page.locator('.row:not([hidden])').first().waitFor();
  await page.evaluate(() => (document.querySelector('.table').scrollTop = 2000));
  await until('rows further down are drawn', () => page.evaluate(() => Number(document.querySelector('.row:not([hidden])').getAttribute('aria-rowindex')) > 1));
  // By its place: rows are used again, so what the tenth one is changes while one scrolls to it.
  await until('a row is there', () => page.evaluate(() => document.elementFromPoint(600, 500)?.closest('.row')?.textContent));
  await page.mouse.click(600, 500);
  await page.getByRole('link', {name: 'Open'}).click();
  await page.locator('.task-title').first().waitFor();
  await page.goBack();
  await page.goBack().catch(() => {});
  await until('the list is where it was', () => page.evaluate(() => Math.abs((document.querySelector('.table')?.scrollTop ?? 0) - 2000) < 400));
}

export default [
  {name: 'random clicks, then Back and reload', ms: 300_000, run: walks},
  {name: 'Back returns to the place in the list', run: scrollComesBack},
];
