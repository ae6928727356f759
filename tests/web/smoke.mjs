// What must work for anything else to be worth a look; part of `./dev test`.
import {axeFindings} from './lib/axe.mjs';
import {isLive, settled, show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {HOSTILE} from './lib/hostile.mjs';
import {exemplars} from './lib/pages.mjs';
import {addQuestions} from './lib/people.mjs';
import {check, same, until} from './lib/until.mjs';
import {enqueue} from './lib/worker.mjs';

const stateOf = async (server, id) => (await server.api('GET', `/v1/tasks/${id}`)).state;

async function signInAndList(desk, store) {
  const server = await desk.server({name: 'smoke', store});
  const fleet = await makeFleet(server, {total: 120});
  await addWaiting(server, fleet.random, {held: 10});
  const page = await desk.page(server);
  check(!page.url().includes('in='), 'the code of the sign-in stays in the address');
  await page.getByRole('link', {name: 'Tasks', exact: true}).first().click();
  const total = Number((await server.api('GET', '/v1/tasks?limit=1&count=true&view=summary')).count.tasks);
  await page.locator('.total', {hasText: `${total} tasks`}).waitFor();
  await page.getByPlaceholder(/Filter/).fill('state:running');
  await page.keyboard.press('Enter');
  await until('the list has the running tasks', async () => (await page.locator('.row:not([hidden])').count()) === fleet.runs.length);
  return {server, page, fleet};
}

async function taskAndLog({server, page, fleet}) {
  const [first] = fleet.runs;
  await show(page, `/tasks/${first.task.id}`);
  await page.getByText('running make check').waitFor();
  await fleet.worker.say(first, 'one more line\n');
  await page.getByText('one more line').waitFor();
  await page.getByRole('button', {name: 'Cancel', exact: true}).click();
  await page.getByRole('dialog').getByLabel(/Reason/).fill('smoke');
  check((await page.getByRole('dialog').locator('.command code').textContent()).startsWith(`drover cancel ${first.task.id} --reason smoke`), 'the dialog shows another command');
  await page.getByRole('dialog').getByRole('button', {name: 'Cancel the task'}).click();
  await until('the server has the cancel', async () => (await server.api('GET', `/v1/tasks/${first.task.id}`)).cancel_requested_at !== null);
  await page.getByText('stopping').first().waitFor();
  await fleet.worker.settle([{task_id: first.task.id, lease_id: first.lease_id, end: 'cancelled'}]);
  await page.locator('.task-title .s-cancelled').waitFor();
  same(await stateOf(server, first.task.id), 'cancelled', 'the state of the task');
}

async function hostileStrings({server, page}) {
  await enqueue(server, HOSTILE.map(text => ({type: 'hostile', queue: 'hostile', prompt: text, payload: {[text.slice(0, 200)]: text}, agent_id: text.slice(0, 100).replace(/[^ -~]/g, '') || 'x'})));
  const [id] = await enqueue(server, [{type: 'hostile', queue: 'hostile', prompt: HOSTILE.join('\n'), payload: HOSTILE}]);
  await show(page, '/tasks?q=type:hostile');
  await page.locator('.total', {hasText: `${HOSTILE.length + 1} tasks`}).waitFor();
  await show(page, `/tasks/${id}?tab=data`);
  await page.getByRole('heading', {name: /^Payload/}).waitFor();
  same(await page.evaluate(() => document.querySelectorAll('script:not([src]), iframe, object, embed, base, img, form[action], style').length), 0, 'elements that came from text');
}

async function axeOnThreePages({server, page, desk}) {
  const {failed} = await exemplars(server);
  for (const path of ['/overview', '/tasks', `/tasks/${failed}`]) {
    await show(page, path);
    await settled(page);
    same(await axeFindings(page, desk.web), [], `axe on ${path}`);
  }
}

async function answersAQuestion({server, page}) {
  await show(page, '/');
  const {questions: [question]} = await addQuestions(server, 'ann', [{text: 'Deploy to production?', options: ['yes', 'no']}]);
  await page.getByRole('row').filter({hasText: 'Deploy to production?'}).getByRole('button', {name: 'yes'}).click();
  const dialog = page.getByRole('dialog');
  same(await dialog.locator('.command code').textContent(), `drover question answer ${question.id} yes`, 'the command of the dialog');
  await dialog.getByRole('button', {name: 'Answer', exact: true}).click();
  await page.getByText('Answered; the task goes on').waitFor();
  same((await server.api('GET', `/v1/questions/${question.id}`)).answer, 'yes', 'the answer');
  await show(page, `/tasks/${question.task_id}`);
  await page.getByText('It asked 2 questions before').waitFor();
}

async function followsEvents({server, page}) {
  await show(page, '/tasks?q=type:fresh');
  await page.getByText('No task matches').waitFor();
  await enqueue(server, [{type: 'fresh', queue: 'fresh', prompt: 'Came by itself'}]);
  await page.getByText('Came by itself').waitFor();
  await page.reload();
  await isLive(page);
  await page.getByText('Came by itself').waitFor();
}

export async function smoke(desk, store) {
  const shown = {...(await signInAndList(desk, store)), desk};
  await taskAndLog(shown);
  await hostileStrings(shown);
  await answersAQuestion(shown);
  await axeOnThreePages(shown);
  await followsEvents(shown);
}

export default [{name: 'sign in, list, task, log, cancel, hostile strings, a question, axe, live', ms: 100_000, run: desk => smoke(desk, 'sqlite')}];
