import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { connectNats } from '#platform';
import { eventually } from '../../harness/eventually.js';
import { type World } from '../../harness/world.js';
import { type Random } from '../random.js';

const RAW = 'athlete-ally.sleep.raw-received';
const EVERY_MS = 3_000;
const REPAIRED_MS = 60_000;

interface FailedJobs {
  readonly items: ReadonlyArray<{ readonly activity_id: string; readonly athlete_id: string }>;
  readonly next_cursor: string | null;
}

/** Operators reset streams and replay dead letters, and some program sends messages that nobody can read. */
export class Operators {
  readonly counts: Record<string, number> = {};
  /** A part of each unreadable message, by which it is found again. */
  readonly unreadable: string[] = [];
  /** Answers that docs/openapi.json does not describe. */
  readonly undocumented: string[] = [];
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly world: World,
    private readonly natsUrls: readonly string[],
    private readonly random: Random,
    private readonly activityIds: () => readonly string[],
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /**
   * After the last fault an operator orders once more what waits for an operator: streams and jobs that used up their attempts, because
   * workers died during each of them.
   */
  async repair(): Promise<void> {
    const orders = ['streams/reset', 'dlq/replay'] as const;
    for (const path of orders)
      await eventually(`POST /admin/${path}`, () => this.order(path, {}), REPAIRED_MS);
    let cursor = '';
    do {
      const { body } = await this.world.admin<FailedJobs>(
        'GET',
        `jobs?status=failed_permanent&limit=200${cursor}`,
      );
      for (const { activity_id, athlete_id } of body.items)
        await this.world.call(athlete_id, 'POST', `/v1/activities/${activity_id}/process`);
      this.count('failed jobs requested again', body.items.length);
      cursor = body.next_cursor ? `&cursor=${body.next_cursor}` : '';
    } while (cursor);
  }

  private count(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }

  private async run(): Promise<void> {
    const orders: ReadonlyArray<readonly [string, () => Promise<boolean>]> = [
      ['streams of an activity reset', () => this.resetOne()],
      ['failed streams reset', () => this.order('streams/reset', {})],
      ['dead letters replayed', () => this.order('dlq/replay', { reason: 'schema-invalid' })],
      ['events set aside retried', () => this.retryEvent()],
      ['unreadable messages sent', () => this.sendUnreadable()],
      ['backfills paused and resumed', () => this.pauseBackfills()],
    ];
    while (!this.stopping.signal.aborted) {
      const [name, act] = this.random.pick(orders);
      // A server may be away; the operator goes on with something else.
      const isDone = await act().catch((error: Error) => this.noted(error));
      if (isDone) this.count(name);
      await pause(EVERY_MS);
    }
    // The loop may have ended between a pause and its end.
    for (let tries = 0; tries < 100 && !(await this.order('backfills/resume').catch(() => false)); tries += 1)
      await pause(200);
  }

  private async resetOne(): Promise<boolean> {
    const ids = this.activityIds();
    return ids.length > 0 && this.order(`activities/${this.random.pick(ids)}/reset-stream-fetch`);
  }

  private async retryEvent(): Promise<boolean> {
    const { body } = await this.world.admin<{ items?: ReadonlyArray<{ id: string }> }>(
      'GET',
      'webhook-events?status=set_aside&limit=1',
    );
    const id = body.items?.[0]?.id;
    return id ? this.order(`webhook-events/${id}/retry`) : false;
  }

  private async pauseBackfills(): Promise<boolean> {
    const isPaused = await this.order('backfills/pause');
    await pause(EVERY_MS);
    return (await this.order('backfills/resume')) && isPaused;
  }

  private async sendUnreadable(): Promise<boolean> {
    const mark = randomUUID();
    const connection = await connectNats({ urls: this.natsUrls }, 'a stranger');
    try {
      const text = JSON.stringify({ eventId: mark, payload: { userId: mark, date: 'yesterday' } });
      await jetstream(connection).publish(RAW, text, { msgID: mark });
      this.unreadable.push(mark);
      return true;
    } finally {
      await connection.close();
    }
  }

  private async order(path: string, body?: object): Promise<boolean> {
    return (await this.world.admin('POST', path, body)).status < 300;
  }

  private noted({ message }: Error): boolean {
    if (/openapi\.json|errors\.md/.test(message)) this.undocumented.push(message);
    return false;
  }
}
