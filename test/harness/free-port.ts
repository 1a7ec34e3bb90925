import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ephemeral ports of operating systems, so that no outgoing connection takes the port between this check and its use.
const FIRST = 20_000;
const LAST = 32_000;

/** A port for a program that must know its port before its start, or listens on the same port again. Other programs listen on port 0. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
