import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ephemeral ports of operating systems, so that no outgoing connection takes the port between this check and its use.
const FIRST = 20_000;
const LAST = 32_000;
// Each worker of jest has a range of its own, so that two of them never choose the same port between the check and the use of it.
const RANGES = 24;
const WIDTH = (LAST - FIRST) / RANGES;

// A server that is killed and started again keeps its port. While it is away, the port looks free.
const handedOut = new Set<number>();

/** A port for a program that must know its port before its start, or listens on the same port again. Other programs listen on port 0. */
export async function freePort(): Promise<number> {
  const { first, width } = range(process.env.JEST_WORKER_ID);
  for (;;) {
    const port = first + Math.floor(Math.random() * width);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) return port;
    handedOut.delete(port);
  }
}

/** The ports of this process: those of its jest worker, or all of them outside of jest. Jest counts its workers from 1. */
function range(worker: string | undefined): { readonly first: number; readonly width: number } {
  if (!worker) return { first: FIRST, width: LAST - FIRST };
  return { first: FIRST + ((Number(worker) - 1) % RANGES) * WIDTH, width: WIDTH };
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
