// By keyboard alone: sign in, a group of dead letters, retry forty, the log of one. And the keys that the help lists.
import {newContext} from './lib/browser.mjs';
import {addQuestions} from './lib/people.mjs';
import {same, until} from './lib/until.mjs';
import {complete, enqueue, fail, Worker} from './lib/worker.mjs';

async function fortyDead(server) {
  const worker = await Worker.register(server, 'w1', ['eng'], 100);
  await enqueue(server, Array.from({length: 40}, (_, at) => ({type: 'fix', queue: 'eng', owner: 'ann', prompt: `Fix number ${at}`, max_attempts: 1})));
  const claimed = await worker.claim(40);
  for (const one of claimed.slice(0, 3)) await worker.say(one, 'what it printed before\n');
  await worker.settle(claimed.map(one => fail(one, 'agent_error', 'the agent gave up')));
  // Failures in a row open the breaker of the type.
  await server.api('POST', '/v1/gates/type:fix', {action: 'open', why: 'for the test'});
  return worker;
}

const focused = page => page.evaluate(() => {
  const {activeElement: element} = document;
  return `${element?.getAttribute('aria-label') ?? ''} ${element?.textContent ?? ''}`.trim();
});

/** Presses Tab until something with this text has the focus, as somebody without a mouse does. */
async function tabTo(page, pattern, most = 80) {
  for (let at = 0; at < most; at++) {
    if (pattern.test(await focused(page))) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no Tab reaches ${pattern}`);
}

async function journey(desk) {
  const server = await desk.server();
  const worker = await fortyDead(server);
  const context = desk.adopt(await newContext(desk.browser, server));
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByLabel('Token').waitFor();
  await until('the field for the token has the focus', async () => {
    await page.keyboard.press('Tab');
    return page.evaluate(() => document.activeElement?.getAttribute('type') === 'password');
  });
  await page.keyboard.type(await server.token('operator'));
  await page.keyboard.press('Enter');
  await page.locator('.live.live').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.getByRole('heading', {name: 'Dead letters'}).waitFor();
  await page.getByText('the agent gave up').first().waitFor();
  await tabTo(page, /^Judge/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: /the agent gave up/}).waitFor();
  await tabTo(page, /^Retry$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', {name: /Retry 40/}).waitFor();
  await tabTo(page, /^Retry 40/);
  await page.keyboard.press('Enter');
  await until('all forty wait again', async () => (await server.api('GET', '/v1/stats')).tasks.failed === 0);
  await page.keyboard.press('Escape');
  const claimed = await worker.claim(1);
  await worker.say(claimed[0], 'and now it works\n');
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', {name: 'Tasks'}).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('state:running');
  await page.keyboard.press('Enter');
  await until('one row is left', async () => (await page.locator('.row:not([hidden])').count()) === 1);
  await page.keyboard.press('Escape');
  await page.locator('.table').focus();
  await page.keyboard.press('j');
  await page.keyboard.press('l');
  await page.getByText('and now it works').waitFor();
  await worker.settle(claimed.map(one => complete(one)));
  await page.locator('.task-title .s-completed').waitFor();
}

async function everyKey(desk) {
  const server = await desk.server();
  await fortyDead(server);
  const page = await desk.page(server, {path: '/tasks'});
  await page.locator('.row:not([hidden])').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('1 task selected').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('p');
  await until('the pane is open', () => page.url().includes('peek='));
  await page.keyboard.press('Escape');
  await until('the pane is closed', () => !page.url().includes('peek='));
  await page.keyboard.press('r');
  await page.getByRole('dialog').getByText(/^drover retry /).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await until('the task is open', () => /\/tasks\/[0-9a-f-]{36}/.test(page.url()));
  await page.getByRole('button', {name: 'Next task of the list'}).waitFor();
  const first = page.url();
  await page.keyboard.press(']');
  await until('the next task is open', () => page.url() !== first);
  await page.keyboard.press('[');
  await until('the first task is open again', () => page.url() === first);
  await page.keyboard.press('.');
  await page.locator('.live.frozen').waitFor();
  await page.keyboard.press('.');
  await page.locator('.live.live').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Freeze what is shown, or go on').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('queues');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: 'Queues and gates'}).waitFor();
}

/** A choice and a typed answer, from the page that the keys lead to. */
async function answers(desk) {
  const server = await desk.server();
  const {questions: [first, second]} = await addQuestions(server, 'ann', [{text: 'Deploy?', options: ['yes', 'no']}, {text: 'Which branch first?'}]);
  const page = await desk.page(server, {path: '/tasks'});
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await page.getByText('Which branch first?').waitFor();
  await tabTo(page, /^yes$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({state: 'detached'});
  same((await server.api('GET', `/v1/questions/${first.id}`)).answer, 'no', 'the answer that was chosen with the arrows');
  await page.getByRole('button', {name: 'yes'}).waitFor({state: 'detached'});
  await tabTo(page, /^Answer…$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('The release branch');
  await tabTo(page, /^Answer$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({state: 'detached'});
  same((await server.api('GET', `/v1/questions/${second.id}`)).answer, 'The release branch', 'the answer that was typed');
}

async function keysOff(desk) {
  const server = await desk.server();
  const page = await desk.page(server, {path: '/settings'});
  await page.getByLabel('Single keys, such as j and k').selectOption('off');
  await page.keyboard.press('Escape');
  const before = page.url();
  await page.locator('#main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  same(page.url(), before, 'the address after g and t');
}

export default [
  {name: 'sign in, a group, retry forty, the log', run: journey},
  {name: 'answers', run: answers},
  {name: 'the keys do what the help says', run: everyKey},
  {name: 'single keys can be switched off', run: keysOff},
];
