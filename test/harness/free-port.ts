import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports from which systems take those that nobody names: between our look and its use none of them comes there.
const FIRST = 20_000;
const LAST = 32_000;

/** For a program that is told its port before it starts, or that comes back to it. Others choose theirs with port 0. */
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
