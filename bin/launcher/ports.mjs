import { createServer } from 'node:net';
import { Failure } from './failure.mjs';

// Below Linux's ephemeral ports (32768…), from which any outgoing connection might take ours at the wrong moment.
const PRIVATE_PORTS = { from: 20_000, to: 32_000 };

export async function isPortFree(port) {
  // Both: on some systems a listener on one of the two does not keep us from the other.
  return (await canListen(port, '127.0.0.1')) && (await canListen(port, '0.0.0.0'));
}

/** The wanted port, or the next free one above it. */
export async function nextFreePort(wanted, taken = []) {
  for (let port = wanted; port <= 65_535; port += 1) {
    if (!taken.includes(port) && (await isPortFree(port))) return port;
  }
  throw new Failure(`No free port from ${wanted} up.`);
}

/** Any free port, the preferred one if it still is. */
export async function anyFreePort(preferred, taken = []) {
  if (preferred && (await isPortFree(preferred))) return preferred;
  const { from, to } = PRIVATE_PORTS;
  return nextFreePort(from + Math.floor(Math.random() * (to - from)), taken);
}

function canListen(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
