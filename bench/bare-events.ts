import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

// Measures the least that an open event stream costs: a server that answers every request with a stream and sends heartbeats as the api does.
const HEARTBEAT_MS = 15_000;
const streams = new Set<ServerResponse>();

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write('retry: 1000\nid: 0\n\n');
  streams.add(response);
  response.once('close', () => streams.delete(response));
});
setInterval(() => {
  for (const stream of streams) stream.write(': heartbeat\nid: 0\n\n');
}, HEARTBEAT_MS);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: 'ready', urls: [`http://127.0.0.1:${port}`] }));
});
process.once('SIGTERM', () => process.exit());
