// The same page over Redis, and over `drover up`.
import {spawn} from 'node:child_process';
import {newContext, isLive} from './lib/browser.mjs';
import {until} from './lib/until.mjs';
import {smoke} from './smoke.mjs';

async function upPrintsALink(desk) {
  const server = await desk.server();
  await server.down();
  const child = spawn(server.drover, ['up'], {env: {...server.environment, DROVER_LISTEN: '127.0.0.1:0'}, cwd: server.folder, stdio: ['ignore', 'pipe', 'pipe']});
  try {
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (said += text));
    const link = await until('drover up prints a link', () => /(http:\/\/127\.0\.0\.1:\d+)\/#in=\w+/.exec(said));
    const context = desk.adopt(await newContext(desk.browser, {url: link[1]}));
    const page = await context.newPage();
    await page.goto(link[0]);
    await isLive(page);
  } finally {
    child.kill('SIGTERM');
    await new Promise(resolve => child.once('exit', resolve));
  }
}

export default [
  {name: 'the smoke part over Redis', run: desk => smoke(desk, 'redis')},
  {name: '`drover up` prints a link that signs in', run: upPrintsALink},
];
