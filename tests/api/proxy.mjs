// Runs a command whose clients reach their server through us, and compares every exchange with the description. Bytes pass
// as they are. usage: proxy.mjs OPENAPI COMMAND [ARGS..]
//
// The command finds in DROVER_TEST_LISTEN where its server has to listen, and in DROVER_TEST_URL what its clients ask.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import http from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Contract, loadDescription} from './contract.mjs';

const [file, command, ...args] = process.argv.slice(2);
const contract = new Contract(loadDescription(file));
const folder = mkdtempSync(join(tmpdir(), 'drover-api-'));
const socketPath = join(folder, 'server.sock');
const seen = new Set();
let exchanges = 0;
let violations = 0;

function whole(stream) {
  return new Promise((resolve, reject) => {
    const parts = [];
    stream.on('data', (part) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts))).on('error', reject);
  });
}

function judge(request, answer) {
  ++exchanges;
  const operation = contract.find(request.method, request.target);
  if (operation) seen.add(operation.name);
  for (const violation of contract.violations(request, answer)) {
    ++violations;
    console.error(`api: ${request.method} ${request.target} ${answer.status}: ${violation}\n` +
      `     sent: ${request.body.toString().slice(0, 500)}\n     got: ${answer.body.toString().slice(0, 500)}`);
  }
}

function ask(incoming, body) {
  return new Promise((resolve, reject) => {
    const outgoing = http.request({socketPath, method: incoming.method, path: incoming.url, agent: false,
      headers: {...incoming.headers, connection: 'close'}});
    outgoing.on('response', async (response) => {
      const answer = {status: response.statusCode, headers: response.headers, body: await whole(response)};
      resolve([answer, response.rawHeaders]);
    }).on('error', reject);
    outgoing.end(body);
  });
}

const proxy = http.createServer(async (incoming, outgoing) => {
  try {
    const body = await whole(incoming);
    const [answer, headers] = await ask(incoming, body);
    judge({method: incoming.method, target: incoming.url, headers: incoming.headers, body}, answer);
    outgoing.writeHead(answer.status, headers.map((text) => (text === 'close' ? 'keep-alive' : text)));
    outgoing.end(answer.body);
  } catch {
    outgoing.destroy();  // as the client would see it of a server that has gone
  }
});

proxy.listen(0, '127.0.0.1', () => {
  const environment = {...process.env, DROVER_TEST_LISTEN: `unix:${socketPath}`,
    DROVER_TEST_URL: `http://127.0.0.1:${proxy.address().port}`};
  spawn(command, args, {stdio: 'inherit', env: environment}).on('close', (code) => {
    rmSync(folder, {recursive: true});
    const missing = contract.operations.filter((one) => !seen.has(one.name)).map((one) => one.name);
    console.error(`api: ${exchanges} exchanges over ${seen.size} operations, ${violations} violations`);
    if (missing.length > 0) console.error(`api: never asked: ${missing.join(', ')}`);
    process.exit(code === 0 && violations === 0 && exchanges > 0 ? 0 : 1);
  });
});
