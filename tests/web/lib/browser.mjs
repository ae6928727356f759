// Debian's chromium, and pages in it that notice what must never happen: a dialog, a report of the CSP, a request to anywhere else, an
// error of a script.
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {until} from './until.mjs';

const PROGRAMS = [process.env.DROVER_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ARGUMENTS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--enable-precise-memory-info', '--js-flags=--expose-gc',
];

/** `web` is the folder where the build has installed the packages of web/. */
export async function openBrowser(web) {
  const {chromium} = createRequire(join(web, 'package.json'))('playwright-core');
  const executablePath = PROGRAMS.find(path => path && existsSync(path));
  if (!executablePath) throw new Error('no chromium: ./dev installs it (apt-get install chromium), or set DROVER_CHROMIUM');
  return chromium.launch({executablePath, args: ARGUMENTS, headless: true});
}

const SIZES = {narrow: {width: 390, height: 844}, wide: {width: 1280, height: 800}};

/** A browser profile of its own. What goes wrong in its pages is in `context.problems`. */
export async function newContext(browser, server, {size = 'wide', theme = 'light', ...others} = {}) {
  const context = await browser.newContext({
    baseURL: server.url, viewport: SIZES[size], colorScheme: theme, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC', ...others,
  });
  context.setDefaultTimeout(10_000);
  context.problems = [];
  context.allowed = [];
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', event => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  context.on('request', request => {
    const {origin, protocol} = new URL(request.url());
    if (origin !== server.url && !['data:', 'blob:'].includes(protocol)) context.problems.push(`a request to ${request.url()}`);
  });
  context.on('page', page => watch(page, context));
  return context;
}

// A browser logs answers of 4xx and cut connections by itself; whether those are right is for the tests to say.
const EXPECTED = /Failed to load resource|WebSocket connection to .* failed|net::ERR_/;

function watch(page, context) {
  page.on('dialog', dialog => {
    context.problems.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', error => context.problems.push(`an error of a script: ${error.message}`));
  page.on('console', message => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) context.problems.push(`on the console: ${message.text()}`);
  });
}

export async function newPage(browser, server, {token = null, path = '/', ...options} = {}) {
  const context = await newContext(browser, server, options);
  const page = await context.newPage();
  if (token === null) {
    await page.goto(await server.link());
  } else {
    await page.goto(server.url);
    await signInWith(page, token);
  }
  await isLive(page);
  if (path !== '/') await show(page, path);
  return page;
}

export async function signInWith(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', {name: 'Sign in'}).click();
  // A list holds still under the pointer.
  await page.mouse.move(1, 1);
}

export async function isLive(page, ms = 10_000) {
  await page.locator('.live.live').waitFor({timeout: ms});
}

/** Goes to a path as a click on a link does, without loading the page again. */
export async function show(page, path) {
  await page.evaluate(address => {
    const link = document.createElement('a');
    link.href = address;
    document.body.append(link);
    link.click();
    link.remove();
  }, path);
  await settled(page);
}

/** Nothing is being loaded any more, and two frames were painted. */
export async function settled(page) {
  await until('the page has loaded', () => page.evaluate(() => !document.querySelector('.loading')));
  await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}
