import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { tokenFor } from '../harness/environment.js';

const ANSWER_MS = 10_000;

/** Repeats a request every `everyMs` and remembers when it was answered with 2xx. */
abstract class Client {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private answeredAtMs = performance.now();
  private longestMs = 0;
  private answeredCount = 0;

  constructor(private readonly everyMs: number) {}

  start(): void {
    this.answeredAtMs = performance.now();
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  get answered(): number {
    return this.answeredCount;
  }

  /** The longest time without an answer since the last call, a time that has not ended included. */
  takeStallMs(): number {
    const stall = Math.max(this.longestMs, performance.now() - this.answeredAtMs);
    this.longestMs = 0;
    return stall;
  }

  protected abstract attempt(signal: AbortSignal): Promise<boolean>;

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      // An error is a process or a server that is away; the next attempt follows.
      const isAnswered = await this.attempt(AbortSignal.timeout(ANSWER_MS)).catch(() => false);
      const now = performance.now();
      if (isAnswered) {
        this.longestMs = Math.max(this.longestMs, now - this.answeredAtMs);
        this.answeredAtMs = now;
        this.answeredCount += 1;
      }
      await pause(this.everyMs);
    }
  }
}

/** Writes 1, 2, 3 … into one row of Postgres by the api. A number that was acknowledged and is greater than the one in the row is lost. */
export class Counter extends Client {
  private written = 0;
  private acknowledged = 0;

  private constructor(
    private readonly apiUrl: string,
    private readonly key: string,
    readonly id: string,
  ) {
    super(25);
  }

  static async create(apiUrl: string, key: string): Promise<Counter> {
    // Nothing listens there, and the type is rare.
    const endpoint = { url: 'http://127.0.0.1:9/', types: ['connection.removed'] };
    const answer = await fetch(`${apiUrl}/v1/webhook-endpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(endpoint),
    });
    if (!answer.ok) throw new Error(`an endpoint: ${answer.status} ${await answer.text()}`);
    return new Counter(apiUrl, key, ((await answer.json()) as { id: string }).id);
  }

  isLost(description: string | null): boolean {
    return Number(description) < this.acknowledged;
  }

  protected async attempt(signal: AbortSignal): Promise<boolean> {
    const number = (this.written += 1);
    const { ok } = await fetch(`${this.apiUrl}/v1/webhook-endpoints/${this.id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: String(number) }),
      signal,
    });
    if (ok) this.acknowledged = number;
    return ok;
  }
}

/** Reads an athlete's list, and the streams of its first activity that has them. */
export class Reader extends Client {
  constructor(
    private readonly apiUrl: string,
    private readonly athletes: readonly string[],
  ) {
    super(50);
  }

  protected async attempt(signal: AbortSignal): Promise<boolean> {
    const athlete = this.athletes[Math.floor(Math.random() * this.athletes.length)];
    if (!athlete) return false;
    const headers = { authorization: `Bearer ${await tokenFor(athlete)}` };
    const list = await fetch(`${this.apiUrl}/v1/activities?limit=20`, { headers, signal });
    if (!list.ok) return false;
    const { items } = (await list.json()) as {
      items: ReadonlyArray<{ id: string; stream_fetch_status: string }>;
    };
    const stored = items.find(({ stream_fetch_status }) => stream_fetch_status === 'success');
    if (!stored) return true;
    const streams = await fetch(`${this.apiUrl}/v1/activities/${stored.id}/streams`, { headers, signal });
    await streams.arrayBuffer();
    return streams.ok;
  }
}

/** Sends nights of one person, each of a date of its own, until each is acknowledged. */
export class Sleeper extends Client {
  readonly subject = randomUUID();
  readonly acknowledged: string[] = [];

  constructor(
    private readonly apiUrl: string,
    private readonly apiKey: string,
  ) {
    super(100);
  }

  protected async attempt(signal: AbortSignal): Promise<boolean> {
    const date = new Date(Date.UTC(2000, 0, 1 + this.acknowledged.length)).toISOString().slice(0, 10);
    const { ok } = await fetch(`${this.apiUrl}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'x-api-key': this.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ userId: this.subject, date, durationMinutes: 420 }),
      signal,
    });
    if (ok) this.acknowledged.push(date);
    return ok;
  }
}
