import { randomUUID } from 'node:crypto';
import { type Pool } from 'pg';
import { connectNats, CORE_STREAM, storedMessages } from '#platform';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { queryPool } from '../harness/query-pool.js';
import { arrivalOf, Endpoint, EventReader, FeedReader, flaky, healthy } from './change-readers.js';
import { type Arrival, committedIds, judge, logOf, openLedger, type Verdict } from './ledger.js';
import { Targets } from './targets.js';

const ATHLETES = 20;

interface StormOptions {
  readonly changesPerSecond: number;
  /** After the last kill, some reader gets a change within this time as long as one is missing. */
  readonly deadlineMs: number;
}

/** Changes flow and targets are killed, while readers of each kind get the changes. */
export class PushStorm {
  /** How often each target was killed. */
  readonly kills = new Map<string, number>();
  private readonly feeds: FeedReader[] = [];
  private readonly streams: EventReader[] = [];
  private readonly pool: Pool;

  private constructor(
    private readonly deadlineMs: number,
    readonly targets: Targets,
    private readonly endpoints: ReadonlyArray<readonly [string, Endpoint]>,
  ) {
    this.pool = queryPool(targets.databaseUrl, 2);
  }

  static async start({ changesPerSecond, deadlineMs }: StormOptions): Promise<PushStorm> {
    const endpoints = [
      ['webhook, healthy', await Endpoint.start(healthy)],
      ['webhook, flaky', await Endpoint.start(flaky)],
    ] as const;
    const storm = new PushStorm(deadlineMs, await Targets.create(changesPerSecond), endpoints);
    await storm.begin();
    return storm;
  }

  /** Waits until that many changes are confirmed. */
  async written(count: number): Promise<void> {
    await eventually(`${count} changes`, () => this.targets.confirmed.size >= count, this.deadlineMs);
  }

  /** Kills these at once and starts them again. */
  async kill(...names: readonly string[]): Promise<void> {
    for (const name of names) this.kills.set(name, (this.kills.get(name) ?? 0) + 1);
    await this.targets.kill(...names);
  }

  /** Ends the writers, waits until the readers have got all, and compares. */
  async verdicts(): Promise<Verdict[]> {
    await this.targets.endWriters();
    const isOver = await this.settled().then(
      () => true,
      (error: Error) => (console.error(error), false),
    );
    for (const reader of [...this.feeds, ...this.streams]) await reader.stop();
    for (const { lastError } of isOver ? [] : [...this.feeds, ...this.streams]) console.error(lastError);
    const committed = await committedIds(this.pool);
    const log = await logOf(this.pool);
    return [
      judge('the log in Postgres', log.map(logged), committed),
      ...this.feeds.map(({ arrivals }) => judge('GET /v1/changes', arrivals, committed, log)),
      ...this.streams.map(({ arrivals }) => judge('GET /v1/events', arrivals, committed, log)),
      judge('NATS', await this.published(), committed),
      ...this.endpoints.map(([name, { arrivals }]) => judge(name, arrivals, committed)),
    ];
  }

  /** Changes whose commit Postgres has confirmed and that it no longer has. */
  async unkept(): Promise<number> {
    const committed = await committedIds(this.pool);
    return [...this.targets.confirmed].filter((id) => !committed.has(id)).length;
  }

  /** How often a reader's request failed or its stream ended. */
  get interruptions(): number {
    return [...this.feeds, ...this.streams].reduce((sum, reader) => sum + reader.interruptions, 0);
  }

  /** The number of changes that were rolled back and are in the log or were delivered all the same. */
  async undead(): Promise<number> {
    const { rows } = await this.pool.query<{ id: string }>(
      'select id from change union select id from ledger',
    );
    const found = [
      ...rows.map(({ id }) => id),
      ...[...this.feeds, ...this.streams].flatMap(({ arrivals }) => arrivals.map(({ id }) => id)),
      ...(await this.published()).map(({ id }) => id),
      ...this.endpoints.flatMap(([, { ids: got }]) => [...got]),
    ];
    return found.filter((id) => this.targets.rolledBack.has(id)).length;
  }

  get mistaken(): number {
    return this.endpoints.reduce((sum, [, endpoint]) => sum + endpoint.mistaken, 0);
  }

  async stop(): Promise<void> {
    await this.targets.endWriters();
    for (const reader of [...this.feeds, ...this.streams]) await reader.stop();
    await this.targets.stop();
    for (const [, endpoint] of this.endpoints) await endpoint.stop();
    await this.pool.end();
  }

  private async begin(): Promise<void> {
    await openLedger(this.pool);
    await this.pool.query(
      "insert into athlete (id, issuer, subject) select id, '', id from (select gen_random_uuid() as id from generate_series(1, $1)) as made",
      [ATHLETES],
    );
    await this.targets.startProduct();
    await this.beginReading();
    await this.targets.startWriters();
  }

  private async beginReading(): Promise<void> {
    const admin = await tokenFor(randomUUID(), { role: 'admin' });
    const keyFor = async (name: string) =>
      (await this.post<{ key: string }>('/admin/keys', admin, { name, scopes: ['events'] })).key;
    const { apis } = this.targets;
    const key = await keyFor('readers');
    for (const [, { url }] of this.endpoints)
      await this.post('/v1/webhook-endpoints', key, { url, types: ['*'] });
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${apis[0]}/v1/changes?after=latest`, { headers });
    const { next_cursor } = (await answer.json()) as { next_cursor: string };
    this.feeds.push(new FeedReader(apis, key));
    this.streams.push(new EventReader(apis, await keyFor('events'), next_cursor));
    for (const reader of [...this.feeds, ...this.streams]) reader.start();
  }

  private async post<Body>(path: string, token: string, body: object): Promise<Body> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${this.targets.apis[0]}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Body;
  }

  /** Resolves when all readers have got as many changes as are committed. The workers may still make some, so the last look is the second one. */
  private async settled(): Promise<void> {
    const { deadlineMs } = this;
    for (let known = -1; ;) {
      const { size } = await committedIds(this.pool);
      if (size === known) return;
      known = size;
      await this.allArrived(size).catch((cause: Error) => {
        throw new Error(`arrived: ${this.arrived().join()} of ${size}`, { cause });
      });
      const published = 'select from change_relay where published_seq >= $1';
      await eventually(
        'NATS has all',
        async () => (await this.pool.query(published, [size])).rowCount,
        deadlineMs,
      );
    }
  }

  /** A slow machine may take long, so only a pause without any arrival is an error. */
  private async allArrived(size: number): Promise<void> {
    const missing = () => this.arrived().reduce((sum, count) => sum + Math.max(0, size - count), 0);
    for (let before = missing(); before > 0; before = missing())
      await eventually(`one of ${before} missing changes arrives`, () => missing() < before, this.deadlineMs);
  }

  private arrived(): number[] {
    return [
      ...[...this.feeds, ...this.streams].map(({ arrivals }) => arrivals.length),
      ...this.endpoints.map(([, { ids: got }]) => got.size),
    ];
  }

  private async published(): Promise<Arrival[]> {
    const connection = await connectNats(this.targets.natsUrl, 'storm');
    const arrivals: Arrival[] = [];
    const range = { stream: CORE_STREAM, subject: 'athlete-ally.changes.>' };
    for await (const batch of storedMessages(connection, range))
      for (const message of batch) {
        const arrival = arrivalOf(message.json());
        arrivals.push({ ...arrival, id: message.headers?.get('Nats-Msg-Id') ?? '' });
        if (arrivals.at(-1)?.id !== arrival.id) throw new Error(`another message id than ${arrival.id}`);
      }
    await connection.close();
    return arrivals;
  }
}

const logged = (id: string): Arrival => ({ id, subject: id, revision: 1 });
