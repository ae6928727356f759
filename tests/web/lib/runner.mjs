// Runs tests one after the other and says how each went. A test gets a Desk, which starts servers and pages for it and clears up.
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {newPage} from './browser.mjs';
import {Server} from './server.mjs';

const TEST_MS = 120_000;

export class Desk {
  constructor({drover, web, browser, pictures, failures}) {
    Object.assign(this, {drover, web, browser, pictures, failures});
    this.servers = [];
    this.contexts = new Set();
    this.figures = [];
  }

  async server(options) {
    const server = await Server.start(this.drover, options);
    this.servers.push(server);
    return server;
  }

  async page(server, options) {
    const page = await newPage(this.browser, server, options);
    this.contexts.add(page.context());
    return page;
  }

  adopt(context) {
    this.contexts.add(context);
    return context;
  }

  /** A measured figure with its limit; over it, the test fails. */
  figure(what, value, unit, limit) {
    this.figures.push({what, value, unit, limit});
    console.log(`      ${what}: ${value} ${unit}${limit === undefined ? '' : ` (at most ${limit})`}`);
  }

  verdict() {
    const problems = [...this.contexts].flatMap(context => context.problems.filter(problem => !context.allowed.some(pattern => pattern.test(problem))));
    for (const {what, value, unit, limit} of this.figures) if (limit !== undefined && !(value <= limit)) problems.push(`${what}: ${value} ${unit}, at most ${limit}`);
    if (problems.length) throw new Error(`what must never happen has happened:\n        ${problems.slice(0, 20).join('\n        ')}`);
  }

  async capture(name) {
    let number = 0;
    for (const context of this.contexts)
      for (const page of context.pages()) {
        mkdirSync(this.failures, {recursive: true});
        await page.screenshot({path: join(this.failures, `${name.replace(/\W+/g, '_')}.${++number}.png`)}).catch(() => {});
      }
  }

  async clear() {
    for (const context of this.contexts) await context.close().catch(() => {});
    for (const server of this.servers) await server.stop();
  }
}

async function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, refuse) => (timer = setTimeout(() => refuse(new Error(`${what} took longer than ${ms} ms`)), ms)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The names of those that failed, and all figures. */
export async function runTests(tests, options) {
  const failed = [];
  const figures = [];
  for (const test of tests) {
    const desk = new Desk(options);
    const begun = performance.now();
    const seconds = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    try {
      await within(test.ms ?? TEST_MS, test.run(desk), test.name);
      desk.verdict();
      console.log(`ok    ${test.name} (${seconds()})`);
    } catch (error) {
      failed.push(test.name);
      await desk.capture(test.name);
      console.log(`FAIL  ${test.name} (${seconds()})\n        ${String(error.stack ?? error).split('\n').slice(0, 12).join('\n        ')}`);
    }
    figures.push(...desk.figures);
    await desk.clear();
  }
  return {failed, figures};
}

/** Every figure beside its limit, and the verdict. */
export function report(tests, {failed, figures}, seconds) {
  const limited = figures.filter(figure => figure.limit !== undefined);
  if (limited.length) console.log('\n   figure, of at most');
  for (const {what, value, unit, limit} of limited) console.log(`${value <= limit ? 'ok   ' : 'OVER '} ${String(value).padStart(8)} ${String(limit).padStart(6)}  ${what}${unit ? ` (${unit})` : ''}`);
  for (const name of failed) console.log(`FAIL  ${name}`);
  const over = limited.filter(({value, limit}) => !(value <= limit)).length;
  console.log(`web: ${tests - failed.length} of ${tests} passed in ${Math.round(seconds / 60)} min, ${limited.length - over} of ${limited.length} figures are within their limits: ${failed.length + over ? 'FAILED' : 'passed'}`);
}
