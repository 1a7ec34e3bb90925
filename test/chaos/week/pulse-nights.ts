import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type World } from '../../harness/world.js';
import { INGEST_KEY } from './stack.js';

const USERS = 4;
const EVERY_MS = 400;
const AGAIN_MS = 100;
const ANSWER_MS = 10_000;
const DATES = 6;

/**
 * Nights that an app posts at a constant rate. Each passes through the api, NATS, a worker, Postgres and the log of changes to every
 * follower, so a pause of any of these is seen. A post is repeated under its key until it is acknowledged, and only then the next one follows.
 */
export class PulseNights {
  readonly athletes = Array.from({ length: USERS }, () => randomUUID());
  /** Minutes of the last acknowledged post by `athlete date`. */
  readonly last = new Map<string, number>();
  acknowledged = 0;
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly world: World) {}

  async start(): Promise<void> {
    // The first request makes the athlete, and so the changes of its nights.
    for (const athlete of this.athletes) await this.world.call(athlete, 'GET', '/v1/me');
    this.running = Promise.all(this.athletes.map((athlete) => this.send(athlete)));
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async send(athlete: string): Promise<void> {
    for (let n = 0; !this.stopping.signal.aborted; n += 1) {
      const date = new Date(Date.UTC(2026, 0, 1 + (n % DATES))).toISOString().slice(0, 10);
      const minutes = 300 + (n % 500);
      const body = JSON.stringify({ userId: athlete, date, durationMinutes: minutes });
      const key = `${athlete}-${n}`;
      while (!(await this.isAcknowledged(key, body))) await pause(AGAIN_MS);
      this.last.set(`${athlete} ${date}`, minutes);
      this.acknowledged += 1;
      await pause(EVERY_MS);
    }
  }

  private async isAcknowledged(key: string, body: string): Promise<boolean> {
    try {
      const answer = await fetch(`${this.world.url}/api/v1/ingest/sleep`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': INGEST_KEY, 'idempotency-key': key },
        body,
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      await answer.arrayBuffer();
      return answer.ok;
    } catch {
      // The api was killed, or a server that it needs is away.
      return false;
    }
  }
}
