import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Vault } from '#connections';
import { type Database, timeScale, Worker } from '#platform';
import { DeliveryPlanner } from '../libs/push/src/deliveries/delivery-planner.js';
import { DeliveryQueue } from '../libs/push/src/deliveries/delivery-queue.js';
import { type EndpointCaller } from '../libs/push/src/deliveries/endpoint-caller.js';
import { EndpointWork } from '../libs/push/src/deliveries/endpoint-work.js';
import { newEndpointSecret } from '../libs/push/src/endpoints/signature.js';
import { type Finding, percentile } from './results.js';
import { type ChangeLog, comparison, logger, type Pair } from './push-log.js';

const ENDPOINTS = 5;
const ROUNDS = 10;
const CHANGES = 50;
// Each old change would have a delivery to each endpoint. The row of a delivery and its indexes take about 500 bytes.
const OLD_DELIVERIES_SHARE = 0.1;
const DEADLINE_MS = 60_000;

interface DeliveryParts {
  readonly receiverUrl: string;
  readonly caller: EndpointCaller;
  readonly vault: Vault;
}

type Arrival = readonly [id: string, path: string, atMs: number];

/** Time from a commit to the arrival at each of five endpoints: in a log without old changes, and in one with old changes and old deliveries. */
export async function measureDeliveries(
  logs: Pair<ChangeLog>,
  oldChanges: number,
  parts: DeliveryParts,
): Promise<{ findings: Finding[]; raw: unknown }> {
  const senders = [
    await Sender.start(logs[0], 0, parts),
    await Sender.start(logs[1], oldChanges, parts),
  ] as const;
  for (const sender of senders) await sender.round();
  const delays: Pair<number[]> = [[], []];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const side of [0, 1] as const) delays[side].push(...(await senders[side].round()));
  for (const sender of senders) await sender.stop();

  const expected = 2 * ROUNDS * CHANGES * ENDPOINTS;
  const lacking = expected - delays[0].length - delays[1].length;
  const compared = (share: number) =>
    comparison(`commit to arrival, p${share * 100}`, [
      percentile(delays[0], share),
      percentile(delays[1], share),
    ]);
  return {
    findings: [
      { ...compared(0.5), goal: '', met: true },
      compared(0.99),
      {
        what: 'deliveries that did not arrive, with or without old changes',
        measured: String(lacking),
        goal: '0',
        met: lacking === 0,
      },
    ],
    raw: {
      oldDeliveries: oldChanges * OLD_DELIVERIES_SHARE,
      p50: delays.map((ms) => percentile(ms, 0.5)),
      p99: delays.map((ms) => percentile(ms, 0.99)),
    },
  };
}

/** The product's planner and sender on one log. */
class Sender {
  private constructor(
    private readonly log: ChangeLog,
    private readonly worker: Pick<Worker<never, never>, 'stop'>,
    private readonly planner: DeliveryPlanner,
    private readonly receiverUrl: string,
  ) {}

  static async start(
    log: ChangeLog,
    oldChanges: number,
    { receiverUrl, caller, vault }: DeliveryParts,
  ): Promise<Sender> {
    const { database } = log;
    await database.query('update delivery_plan set planned_seq = (select last_seq from change_feed)');
    const [first = ''] = await createEndpoints(database, receiverUrl, vault);
    await insertOldDeliveries(database, first, oldChanges * OLD_DELIVERIES_SHARE);
    const scale = timeScale(1);
    const queue = new DeliveryQueue(database, 5 * 86_400_000);
    const worker = new Worker(new EndpointWork(queue, caller, vault, scale, logger), scale, logger);
    worker.start();
    const planner = new DeliveryPlanner(database, scale, logger, () => worker.wake());
    return new Sender(log, worker, planner, receiverUrl);
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** Commits changes one after the other. Returns the ms from each commit to each arrival. */
  async round(): Promise<number[]> {
    await this.arrivals();
    const committed = new Map<string, number>();
    for (let n = 0; n < CHANGES; n += 1) {
      committed.set(await this.commit(), performance.timeOrigin + performance.now());
      await this.log.news.sequence();
      await this.planner.drain();
    }
    const delays: number[] = [];
    const endsAtMs = performance.now() + DEADLINE_MS;
    while (delays.length < CHANGES * ENDPOINTS && performance.now() < endsAtMs) {
      await pause(20);
      for (const [id, , atMs] of await this.arrivals()) {
        const committedAtMs = committed.get(id);
        if (committedAtMs !== undefined) delays.push(atMs - committedAtMs);
      }
    }
    return delays;
  }

  /** Returns the id of the change. */
  private async commit(): Promise<string> {
    const { rows } = await this.log.database.query<{ id: string }>(
      `insert into change_outbox (type, athlete_id, subject_id, data)
       values ('import.completed', gen_random_uuid(), $1, '{"name":"Morning run"}')
       returning id`,
      [randomUUID()],
    );
    return rows[0]?.id ?? '';
  }

  private async arrivals(): Promise<Arrival[]> {
    return (await (await fetch(`${this.receiverUrl}/arrivals`)).json()) as Arrival[];
  }
}

async function createEndpoints(database: Database, receiverUrl: string, vault: Vault): Promise<string[]> {
  const ids = Array.from({ length: ENDPOINTS }, () => randomUUID());
  for (const [n, id] of ids.entries()) {
    const place = { table: 'webhook_endpoint', owner: id, provider: '', column: 'secret' } as const;
    await database.query(
      `insert into webhook_endpoint (id, url, types, secret, key_version) values ($1, $2, '{*}', $3, 1)`,
      [id, `${receiverUrl}/ok/${n}`, vault.seal(newEndpointSecret(), place)],
    );
  }
  return ids;
}

/** Delivered ones, of the newest old changes. In parts, because a statement of the pool may take a minute. */
async function insertOldDeliveries(database: Database, endpointId: string, count: number): Promise<void> {
  const AT_ONCE = 50_000;
  for (let done = 0; done < count; done += AT_ONCE)
    await database.query(
      `insert into webhook_delivery (
         endpoint_id, seq, change_id, athlete_id, type, status, attempts, next_attempt_at, last_status, created_at, delivered_at
       )
       select $1, seq, id, athlete_id, type, 'delivered', 1, null, 204, occurred_at, occurred_at
       from change
       where seq > $2 and seq <= $2 + $3
       order by seq
       on conflict do nothing`,
      [endpointId, done, Math.min(AT_ONCE, count - done)],
    );
  await database.query('analyze webhook_delivery');
}
