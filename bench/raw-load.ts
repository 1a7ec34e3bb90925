import { connect, type Socket } from 'node:net';

interface RawRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface RawLoad {
  readonly perSecond: number;
  readonly total: number;
}

/**
 * Makes requests without pause, one at a time on each connection. Each connection repeats its own list. The client reads only the
 * status and the length of an answer, because a client that parses bodies would be slower than the measured servers.
 */
export async function rawLoad(
  url: string,
  lists: ReadonlyArray<readonly RawRequest[]>,
  options: { readonly seconds: number; readonly status: number },
): Promise<RawLoad> {
  const begunAt = performance.now();
  const untilMs = begunAt + options.seconds * 1_000;
  const lanes = lists.map((list) => lane(connectTo(url), list, untilMs, options.status));
  const totals = await Promise.all(lanes);
  const total = totals.reduce((sum, each) => sum + each, 0);
  return { perSecond: (total * 1_000) / (performance.now() - begunAt), total };
}

/** Connects to the server of a URL. A URL writes an IPv6 address in brackets, which a socket does not accept. */
export function connectTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
}

function lane(socket: Socket, list: readonly RawRequest[], untilMs: number, status: number): Promise<number> {
  const requests = list.map(bytesOf);
  let answers = 0;
  // The bytes of the current answer that are still missing; undefined between two answers.
  let left: number | undefined;
  let head = '';
  return new Promise((resolve, reject) => {
    const ask = () => socket.write(requests[answers % requests.length] ?? '');
    const answered = () => {
      answers += 1;
      left = undefined;
      if (performance.now() < untilMs) return ask();
      socket.destroy();
      return resolve(answers);
    };
    socket.setNoDelay(true).once('connect', ask).once('error', reject);
    socket.once('close', () => reject(new Error('the server hung up')));
    socket.on('data', (bytes: Buffer) => {
      if (left !== undefined) {
        left -= bytes.length;
        return left <= 0 && answered();
      }
      head += bytes.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!head.startsWith(`HTTP/1.1 ${status} `)) return reject(new Error(head.slice(0, end)));
      left = lengthOf(head.slice(0, end)) - (head.length - end - 4);
      head = '';
      if (left <= 0) answered();
    });
  });
}

function bytesOf({ path, headers }: RawRequest): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n`);
}

function lengthOf(head: string): number {
  return Number(/^content-length: (\d+)\r?$/im.exec(head)?.[1] ?? 0);
}
