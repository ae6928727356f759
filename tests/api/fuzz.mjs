// Requests made from the description against a real `drover serve` on a fresh store: no 5xx, no answer that is not
// described, nothing done that the description forbids. usage: fuzz.mjs OPENAPI DROVER [COUNT [SEED]]
import {spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import http from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {Contract, loadDescription} from './contract.mjs';
import {RequestMaker} from './requests.mjs';

const [file, drover, count = '20000', seed = String(Date.now() % 1e9)] = process.argv.slice(2);
const ANSWER_MAX_MS = 20_000;
const KEPT = 200;

const folder = mkdtempSync(join(tmpdir(), 'drover-fuzz-'));
const environment = {PATH: process.env.PATH, HOME: folder, DROVER_STORE: `sqlite:${join(folder, 'drover.db')}`};
const contract = new Contract(loadDescription(file));
const known = {
  tasks: ['01a1e434-a615-7b7e-8054-5466f021a20a'],
  leases: ['00000000000000000000000000000001'],
  held: [{task_id: '01a1e434-a615-7b7e-8054-5466f021a20a', lease_id: '00000000000000000000000000000001'}],
  workers: ['here:1:a', 'here:2:b'],
  names: ['work', 'a', 'b', 'review', 'x:y@z', 'n'.repeat(128)],
  cursors: ['', 'cursor'],
  documents: [{}, {types: {work: {priority: 3}}}, {queues: {work: {max_waiting: 500}}}, {types: 1}, {limits: {}}, {nonsense: []}],
  tokens: {},
};
const statuses = new Map();
const asked = new Set();
const found = new Map();

for (const role of ['viewer', 'producer', 'worker', 'operator', 'admin']) {
  const made = spawnSync(drover, ['token', 'create', '--role', role], {env: environment, encoding: 'utf8', cwd: folder});
  if (made.status !== 0) throw new Error(made.stderr);
  known.tokens[role] = made.stdout.trim();
}

function keep(kind, value) {
  if (value === undefined || value === null) return;
  known[kind].push(value);
  if (known[kind].length > KEPT) known[kind].shift();
}

// What the server tells of becomes what later requests are about.
function learn(answer) {
  if (answer.status >= 300 || answer.headers['content-type'] !== 'application/json') return;
  const value = JSON.parse(answer.body);
  if (value.cursor) keep('cursors', value.cursor);
  for (const item of Array.isArray(value.tasks) ? value.tasks : [value]) {
    const id = item.id ?? item.task?.id;
    if (typeof id === 'string' && id.length === 36) keep('tasks', id);
    if (!item.lease_id) continue;
    keep('leases', item.lease_id);
    keep('held', {task_id: id, lease_id: item.lease_id});
    // The lease and its task have to be found together.
    keep('tasks', id);
  }
}

// Each kind once, with the shortest request that shows it.
function note(violation, request, answer) {
  const kind = `${contract.find(request.method, request.target)?.name} ${answer.status}: ${violation}`.slice(0, 200);
  const size = request.target.length + request.body.length;
  if ((found.get(kind)?.size ?? Infinity) > size) found.set(kind, {size, request, got: answer.body.toString().slice(0, 500)});
}

const agent = new http.Agent({keepAlive: true, maxSockets: 1});

function send(port, request) {
  return new Promise((resolve, reject) => {
    const outgoing = http.request({host: '127.0.0.1', port, agent, method: request.method, path: request.target,
      headers: {...request.headers, 'content-length': Buffer.byteLength(request.body)}, timeout: ANSWER_MAX_MS});
    outgoing.on('response', (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part)).on('end', () =>
        resolve({status: response.statusCode, headers: response.headers, body: Buffer.concat(parts)}));
    }).on('timeout', () => outgoing.destroy(new Error(`no answer within ${ANSWER_MAX_MS} ms`))).on('error', reject);
    outgoing.end(request.body);
  });
}

async function attempt(port, request) {
  const answer = await send(port, request);
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  asked.add(contract.find(request.method, request.target)?.name);
  const violations = contract.violations({...request, body: Buffer.from(request.body)}, answer);
  // /readyz says by its status that workers take nothing, which is so here; that is no problem document.
  if (answer.status >= 500 && answer.headers['content-type'] !== 'application/json') violations.push('the server failed');
  for (const violation of violations) note(violation, request, answer);
  if (violations.length === 0) learn(answer);
  // Only who is registered gets work.
  if (answer.status === 204 && request.method === 'POST' && request.target === '/v1/workers') keep('workers', JSON.parse(request.body).id);
}

function started(server) {
  return new Promise((resolve, reject) => {
    let said = '';
    server.stderr.on('data', (part) => {
      said += part;
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port) resolve(Number(port));
    });
    server.on('close', () => reject(new Error(said)));
  });
}

const server = spawn(drover, ['serve', '--listen', '127.0.0.1:0'], {env: environment, cwd: folder, stdio: ['ignore', 'ignore', 'pipe']});
let failed = false;
try {
  const port = await started(server);
  const began = Date.now();
  const maker = new RequestMaker(contract, known);
  for (const id of [...known.workers]) {
    await attempt(port, {method: 'POST', target: '/v1/workers', body: JSON.stringify({id, version: '1', serves: [{queue: 'work'}]}),
      headers: {authorization: `Bearer ${known.tokens.worker}`, 'content-type': 'application/json'}});
  }
  const result = await fc.check(fc.asyncProperty(maker.requests(), (request) => attempt(port, request)),
    {numRuns: Number(count), seed: Number(seed), endOnFailure: true});
  if (result.failed) console.error(`api: ${JSON.stringify(result.counterexample)}: ${result.errorInstance}`);
  for (const [kind, {request, got}] of found) console.error(`api: ${kind}\n     sent: ${JSON.stringify(request)}\n     got: ${got}`);
  failed = result.failed || found.size > 0;
  const told = [...statuses].sort().map(([status, times]) => `${status}: ${times}`).join(', ');
  console.error(`api: ${result.numRuns} requests (seed ${seed}) to ${asked.size} operations in ${Date.now() - began} ms; ${told}`);
  if (server.exitCode !== null || server.signalCode !== null) throw new Error('the server has ended');
} finally {
  agent.destroy();
  server.removeAllListeners('close');
  server.kill('SIGTERM');
  await new Promise((resolve) => (server.exitCode !== null ? resolve() : server.on('close', resolve)));
  rmSync(folder, {recursive: true});
}
process.exit(failed ? 1 : 0);
