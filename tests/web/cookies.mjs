// Other servers on this machine, and other sites: they cannot use the sign-in, and nothing that they ask for is done.
import {createServer} from 'node:http';
import {show} from './lib/browser.mjs';
import {makeFleet} from './lib/fleet.mjs';
import {check, same, until} from './lib/until.mjs';
import {enqueue} from './lib/worker.mjs';

async function stranger(answer) {
  const heard = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    response.setHeader('Content-Type', 'text/html');
    response.end(answer);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {heard, port: server.address().port, close: () => server.close()};
}

async function anotherPort(desk) {
  const server = await desk.server();
  const page = await desk.page(server);
  const context = page.context();
  const other = await stranger('<p>another server');
  context.allowed.push(/^a request to http:\/\/127\.0\.0\.1/);
  const visit = await context.newPage();
  await visit.goto(`http://127.0.0.1:${other.port}/`);
  const cookie = other.heard[0].cookie ?? '';
  check(cookie !== '', 'browsers no longer send cookies to other ports: this test tests nothing');
  for (const path of ['/v1/me', '/v1/tasks', '/v1/tokens', '/v1/events/last']) {
    const {status} = await server.ask('GET', path, undefined, {token: null, headers: {Cookie: cookie}});
    same(status, 401, `GET ${path} with the cookie alone`);
  }
  same((await server.ask('POST', '/v1/ws-tickets', {}, {token: null, headers: {Cookie: cookie}})).status, 401, 'a ticket with the cookie alone');
  const cookies = await context.cookies();
  check(cookies.length === 1 && cookies.every(one => one.httpOnly && one.sameSite === 'Strict'), 'a cookie that scripts can read, or that other sites send');
  same(await page.evaluate(() => document.cookie), '', 'cookies that a script sees');
  other.close();
}

async function otherSites(desk) {
  const server = await desk.server();
  await makeFleet(server, {total: 20});
  const [id] = await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Shown by a link', delay: '1h'}]);
  const page = await desk.page(server);
  const context = page.context();
  const other = await stranger(`<a id=link href="${server.url}/tasks/${id}">a task</a>
    <form id=form method=post enctype="text/plain" action="${server.url}/v1/gates/all"><input name='{"action":"close","x":"' value='"}'></form>`);
  context.allowed.push(/localhost/, /on the console: Access to fetch/, /CSP|Content Security Policy/);
  const foreign = `http://localhost:${other.port}/`;  // another site than 127.0.0.1
  const visit = await context.newPage();
  await visit.goto(foreign);
  const refused = await visit.evaluate(async url => {
    const attempts = [['POST', '/v1/gates/all', {action: 'close'}], ['POST', '/v1/tasks', {type: 'evil'}], ['GET', '/v1/tasks', null], ['POST', '/v1/signin-codes', {}]];
    return Promise.all(attempts.map(async ([method, path, body]) => {
      const more = body === null ? {} : {body: JSON.stringify(body), headers: {'Content-Type': 'text/plain'}};
      const seen = await fetch(url + path, {method, credentials: 'include', ...more}).then(response => response.status, () => 'refused');
      return seen;
    }));
  }, server.url);
  same(refused, ['refused', 'refused', 'refused', 'refused'], 'what another site can read');
  await visit.evaluate(() => document.getElementById('form').submit());
  await visit.waitForLoadState();
  same((await server.api('GET', '/v1/gates')).gates.filter(gate => gate.closed_until).length, 0, 'gates that another site has closed');
  same((await server.api('GET', '/v1/tasks?type=evil')).tasks.length, 0, 'tasks that another site has made');
  await visit.goto(foreign);
  await visit.click('#link');
  await visit.getByText('Shown by a link').first().waitFor();
  other.close();
}

async function headers(desk) {
  const server = await desk.server();
  const {headers: got, text} = await server.ask('GET', '/', undefined, {token: null});
  const policy = got.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"])
    check(policy.includes(part), `the CSP lacks ${part}: ${policy}`);
  check(!/unsafe|\*/.test(policy), `the CSP allows too much: ${policy}`);
  same(got.get('x-content-type-options'), 'nosniff', 'X-Content-Type-Options');
  check(/no-cache|no-store/.test(got.get('cache-control')), 'the shell is cached');
  const assets = [...text.matchAll(/(?:src|href)="([^"]*\/assets\/[^"]+)"/g)].map(([, path]) => path);
  check(assets.length >= 2, 'the shell names no assets');
  for (const path of assets) check((await server.ask('GET', path, undefined, {token: null})).headers.get('cache-control').includes('immutable'), `${path} is not immutable`);
  check(!/<script(?![^>]*src=)|<style|\son\w+=|style="/i.test(text), 'the shell has something inline');
}

/** A link works once. */
async function linkOnce(desk) {
  const server = await desk.server();
  const link = await server.link();
  const first = await desk.page(Object.assign(Object.create(server), {link: async () => link}));
  check(!first.url().includes('#in='), 'the code stays in the address');
  const context = desk.adopt(await desk.browser.newContext());
  Object.assign(context, {problems: [], allowed: []});
  const again = await context.newPage();
  await again.goto(link);
  await again.getByText('This sign-in link has been used').waitFor();
  await show(first, '/settings');
  await first.getByRole('button', {name: 'Sign out'}).click();
  await first.getByText('You are signed out').waitFor();
  await until('the server has ended the sign-in', async () => (await server.api('GET', '/v1/signins')).signins.length === 0);
}

export default [
  {name: 'a server on another port cannot use the sign-in', run: anotherPort},
  {name: 'another site changes and reads nothing, and its link opens the page', run: otherSites},
  {name: 'headers of the shell and of its assets', run: headers},
  {name: 'a link works once, and signing out ends it', run: linkOnce},
];
