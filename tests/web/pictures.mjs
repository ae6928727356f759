// The pictures of the guide and of the README, light and dark: made from the page as it is, over a fleet of a fixed seed.
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {isLive, settled, show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {exemplars} from './lib/pages.mjs';
import {addPeople} from './lib/people.mjs';

const SHOTS = ({running, failed}) => [
  ['dashboard', '/overview'],
  ['dashboard-tasks', `/tasks?q=state:failed&peek=${failed}`],
  ['dashboard-task', `/tasks/${running}?tab=log`],
];

const PEOPLE = ({asking}) => [
  ['dashboard-questions', '/'],
  ['dashboard-question', `/tasks/${asking}?tab=events`],
  ['dashboard-budgets', '/queues?find=owner:'],
  ['dashboard-conversation', '/conversations/ann/agent-7'],
];

const AGENT_LOG = `reading src/parser/tokens.c
\u001b[1m4 tests fail\u001b[0m in tests/parser_test.c
\u001b[33mwarning\u001b[0m token_next() does not skip comments at the end of a file
editing src/parser/tokens.c, lines 112 to 131
running make check
\u001b[32mok\u001b[0m    181 tests
\u001b[31mfail\u001b[0m  parser_test: expected 3 tokens, got 2
`;

async function shootAll(desk, server, shots) {
  for (const theme of ['light', 'dark']) {
    const page = await desk.page(server, {theme});
    for (const [name, path] of shots) {
      await show(page, path);
      await settled(page);
      await isLive(page);
      await page.screenshot({path: join(desk.pictures, `${name}${theme === 'dark' ? '-dark' : ''}.png`)});
    }
  }
}

async function shoot(desk) {
  const server = await desk.server({name: 'staging'});
  const fleet = await makeFleet(server, {total: 600, done: 70});
  await addWaiting(server, fleet.random, {held: 40});
  for (const one of fleet.runs) await fleet.worker.say(one, AGENT_LOG);
  mkdirSync(desk.pictures, {recursive: true});
  await shootAll(desk, server, SHOTS(await exemplars(server)));
  const phone = await desk.page(server, {size: 'narrow'});
  await show(phone, '/overview');
  await settled(phone);
  await phone.screenshot({path: join(desk.pictures, 'dashboard-phone.png')});
}

/** What waits for people, in a fleet where little else happens. */
async function people(desk) {
  const server = await desk.server({name: 'staging'});
  mkdirSync(desk.pictures, {recursive: true});
  await addPeople(server);
  await shootAll(desk, server, PEOPLE(await exemplars(server)));
}

export default [{name: 'light and dark', run: shoot}, {name: 'what waits for people', run: people}];
