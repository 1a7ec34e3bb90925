import { setMaxListeners } from 'node:events';
import { type Socket } from 'node:net';
import { connectTo } from './raw-load.js';

const MOST_WAITING = 20;
const MOST_LISTENERS = 1_000;

/** Makes load until `stop`. Counts the outcomes in `seen`: `200`, other statuses, and readers that were cut off. */
export class Load {
  readonly seen: Record<string, number> = {};
  private readonly stopping = new AbortController();
  private readonly lanes: Promise<void>[] = [];

  constructor(private readonly url: string) {
    setMaxListeners(MOST_LISTENERS, this.stopping.signal);
  }

  /** Sends requests in `atOnce` parallel lanes. A lane waits a second after an answer other than 200. */
  loop(name: string, atOnce: number, ask: (count: number) => Promise<string>): void {
    let count = 0;
    const lane = async () => {
      while (!this.stopping.signal.aborted) {
        const outcome = await ask((count += 1)).catch(() => 'failed');
        this.count(name, outcome);
        if (outcome !== '200') await this.pause();
      }
    };
    for (let one = 0; one < atOnce; one += 1) this.lanes.push(lane());
  }

  /** Sends `perSecond` requests, but none while twenty are unanswered. More requests would wait in this process, not in the server. */
  flood(name: string, perSecond: number, ask: (count: number) => Promise<string>): void {
    let count = 0;
    let waiting = 0;
    const timer = setInterval(() => {
      if (waiting >= MOST_WAITING) return;
      waiting += 1;
      this.lanes.push(
        ask((count += 1))
          .catch(() => 'failed')
          .then((outcome) => {
            waiting -= 1;
            this.count(name, outcome);
          }),
      );
    }, 1_000 / perSecond);
    this.stopping.signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** Reads the first bytes of an archive and then stops reading. Returns the status if it is not 200, `cut off after 30 s`, or `held`. */
  async stall(token: string): Promise<string> {
    const { signal } = this.stopping;
    const socket = connectTo(this.url);
    const leave = () => socket.destroy();
    signal.addEventListener('abort', leave);
    const startedAt = performance.now();
    try {
      socket.write(`GET /v1/account/export HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
      const status = await firstStatus(socket);
      if (status !== '200') return status;
      await closing(socket);
      return signal.aborted
        ? 'held'
        : `cut off after ${Math.round((performance.now() - startedAt) / 5_000) * 5} s`;
    } finally {
      signal.removeEventListener('abort', leave);
      socket.destroy();
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.lanes);
  }

  private pause(): Promise<void> {
    const { signal } = this.stopping;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private count(name: string, outcome: string): void {
    const key = `${name}: ${outcome}`;
    this.seen[key] = (this.seen[key] ?? 0) + 1;
  }
}

const RETRY_MS = 1_000;

function firstStatus(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('close', () => reject(new Error('closed')));
    socket.once('data', (bytes: Buffer) => {
      socket.pause();
      resolve(bytes.toString('latin1').slice(9, 12));
    });
  });
}

/** Waits for the other side to close. A paused socket does not notice the close, so this writes to the socket once a second. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const knock = setInterval(() => socket.write('\r\n'), RETRY_MS);
    socket.once('close', () => {
      clearInterval(knock);
      resolve();
    });
  });
}
