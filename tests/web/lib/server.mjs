// The real program: `drover serve` on a store and a port of its own, in a temporary folder.
import {execFile, spawn} from 'node:child_process';
import {openSync, readFileSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {until} from './until.mjs';

const run = promisify(execFile);
const START_MS = 20_000;

// Whatever ends this program, its servers do not outlive it.
const children = new Set();
process.on('exit', () => children.forEach(child => child.kill('SIGKILL')));

function start(program, words, options) {
  const child = spawn(program, words, options);
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export async function freePort() {
  const probe = createServer();
  await new Promise(resolve => probe.listen(0, '127.0.0.1', resolve));
  const {port} = probe.address();
  await new Promise(resolve => probe.close(resolve));
  return port;
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise(resolve => child.once('exit', resolve));
}

/** A Redis of our own, in memory. */
async function startRedis(folder) {
  const port = await freePort();
  const child = start('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'], {stdio: 'ignore'});
  await until('redis-server answers', async () => {
    try {
      return (await run('redis-cli', ['-p', String(port), 'ping'])).stdout.startsWith('PONG');
    } catch {
      return false;
    }
  });
  return {child, url: `redis://127.0.0.1:${port}/0`};
}

export class Server {
  constructor(drover, folder, redis, name) {
    this.drover = drover;
    this.folder = folder;
    this.redis = redis;
    this.name = name;
    this.store = redis ? redis.url : `sqlite:${folder}/drover.db`;
    this.port = 0;
    this.child = null;
    this.starts = 0;
  }

  static async start(drover, {store = 'sqlite', name = ''} = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'drover-web-'));
    const server = new Server(drover, folder, store === 'redis' ? await startRedis(folder) : null, name);
    server.admin = await server.token('admin');
    await server.up();
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  get environment() {
    const {DROVER_TOKEN: _, ...others} = process.env;
    return {...others, DROVER_STORE: this.store, HOME: this.folder, XDG_STATE_HOME: this.folder, NO_COLOR: '1'};
  }

  /** Starts the program, at the port that it had before. */
  async up() {
    const log = join(this.folder, `log.${++this.starts}`);
    const out = openSync(log, 'w');
    this.child = start(this.drover, ['serve', '--listen', `127.0.0.1:${this.port}`, ...(this.name ? ['--name', this.name] : [])],
      {env: this.environment, cwd: this.folder, stdio: ['ignore', 'ignore', out]});
    await until('drover serve listens', () => {
      const text = readFileSync(log, 'utf8');
      if (this.child.exitCode !== null) throw new Error(`drover serve has ended: ${text}`);
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (found) this.port = Number(found[1]);
      return found;
    }, START_MS);
  }

  async down(signal = 'SIGTERM') {
    this.child.kill(signal);
    await ended(this.child);
  }

  async stop() {
    if (this.child) await this.down('SIGKILL');
    if (this.redis) {
      this.redis.child.kill('SIGKILL');
      await ended(this.redis.child);
    }
    await rm(this.folder, {recursive: true, force: true});
  }

  /** Runs a command on the store, and gives back what it printed. */
  async cli(...words) {
    return (await run(this.drover, words, {env: this.environment, cwd: this.folder, timeout: 60_000, maxBuffer: 64 << 20})).stdout;
  }

  async token(role, owner = null) {
    return (await this.cli('token', 'create', '--role', role, ...(owner ? ['--owner', owner] : []))).trim();
  }

  async link() {
    return JSON.parse(await this.cli('dashboard', '--json', '--server', this.url)).url;
  }

  /** Status, headers and JSON of one request. */
  async ask(method, path, body, {token = this.admin, headers = {}} = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: {...(token ? {Authorization: `Bearer ${token}`} : {}), ...(body === undefined ? {} : {'Content-Type': 'application/json'}), ...headers},
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    let json = null;
    try {
      json = text === '' ? null : JSON.parse(text);
    } catch {
      // a page, not an answer of the API
    }
    return {status: response.status, headers: response.headers, json, text};
  }

  /** The JSON of a request that succeeds. */
  async api(method, path, body, options) {
    const {status, json, text} = await this.ask(method, path, body, options);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
    return json;
  }

  /** Seconds of CPU so far, and megabytes that are resident. */
  usage() {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return {cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, residentMb: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024};
  }
}
