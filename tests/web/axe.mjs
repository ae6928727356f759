// axe on every page, in both themes and both sizes, and on the dialogs.
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {axeFindings} from './lib/axe.mjs';
import {settled, show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {everyPage, exemplars} from './lib/pages.mjs';
import {addPeople} from './lib/people.mjs';
import {check, until} from './lib/until.mjs';

async function fleetOf(desk) {
  const server = await desk.server();
  const fleet = await makeFleet(server, {total: 200});
  await addWaiting(server, fleet.random);
  await addPeople(server);
  return server;
}

/** No page of the page list is missing in lib/pages.mjs. */
function checkThatAllAreThere(pages) {
  const source = readFileSync(fileURLToPath(new URL('../../web/src/pages/index.ts', import.meta.url)), 'utf8');
  const paths = [...source.matchAll(/\{path: '([^']+)'/g)].map(([, path]) => path);
  check(paths.length >= 11, 'cannot read the list of pages');
  for (const path of paths) {
    const pattern = new RegExp(`^${path.replace(/:\w+/g, '[^/?]+')}(\\?|$)`);
    check(pages.some(([, given]) => pattern.test(given)), `lib/pages.mjs has no page like ${path}`);
  }
}

async function walk(desk, page, pages, where) {
  const found = [];
  for (const [name, path] of pages) {
    await show(page, path);
    await settled(page);
    for (const finding of await axeFindings(page, desk.web)) found.push(`${name} ${where}: ${finding}`);
  }
  return found;
}

const DIALOGS = [
  ['stop', '/tasks', page => page.getByRole('button', {name: 'Stop'}).click()],
  ['palette', '/tasks', page => page.keyboard.press('Control+k')],
  ['keys', '/tasks', page => page.keyboard.press('?')],
  ['close a gate', '/queues', page => page.getByRole('button', {name: 'Pause'}).first().click()],
  ['drain', '/workers', page => page.getByRole('button', {name: 'Drain'}).first().click()],
  ['choose an answer', '/', page => page.getByRole('button', {name: 'yes', exact: true}).first().click()],
  ['type an answer', '/questions', page => page.getByRole('button', {name: 'Answer…'}).first().click()],
  ['withdraw', '/', page => page.getByRole('button', {name: 'Withdraw'}).first().click()],
  ['raise a budget', '/queues', page => page.getByRole('button', {name: 'Raise'}).first().click()],
  ['reset a session', '/sessions', page => page.getByRole('button', {name: 'Reset'}).first().click()],
  ['clear a conversation', '/conversations/ann/agent-7', page => page.getByRole('button', {name: 'Clear'}).click()],
  ['new token', '/settings?tab=tokens', page => page.getByRole('button', {name: /token/i}).first().click()],
];

async function dialogs(desk, page, where) {
  const found = [];
  for (const [name, path, open] of DIALOGS) {
    await show(page, path);
    await open(page);
    await until(`the dialog "${name}" is open`, () => page.evaluate(() => document.querySelector('dialog[open], [role=dialog]') !== null));
    await settled(page);
    for (const finding of await axeFindings(page, desk.web)) found.push(`${name} ${where}: ${finding}`);
    await page.keyboard.press('Escape');
    await until(`the dialog "${name}" is closed`, () => page.evaluate(() => document.querySelector('dialog[open]') === null));
  }
  return found;
}

const VIEWS = [['wide', 'light'], ['wide', 'dark'], ['narrow', 'light'], ['narrow', 'dark']];

export default [{
  name: 'every page and dialog, light and dark, 1280 and 390 px',
  ms: 600_000,
  async run(desk) {
    const server = await fleetOf(desk);
    const pages = everyPage(await exemplars(server));
    checkThatAllAreThere(pages);
    const found = [];
    for (const [size, theme] of VIEWS) {
      const page = await desk.page(server, {size, theme});
      found.push(...(await walk(desk, page, pages, `${size} ${theme}`)));
      if (size === 'wide') found.push(...(await dialogs(desk, page, `${size} ${theme}`)));
      await page.context().close();
    }
    desk.figure('axe findings', found.length, `on ${pages.length} pages and ${DIALOGS.length} dialogs`, 0);
    check(found.length === 0, found.slice(0, 60).join('\n        '));
  },
}];
