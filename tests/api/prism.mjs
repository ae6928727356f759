// Runs a command whose clients reach their server through `prism proxy --errors`, which answers for the server when the
// request or the answer is not as described. usage: prism.mjs OPENAPI COMMAND [ARGS..]
//
// As proxy.mjs, but for what prism cannot pass on: it reads and writes JSON anew, so that 1.0 becomes 1.
import {spawn} from 'node:child_process';
import {createServer} from 'node:net';
import {fileURLToPath} from 'node:url';

const [file, command, ...args] = process.argv.slice(2);
const prismMain = fileURLToPath(new URL('node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url));

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const {port} = server.address();
      server.close(() => resolve(port));
    });
  });
}

const [upstream, port] = [await freePort(), await freePort()];
const prism = spawn(process.execPath,
  [prismMain, 'proxy', file, `http://127.0.0.1:${upstream}`, '--errors', '--port', String(port)]);
let said = '';
let violations = 0;
const listening = new Promise((resolve, reject) => {
  prism.on('close', () => reject(new Error(`prism has ended:\n${said}`)));
  prism.stdout.on('data', (part) => {
    const text = String(part);
    violations += text.split('errors#VIOLATIONS').length - 1;
    if (said.length < 100_000) said += text;
    if (said.includes('Prism is listening')) resolve();
  });
  prism.stderr.on('data', (part) => process.stderr.write(part));
});
await listening;
const environment = {...process.env, DROVER_TEST_LISTEN: `127.0.0.1:${upstream}`, DROVER_TEST_URL: `http://127.0.0.1:${port}`};
const code = await new Promise((resolve) => spawn(command, args, {stdio: 'inherit', env: environment}).on('close', resolve));
prism.removeAllListeners('close');
prism.kill();
console.error(`api: prism saw ${violations} violations`);
process.exit(code === 0 && violations === 0 ? 0 : 1);
