// A watcher of events without a browser: just enough of the WebSocket protocol to read frames and to count what is in them.
import {randomBytes} from 'node:crypto';
import {request} from 'node:http';

function textFrame(text) {
  const data = Buffer.from(text);
  const mask = randomBytes(4);
  const head = Buffer.from([0x81, 0x80 | data.length]);  // shorter than 126 bytes
  return Buffer.concat([head, mask, data.map((byte, at) => byte ^ mask[at % 4])]);
}

/** Opens a socket, and counts bytes and events until it is closed. */
export async function watchEvents(server) {
  const {ticket} = await server.api('POST', '/v1/ws-tickets', {});
  const {seq} = await server.api('GET', '/v1/events/last');
  const asked = request(`${server.url}/v1/ws?snapshot=false&after=${seq}`, {
    headers: {Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': randomBytes(16).toString('base64'), Origin: server.url},
  });
  asked.end();
  const socket = await new Promise((resolve, refuse) => {
    asked.on('upgrade', (_, upgraded) => resolve(upgraded));
    asked.on('response', response => refuse(new Error(`no WebSocket: ${response.statusCode}`)));
    asked.on('error', refuse);
  });
  socket.write(textFrame(JSON.stringify({ticket})));
  const watcher = {bytes: 0, isOpen: true, close: () => socket.destroy()};
  socket.on('data', data => (watcher.bytes += data.length));
  socket.on('close', () => (watcher.isOpen = false));
  socket.on('error', () => {});
  return watcher;
}
