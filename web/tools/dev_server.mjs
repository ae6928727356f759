// Serves the dashboard while it is developed: builds it on every load of the page, and passes /v1 on to a real server.
//
//   npm run dev -- --target http://127.0.0.1:7711 [--port 7712] [--token-file FILE]
//
// With a token file every request carries that token, so there is no sign-in. The page gets the same Content-Security-Policy as from
// the server itself.
import {mkdtempSync, readFileSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from './build.mjs';

export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; " +
  "base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

const TYPES = {js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml'};

function options(argv) {
  const value = (name, fallback) => (argv.includes(name) ? argv[argv.indexOf(name) + 1] : fallback);
  const tokenFile = value('--token-file', '');
  return {
    target: value('--target', 'http://127.0.0.1:7711'),
    port: Number(value('--port', '7712')),
    token: tokenFile ? readFileSync(tokenFile, 'utf8').trim() : '',
  };
}

function headersFor(request, target, token) {
  const headers = {...request.headers, host: target.host};
  if (headers.origin) headers.origin = target.origin;
  delete headers['accept-encoding'];
  if (token) headers.authorization = `Bearer ${token}`;
  return headers;
}

export function proxy(request, response, target, token) {
  const sent = http.request(
    {host: target.hostname, port: target.port, method: request.method, path: request.url, headers: headersFor(request, target, token)},
    answer => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
  sent.on('error', () => response.destroy());  // as a page without a proxy sees it: the connection fails
  request.pipe(sent);
}

export function upgrade(request, socket, head, target, token) {
  const server = net.connect(Number(target.port), target.hostname, () => {
    const headers = headersFor(request, target, token);
    server.write(`GET ${request.url} HTTP/1.1\r\n` + Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('') + '\r\n');
    server.write(head);
    server.pipe(socket);
    socket.pipe(server);
  });
  server.on('error', () => socket.destroy());
  socket.on('error', () => server.destroy());
  socket.on('close', () => server.destroy());
  server.on('close', () => socket.destroy());
}

async function page(response, out, path) {
  const asset = /^\/assets\/([A-Za-z0-9._-]+)$/.exec(path);
  if (asset) {
    const data = await readFile(join(out, 'assets', asset[1]));
    response.writeHead(200, {'content-type': TYPES[asset[1].split('.').pop()], 'cache-control': 'no-cache'});
    return response.end(data);
  }
  await build({out, development: process.env.DROVER_WEB_MINIFY !== '1', quiet: true});
  const html = (await readFile(join(out, 'index.html'), 'utf8')).replaceAll('%BASE%', '');
  response.writeHead(200, {'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY, 'cache-control': 'no-cache'});
  response.end(html);
}

/** `intercept(request, response)` may answer a request itself and then returns true. */
export function startDevServer({target, port, token, intercept = () => false, onUpgrade = upgrade}) {
  const address = new URL(target);
  const out = mkdtempSync(join(tmpdir(), 'drover-web-dev-'));
  const server = http.createServer(async (request, response) => {
    try {
      const path = request.url.split('?')[0];
      if (await intercept(request, response)) return;
      if (path.startsWith('/v1/') || path === '/openapi.json') proxy(request, response, address, token);
      else await page(response, out, path);
    } catch (error) {
      console.error(error.message);
      if (!response.headersSent) response.writeHead(error.code === 'ENOENT' ? 404 : 500);
      response.end(error.message);
    }
  });
  server.on('upgrade', (request, socket, head) => onUpgrade(request, socket, head, address, token));
  server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/ shows ${target}`));
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) startDevServer(options(process.argv.slice(2)));
