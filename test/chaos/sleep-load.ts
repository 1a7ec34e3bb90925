import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { CLIENT } from '../harness/simulator.js';
import { eventually } from '../harness/eventually.js';
import { type World } from '../harness/world.js';

export const INGEST_KEY = 'an-ingest-key-for-chaos';
const PER_SECOND = 20;
const AGAIN_MS = 200;
const VENDORS = ['oura', 'whoop'] as const;
const ATHLETES_OF_EACH = 4;
const VENDOR_EVERY_MS = 1_000;
// The nights lie within the history that a connection reads, and are over.
const FIRST_DAY = 5;
const MOST_DAYS = 80;
const ANSWER_MS = 10_000;

const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

interface VendorNight {
  readonly athlete: string;
  readonly date: string;
  readonly minutes: number;
}

/**
 * Nights by ingest and by the webhooks of two vendors, at a constant rate. An ingest request is sent again under its key, to one api after
 * the other, until it is answered with 200: only then the night counts as acknowledged.
 */
export class SleepLoad {
  /** Event id of each acknowledged night by user. */
  readonly acknowledged = new Map<string, string>();
  /** Nights that a vendor has, each of which it announced by webhook. */
  readonly vendorNights: VendorNight[] = [];
  /** Ingest requests that were not answered with 200. */
  refused = 0;
  private isRunning = true;
  private running: Promise<unknown> = Promise.resolve();
  private readonly open = new Set<Promise<void>>();

  constructor(
    private readonly world: World,
    private readonly apis: readonly string[],
  ) {}

  async start(): Promise<void> {
    const { url } = this.world.api;
    await eventually('subscriptions at Oura', async () => {
      const answer = await fetch(`${this.world.simulator.url}/oura/v2/webhook/subscription`, {
        headers: { 'x-client-id': CLIENT.id, 'x-client-secret': CLIENT.secret },
      });
      return ((await answer.json()) as unknown[]).length === 6;
    });
    await this.world.control('POST', 'webhooks', { vendor: 'whoop', url: `${url}/webhooks/whoop` });
    const people: Array<{ athlete: string; vendorId: string }> = [];
    for (const provider of VENDORS)
      for (let count = 0; count < ATHLETES_OF_EACH; count += 1) {
        const athlete = randomUUID();
        const vendorId = await this.world.simulator.newAthlete(provider);
        await this.world.connect(athlete, vendorId, provider);
        people.push({ athlete, vendorId });
      }
    this.running = Promise.all([this.ingest(), this.sleep(people)]);
  }

  /** Ends the load. Resolves once each request under way is acknowledged. */
  async stop(): Promise<void> {
    this.isRunning = false;
    await this.running;
    await Promise.all(this.open);
  }

  private async ingest(): Promise<void> {
    for (let number = 0; this.isRunning; number += 1) {
      const sent = this.send(`user-${number}`, number);
      this.open.add(sent);
      void sent.finally(() => this.open.delete(sent));
      await pause(1_000 / PER_SECOND);
    }
  }

  private async send(userId: string, number: number): Promise<void> {
    const body = JSON.stringify({ userId, date: dayBefore(FIRST_DAY), durationMinutes: number % 600 });
    for (let attempt = number; ; attempt += 1) {
      const eventId = await this.sendOnce(this.apis[attempt % this.apis.length] ?? '', userId, body);
      if (eventId !== undefined) {
        this.acknowledged.set(userId, eventId);
        return;
      }
      this.refused += 1;
      await pause(AGAIN_MS);
    }
  }

  private async sendOnce(api: string, key: string, body: string): Promise<string | undefined> {
    const headers = {
      'content-type': 'application/json',
      'x-api-key': INGEST_KEY,
      'idempotency-key': key,
    };
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch(`${api}/api/v1/ingest/sleep`, { method: 'POST', headers, body, signal });
    const text = await answer.text();
    if (answer.status === 200) return (JSON.parse(text) as { eventId: string }).eventId;
    if (answer.status !== 500 && answer.status !== 503) throw new Error(`ingest: ${answer.status} ${text}`);
    return undefined;
  }

  private async sleep(people: ReadonlyArray<{ athlete: string; vendorId: string }>): Promise<void> {
    for (let number = 0; this.isRunning && number < people.length * MOST_DAYS; number += 1) {
      const { athlete, vendorId } = people[number % people.length]!;
      const date = dayBefore(FIRST_DAY + Math.floor(number / people.length));
      const minutes = 300 + (number % 200);
      const night = { athlete_id: vendorId, date, duration_minutes: minutes, score: 70 };
      await this.world.control('POST', 'sleep', night);
      this.vendorNights.push({ athlete, date, minutes });
      await pause(VENDOR_EVERY_MS);
    }
  }
}
