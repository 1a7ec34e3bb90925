import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';

// The endpoints of the benchmark of deliveries, as a process of its own. Requests below /hang are never answered. GET /arrivals answers the
// ids and times of the first arrivals since the last GET, in ms of the machine's clock.
let arrivals: Array<readonly [id: string, path: string, atMs: number]> = [];

const nowMs = () => performance.timeOrigin + performance.now();

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (request.method === 'GET') {
    response.end(JSON.stringify(arrivals));
    arrivals = [];
    return;
  }
  request.resume();
  request.on('end', () => {
    if (path.startsWith('/hang')) return;
    arrivals.push([String(request.headers['webhook-id']), path, nowMs()]);
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: 'ready', urls: [`http://127.0.0.1:${port}`] }));
});
process.once('SIGTERM', () => process.exit());
