import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Vault } from '#connections';
import { Changes, type ChangeType, createLogger, fenceRejected, loadSql, timeScale, Worker } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.js';
import { EndpointDeliveries } from './deliveries.js';
import { DeliveryPlanner } from './delivery-planner.js';
import { DeliveryQueue } from './delivery-queue.js';
import { SentDeliveries, UnsentDeliveries } from './delivery-records.js';
import { EndpointCaller } from './endpoint-caller.js';
import { EndpointWork } from './endpoint-work.js';
import { answers, Receiver } from '../../../../test/harness/webhook-receiver.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const logger = createLogger({ level: 'silent', process: 'test' });
const real = timeScale(1);
const replayChanges = loadSql(import.meta.url, './sql/replay-changes.sql');

describe('deliveries', () => {
  let open: OpenDatabase;
  let changes: Changes;
  let receivers: Receiver[];
  let endpoints: WebhookEndpoints;
  let deliveries: EndpointDeliveries;
  let planner: DeliveryPlanner;
  let sender: Worker<never, never>;
  let senders: Array<{ stop(): Promise<void> }>;
  let callers: EndpointCaller[];
  const vault = new Vault([{ version: 1, key: Buffer.alloc(32, 7) }]);
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 20 });
    changes = new Changes(open.database);
  });
  afterAll(() => open.close());

  beforeEach(async () => {
    await open.database.query(
      'truncate change, change_outbox, webhook_endpoint, webhook_delivery, webhook_replay, athlete cascade',
    );
    await open.database.query('update delivery_plan set planned_seq = (select last_seq from change_feed)');
    receivers = [];
    senders = [];
    callers = [];
    endpoints = new WebhookEndpoints(open.database, vault, real, { allowPrivate: true });
    deliveries = new EndpointDeliveries(open.database, changes);
    planner = new DeliveryPlanner(open.database, real, logger, () => undefined);
    sender = newSender();
  });
  afterEach(async () => {
    // First the receivers: a sender waits for the attempts that hang.
    await Promise.all(receivers.map((one) => one.stop()));
    await Promise.all(senders.map((one) => one.stop()));
    await Promise.all(callers.map((one) => one.close()));
  });

  const newQueue = () => new DeliveryQueue(open.database, 5 * DAY_MS);

  function newSender(queue = newQueue()): Worker<never, never> {
    const caller = new EndpointCaller({ attemptMs: 60_000, allowPrivate: true });
    const worker = new Worker(new EndpointWork(queue, caller, vault, real, logger, () => 0), real, logger);
    callers.push(caller);
    senders.push(worker);
    return worker as unknown as Worker<never, never>;
  }

  async function endpoint(types = ['*'], answer = answers(204)) {
    const receiver = await Receiver.start(answer);
    receivers.push(receiver);
    const created = await endpoints.create({ url: receiver.url, types });
    return { receiver, ...created };
  }

  /** Writes changes and plans their deliveries. Returns the ids of the changes. */
  async function happened(
    count = 1,
    type: ChangeType = 'import.completed',
    athleteId: string = randomUUID(),
  ) {
    const before = new Set(await idsOfLog());
    await open.database.transaction(async (sql) => {
      for (let n = 0; n < count; n += 1)
        await changes.record(sql, { type, athleteId, subjectId: `${n}`, data: { name: `Läufe ${n}` } });
    });
    await changes.sequence();
    await planner.drain();
    return (await idsOfLog()).filter((id) => !before.has(id));
  }
  const idsOfLog = async () =>
    (await open.database.query<{ id: string }>('select id from change order by seq')).rows.map(
      ({ id }) => id,
    );

  const rejectedWrites = async () =>
    (await fenceRejected.get()).values.map(({ labels, value }) => [labels.kind, value]);
  const list = async (id: string) => (await deliveries.list(id, { limit: 200 })).items;
  /** Makes all pending deliveries and paused endpoints due, as if their pauses had passed. */
  const passPauses = async () => {
    await open.database.query(`update webhook_delivery set next_attempt_at = now() where status = 'pending'`);
    await open.database.query('update webhook_endpoint set paused_until = null');
  };
  const countDeleted = async (records: UnsentDeliveries | SentDeliveries, athleteId: string) => {
    let counted = 0;
    for (let some = -1; some !== 0; counted += some)
      some = await open.database.transaction((sql) => records.deleteSome(sql, athleteId, {}, null));
    return counted;
  };
  const circuitOf = async (id: string) => {
    const statement = 'select status, failures, failing_since from webhook_endpoint where id = $1';
    return (await open.database.query(statement, [id])).rows[0];
  };
  const failingSince = (days: number) =>
    open.database.query(`update webhook_endpoint set failing_since = now() - $1 * interval '1 day'`, [days]);

  it('a delivery is the change as JSON, with headers that the official library verifies', async () => {
    const { receiver, secret } = await endpoint();
    const [id = ''] = await happened();
    await sender.drain();
    const { rows } = await open.database.query<{ athlete_id: string; revision: string; at: string }>(
      'select athlete_id, revision, api_time(occurred_at) as at from change',
    );
    const [received] = receiver.received;
    expect(new Webhook(secret).verify(received?.body ?? '', received?.headers ?? {})).toEqual({
      id,
      type: 'import.completed',
      athlete_id: rows[0]?.athlete_id,
      subject_id: '0',
      revision: Number(rows[0]?.revision),
      occurred_at: rows[0]?.at,
      data: { name: 'Läufe 0' },
    });
    expect(received?.id).toBe(id);
  });

  it('an endpoint gets the changes of its types only', async () => {
    const all = await endpoint(['*']);
    const group = await endpoint(['import.*', 'sleep.stored']);
    const single = await endpoint(['sleep.stored']);
    const imported = await happened(2, 'import.failed');
    const slept = await happened(1, 'sleep.stored');
    await happened(1, 'sleep.removed');
    await sender.drain();
    expect(all.receiver.ids).toHaveLength(4);
    expect(group.receiver.ids.sort()).toEqual([...imported, ...slept].sort());
    expect(single.receiver.ids).toEqual(slept);
  });

  it('planning the same changes again, and in two processes at once, makes no further delivery', async () => {
    const { id } = await endpoint();
    await happened(300);
    await open.database.query('update delivery_plan set planned_seq = 0');
    const other = new DeliveryPlanner(open.database, real, logger, () => undefined);
    await Promise.all([planner.drain(), other.drain(), planner.drain()]);
    const { rows } = await open.database.query<{ count: number }>(
      'select count(*)::int as count from webhook_delivery where endpoint_id = $1',
      [id],
    );
    expect(rows).toEqual([{ count: 300 }]);
  });

  it('deliveries have both signatures for a day after a rotation, and then only the new one', async () => {
    const { id, receiver, secret: old } = await endpoint();
    const { secret } = await endpoints.rotateSecret(id);
    await happened();
    await sender.drain();
    const { body, headers } = receiver.received[0]!;
    for (const one of [old, secret]) expect(new Webhook(one).verify(body, headers)).toBeDefined();

    await open.database.query('update webhook_endpoint set previous_until = now()');
    await happened();
    await sender.drain();
    const later = receiver.received[1]!;
    expect(new Webhook(secret).verify(later.body, later.headers)).toBeDefined();
    expect(() => new Webhook(old).verify(later.body, later.headers)).toThrow('No matching signature');
  });

  it('a failed delivery is sent again under the same webhook-id at the times of the table, and is given up after ten attempts', async () => {
    const { id, receiver } = await endpoint(['*'], answers(500, 'broken'));
    const [changeId] = await happened();
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await sender.drain();
      const { rows } = await open.database.query<{ attempts: number; status: string; pause: number }>(
        `select attempts, status, extract(epoch from next_attempt_at - clock_timestamp())::float8 as pause
         from webhook_delivery`,
      );
      expect(rows).toMatchObject([{ attempts: attempt, status: attempt < 10 ? 'pending' : 'failed' }]);
      pauses.push(rows[0]?.pause ?? 0);
      await passPauses();
    }
    const expected = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, 0];
    pauses.forEach((pause, n) => {
      expect(pause).toBeLessThanOrEqual(expected[n]!);
      expect(pause).toBeGreaterThan(expected[n]! - 60);
    });
    await sender.drain();
    expect(receiver.ids).toEqual(Array.from({ length: 10 }, () => changeId));
    expect(await list(id)).toMatchObject([
      {
        change_id: changeId,
        status: 'failed',
        attempts: 10,
        last_status: 500,
        last_response: 'broken',
        last_error: 'The endpoint answered 500.',
        next_attempt_at: null,
      },
    ]);
  });

  it('an endpoint has at most eight attempts in flight over all workers', async () => {
    const held: Array<() => void> = [];
    const { receiver } = await endpoint(['*'], (_, response) => {
      held.push(() => void response.writeHead(204).end());
      if (held.length >= 8) setImmediate(() => held.splice(0).forEach((end) => end()));
    });
    const ids = await happened(40);
    sender.start();
    const other = newSender();
    other.start();
    await eventually('all deliveries', () => new Set(receiver.ids).size === ids.length);
    expect(receiver.mostAtOnce).toBe(8);
    expect(receiver.ids.sort()).toEqual([...ids].sort());
  });

  it('endpoints that hang delay no other endpoint', async () => {
    const hanging = await Promise.all(Array.from({ length: 10 }, () => endpoint(['*'], () => undefined)));
    const healthy = await Promise.all(Array.from({ length: 10 }, () => endpoint()));
    const ids = await happened(50);
    sender.start();
    await eventually('the deliveries of healthy endpoints', () =>
      healthy.every(({ receiver }) => receiver.ids.length === ids.length),
    );
    expect(hanging.map(({ receiver }) => receiver.ids.length)).toEqual(hanging.map(() => 8));
  });

  it('while one request hangs, its endpoint gets further deliveries', async () => {
    let isFirst = true;
    const { receiver } = await endpoint(['*'], (request, response) => {
      if (!isFirst) return answers(204)(request, response);
      isFirst = false;
    });
    await happened();
    sender.start();
    await eventually('the hanging request', () => receiver.ids.length === 1);
    const later = await happened(20);
    await eventually('the later deliveries', () => later.every((id) => receiver.ids.includes(id)));
  });

  it('after eight failures in a row an endpoint pauses for 5 s, and then gets one probe', async () => {
    const { receiver, id } = await endpoint(['*'], answers(500));
    await happened(30);
    await sender.drain();
    expect(receiver.ids.length).toBeGreaterThanOrEqual(8);
    expect(receiver.ids.length).toBeLessThan(16);
    const paused = async () =>
      (
        await open.database.query<{ seconds: number }>(
          'select extract(epoch from paused_until - clock_timestamp())::float8 as seconds from webhook_endpoint',
        )
      ).rows[0]?.seconds ?? 0;
    expect(await paused()).toBeLessThanOrEqual(5);
    expect(await paused()).toBeGreaterThan(0);

    const before = receiver.ids.length;
    await passPauses();
    await sender.drain();
    expect(receiver.ids.length).toBe(before + 1);
    expect(await paused()).toBeGreaterThan(5);

    receiver.answer = answers(200);
    await passPauses();
    await sender.drain();
    expect((await list(id)).every(({ status }) => status === 'delivered')).toBe(true);
  });

  it('410 disables the endpoint at once; its deliveries wait, and are sent when it is active again', async () => {
    const { receiver, id } = await endpoint(['*'], answers(410));
    await happened(30);
    await sender.drain();
    expect(receiver.ids.length).toBeLessThanOrEqual(8);
    expect(await endpoints.find(id)).toMatchObject({
      status: 'disabled',
      disabled_reason: 'The endpoint answered 410.',
    });
    const inBetween = await happened();
    await passPauses();
    await sender.drain();
    expect(receiver.ids.length).toBeLessThanOrEqual(8);

    receiver.answer = answers(204);
    expect(await endpoints.change(id, { status: 'active' })).toMatchObject({
      status: 'active',
      disabled_reason: null,
    });
    await sender.drain();
    expect(new Set(receiver.ids).size).toBe(30);
    expect(receiver.ids).not.toContain(inBetween[0]);
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    await planner.drain();
    await sender.drain();
    expect(receiver.ids).toContain(inBetween[0]);
  });

  it('five days with failures and no success disable an endpoint, and a success restarts the five days', async () => {
    const { receiver, id } = await endpoint(['*'], answers(500));
    await happened();
    await sender.drain();
    await failingSince(4.9);
    await passPauses();
    await sender.drain();
    expect(await endpoints.find(id)).toMatchObject({ status: 'active' });

    receiver.answer = answers(200);
    await passPauses();
    await sender.drain();
    await failingSince(5.1);
    await happened();
    await sender.drain();
    expect(await endpoints.find(id)).toMatchObject({ status: 'active' });

    receiver.answer = answers(500);
    await happened();
    await sender.drain();
    await failingSince(5.1);
    await passPauses();
    await sender.drain();
    expect(await endpoints.find(id)).toMatchObject({
      status: 'disabled',
      disabled_reason: 'No delivery has succeeded for five days.',
    });
  });

  it('a test, a repetition and a replay are sent, each under its webhook-id', async () => {
    const { receiver, id, secret } = await endpoint(['import.failed']);
    const [first = '', second = ''] = await happened(2, 'import.failed');
    await sender.drain();
    const test = await deliveries.test(id);
    await sender.drain();
    const { body, headers } = receiver.received.at(-1)!;
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({ id: test.change_id, type: 'test' });

    const delivered = (await list(id)).find(({ change_id }) => change_id === first);
    expect(await deliveries.redeliver(id, Number(delivered?.id))).toMatchObject({ status: 'pending' });
    await sender.drain();
    expect(receiver.ids.at(-1)).toBe(first);

    receiver.received.length = 0;
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    await planner.drain();
    await sender.drain();
    expect(receiver.ids.sort()).toEqual([first, second].sort());

    receiver.received.length = 0;
    await deliveries.replay(id, new Date(0), new Date(Date.now() - HOUR_MS));
    await planner.drain();
    await sender.drain();
    expect(receiver.ids).toEqual([]);
    await expect(deliveries.redeliver(id, 999_999)).rejects.toThrow('no such delivery');
    await expect(deliveries.test(randomUUID())).rejects.toThrow('no such endpoint');
  });

  it('a new endpoint gets by a replay the changes from before it existed', async () => {
    const ids = await happened(2_500);
    const { receiver, id } = await endpoint();
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    await planner.drain();
    await sender.drain();
    expect(receiver.ids.sort()).toEqual([...ids].sort());
  });

  it('a delivery whose change was blanked or purged fails without being sent, and its error gives the reason', async () => {
    const { receiver, id } = await endpoint();
    const [blanked, purged] = await happened(2);
    await open.database.query(
      `update change set type = 'erased', athlete_id = null, data = null where id = $1`,
      [blanked],
    );
    await open.database.query('delete from change where id = $1', [purged]);
    await sender.drain();
    expect(receiver.received).toEqual([]);
    const gone = { status: 'failed', attempts: 0, last_error: 'The change is no longer kept.' };
    expect(await list(id)).toMatchObject([gone, gone]);
  });

  it('the deletion of an athlete deletes the deliveries of the athlete’s changes, and counts those that endpoints have got', async () => {
    const { id } = await endpoint(['import.*']);
    const dead = await endpoint(['import.*'], answers(500, 'personal data'));
    const [leaving, staying] = [await newAthlete(open.database), await newAthlete(open.database)];
    await happened(3, 'import.completed', leaving);
    await happened(2, 'import.completed', staying);
    await sender.drain();
    expect(await countDeleted(new UnsentDeliveries(), leaving)).toBe(3);
    expect(await countDeleted(new SentDeliveries(), leaving)).toBe(3);
    expect(await list(id)).toHaveLength(2);
    expect(await list(dead.id)).toHaveLength(2);
  });

  it('the deletion of one vendor’s data deletes the deliveries of changes that it has erased, and no others', async () => {
    const { id } = await endpoint();
    const athlete = await newAthlete(open.database);
    const [erased, kept] = await happened(2, 'import.completed', athlete);
    await sender.drain();
    await open.database.query(`update change set type = 'erased', data = null where id = $1`, [erased]);
    const deleteSome = (records: UnsentDeliveries | SentDeliveries) =>
      open.database.transaction((sql) => records.deleteSome(sql, athlete, {}, 'strava'));
    expect(await deleteSome(new UnsentDeliveries())).toBe(0);
    expect(await deleteSome(new SentDeliveries())).toBe(1);
    expect((await list(id)).map(({ change_id }) => change_id)).toEqual([kept]);
  });

  it('the deletion of one vendor’s data deletes deliveries whose changes the log no longer has, since they may be of that vendor', async () => {
    const { id } = await endpoint(['import.*'], answers(200, 'personal data'));
    const dead = await endpoint(['import.*'], answers(500, 'personal data'));
    const [leaving, staying] = [await newAthlete(open.database), await newAthlete(open.database)];
    const purged = await happened(2, 'import.completed', leaving);
    const [kept] = await happened(1, 'import.completed', leaving);
    const [others] = await happened(1, 'import.completed', staying);
    await sender.drain();
    await open.database.query('delete from change where id = any($1)', [[...purged, others]]);
    const deleteSome = (records: UnsentDeliveries | SentDeliveries) =>
      open.database.transaction((sql) => records.deleteSome(sql, leaving, {}, 'strava'));
    expect(await deleteSome(new UnsentDeliveries())).toBe(2);
    expect(await deleteSome(new SentDeliveries())).toBe(2);
    for (const one of [id, dead.id])
      expect((await list(one)).map(({ change_id }) => change_id)).toEqual([others, kept]);
  });

  it('a purge deletes deliveries older than their retention, and all of a deleted endpoint', async () => {
    const kept = await endpoint();
    const deleted = await endpoint();
    await happened(3);
    await open.database.query(
      `update webhook_delivery set created_at = now() - interval '31 days'
       where (endpoint_id, id) in (select endpoint_id, min(id) from webhook_delivery group by 1)`,
    );
    await endpoints.remove(deleted.id);
    expect((await endpoints.list()).map(({ id }) => id)).toEqual([kept.id]);
    await expect(endpoints.find(deleted.id)).rejects.toThrow('no such endpoint');
    expect(await deliveries.purge(30 * DAY_MS)).toBe(4);
    expect(await list(kept.id)).toHaveLength(2);
    const { rows } = await open.database.query('select id from webhook_endpoint');
    expect(rows).toEqual([{ id: kept.id }]);
  });

  it('a worker whose lease has ended writes nothing more, and another worker sends the delivery again', async () => {
    let end: () => void = () => undefined;
    const { receiver, id } = await endpoint(['*'], (_, response) => {
      end = () => void response.writeHead(200).end();
    });
    const [changeId] = await happened();
    const frozen = sender.runOne();
    await eventually('the first attempt', () => receiver.ids.length === 1);
    await open.database.query(`update webhook_endpoint set leased_until = now() - interval '1 second'`);
    receiver.answer = answers(204);
    expect(await newSender().drain()).toBe(1);
    fenceRejected.reset();
    end();
    expect(await frozen).toEqual({ kind: 'fenced' });
    expect(receiver.ids).toEqual([changeId, changeId]);
    expect(await list(id)).toMatchObject([{ status: 'delivered', attempts: 1, last_status: 204 }]);
    // The result of the attempt, and the end of the claim.
    expect(await rejectedWrites()).toEqual([['delivery', 2]]);
  });

  it('a worker whose lease has ended drops no delivery', async () => {
    const { id } = await endpoint();
    await happened();
    await open.database.query('delete from change');
    const queue = newQueue();
    const frozen = (await queue.claim(60_000))!;
    const [delivery] = await queue.due(frozen, 1, []);
    await open.database.query(`update webhook_endpoint set leased_until = now() - interval '1 second'`);
    const held = (await newQueue().claim(60_000))!;
    fenceRejected.reset();
    expect(await queue.drop(frozen, delivery!)).toBe(false);
    expect(await list(id)).toMatchObject([{ status: 'pending', last_error: null }]);
    expect(await rejectedWrites()).toEqual([['delivery', 1]]);
    expect(await queue.drop(held, delivery!)).toBe(true);
    expect(await list(id)).toMatchObject([{ status: 'failed' }]);
  });

  it('the list shows deliveries newest first, by pages and by status', async () => {
    const { id } = await endpoint();
    await happened(5);
    await sender.drain();
    const waiting = await happened(2);
    const first = await deliveries.list(id, { limit: 4 });
    expect(first.items.slice(0, 2).map(({ change_id }) => change_id)).toEqual([...waiting].reverse());
    const rest = await deliveries.list(id, { limit: 4, cursor: Number(first.next_cursor) });
    expect(rest.next_cursor).toBeNull();
    expect(new Set([...first.items, ...rest.items].map((one) => one.id)).size).toBe(7);
    expect((await deliveries.list(id, { limit: 50, status: 'pending' })).items).toHaveLength(2);
    expect((await deliveries.list(id, { limit: 50, status: 'failed' })).items).toEqual([]);
  });

  it('there are at most 50 endpoints, also when many are created at once', async () => {
    const created = await Promise.allSettled(
      Array.from({ length: 60 }, () => endpoints.create({ url: 'https://app.example/', types: ['*'] })),
    );
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
    const [refused] = created.filter((one) => one.status === 'rejected');
    expect(refused?.reason).toMatchObject({
      details: ['url: there are 50 endpoints already; delete one first'],
    });
  });

  it('no secret is stored in readable form', async () => {
    const { id, secret } = await endpoint();
    await endpoints.rotateSecret(id);
    const { rows } = await open.database.query('select * from webhook_endpoint');
    expect(JSON.stringify(rows)).not.toContain(secret.slice('whsec_'.length));
    expect(JSON.stringify(rows)).not.toContain('whsec_');
  });

  it('a session whose read of due deliveries fails ends after its running attempts, so that an endpoint never has more than eight over all workers', async () => {
    const held: Array<() => void> = [];
    const { receiver, id } = await endpoint(['*'], (_, response) => {
      held.push(() => void response.writeHead(204).end());
    });
    let failedReads = 0;
    const queue = newQueue();
    const read = queue.due.bind(queue);
    queue.due = (...wanted) => {
      if (receiver.ids.length === 0) return read(...wanted);
      failedReads += 1;
      return Promise.reject(new Error('the read failed'));
    };
    await happened(4);
    const session = newSender(queue).runOne();
    await eventually('a read fails', () => failedReads > 0 && receiver.ids.length === 4);
    receiver.answer = answers(204);
    for (let look = 0; look < 20; look += 1) {
      await passPauses();
      expect(await newSender().drain()).toBe(0);
    }
    held.forEach((end) => end());
    expect(await session).toMatchObject({ kind: 'failed' });
    expect(await list(id)).toMatchObject(Array(4).fill({ status: 'delivered', attempts: 1 }));
  });

  describe.each(['due', 'write'] as const)('after an error of `%s`', (broken) => {
    /** One session with deliveries of which some are attempted before the error. */
    async function brokenSession() {
      await happened(9);
      const queue = newQueue();
      const read = queue.due.bind(queue);
      const away = () => Promise.reject(new Error('the database is away'));
      let reads = 0;
      if (broken === 'write') queue.write = away;
      else queue.due = (...wanted) => ((reads += 1) > 1 ? away() : read(...wanted));
      expect(await newSender(queue).runOne()).toBeDefined();
    }

    it(`a session still disables an endpoint that answered 410 (\`${broken}\`)`, async () => {
      const { id } = await endpoint(['*'], answers(410));
      await brokenSession();
      expect(await endpoints.find(id)).toMatchObject({ status: 'disabled' });
    });

    it(`a session still closes the circuit after a success (\`${broken}\`)`, async () => {
      const { id } = await endpoint();
      await open.database.query('update webhook_endpoint set failures = 3');
      await failingSince(6);
      await brokenSession();
      expect(await circuitOf(id)).toEqual({ status: 'active', failures: 0, failing_since: null });
    });

    it(`a session still counts failed attempts (\`${broken}\`)`, async () => {
      const { id } = await endpoint(['*'], answers(500));
      await brokenSession();
      expect(await circuitOf(id)).toMatchObject({ status: 'active', failures: 8 });
    });
  });

  it('a session without an attempt disables no endpoint, however long the endpoint has failed', async () => {
    const { id } = await endpoint();
    await happened(2);
    await open.database.query('update webhook_endpoint set failures = 3');
    await failingSince(6);
    await open.database.query(`update change set type = 'erased', data = null`);
    await sender.drain();
    expect(await list(id)).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
    expect(await circuitOf(id)).toMatchObject({ status: 'active', failures: 3 });
  });

  it('a delivery that an endpoint has got counts as sent in a receipt, also after a repetition or a replay that waits or failed', async () => {
    const { receiver, id } = await endpoint();
    const athlete = await newAthlete(open.database);
    await happened(3, 'import.completed', athlete);
    await sender.drain();
    receiver.answer = answers(500);
    const [repeated] = await list(id);
    await deliveries.redeliver(id, Number(repeated?.id));
    await sender.drain();
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    await planner.drain();
    await happened(2, 'import.completed', athlete);
    expect(await countDeleted(new UnsentDeliveries(), athlete)).toBe(2);
    expect(await countDeleted(new SentDeliveries(), athlete)).toBe(3);
  });

  const waiting = async () =>
    (
      await open.database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    ).count;
  const isWaiting = async () => (await waiting()) > 0;

  it.each([
    ['new changes', () => Promise.resolve()],
    [
      'a replay',
      async (id: string) => {
        await open.database.query(
          'update delivery_plan set planned_seq = (select last_seq from change_feed)',
        );
        await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
      },
    ],
  ])(
    'a deletion waits for a planner that has read %s before the deletion, and leaves no delivery',
    async (_, order) => {
      const { id } = await endpoint();
      const athleteId = await newAthlete(open.database);
      await changes.record(open.database, { type: 'import.completed', athleteId, subjectId: '1', data: {} });
      await changes.sequence();
      await order(id);
      let work: Array<Promise<unknown>> = [];
      await open.database.transaction(async (sql) => {
        // A new delivery refers to its endpoint, so the planner waits for this lock at its end.
        await sql.query('select from webhook_endpoint for update');
        const planned = planner.drain();
        await eventually('the planner waits', isWaiting);
        await open.database.query(`update change set type = 'erased', data = null`);
        const deleted = countDeleted(new UnsentDeliveries(), athleteId);
        await Promise.race([deleted, eventually('the deletion waits', async () => (await waiting()) > 1)]);
        work = [planned, deleted];
      });
      expect(await Promise.all(work)).toEqual([undefined, 1]);
      expect(await list(id)).toEqual([]);
    },
  );

  describe('locks of deliveries', () => {
    // A replay of older changes gives them greater ids, so the order of ids and that of the log differ.
    async function reordered() {
      const athlete = await newAthlete(open.database);
      const old = await happened(2, 'import.completed', athlete);
      const { id } = await endpoint();
      await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
      const fresh = await happened(2, 'import.completed', athlete);
      const byId = (await list(id)).map(({ change_id }) => change_id).reverse();
      expect(byId).toEqual([...fresh, ...old]);
      return { id, athlete };
    }

    it.each([
      [
        'the write of attempts',
        async () => {
          const queue = newQueue();
          const claim = (await queue.claim(60_000))!;
          const due = await queue.due(claim, 8, []);
          const attempt = { isDelivered: true, isGone: false, status: 204, response: null, error: null };
          return () =>
            Promise.all(due.map((delivery) => queue.write({ claim, delivery, attempt, retryMs: undefined })));
        },
      ],
      [
        'a replay',
        async (id: string) => {
          await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
          return () => planner.drain();
        },
      ],
      [
        'a deletion',
        (_: string, athlete: string) => Promise.resolve(() => countDeleted(new UnsentDeliveries(), athlete)),
      ],
      [
        'a purge',
        async () => {
          await open.database.query(`update webhook_delivery set created_at = now() - interval '31 days'`);
          return () => deliveries.purge(30 * DAY_MS);
        },
      ],
    ])('%s locks deliveries in the order of the log, so that it meets no deadlock', async (_, prepare) => {
      const { id, athlete } = await reordered();
      const start = await prepare(id, athlete);
      let work: Promise<unknown> | undefined;
      await open.database.transaction(async (sql) => {
        await sql.query(
          'select from webhook_delivery where seq = (select min(seq) from webhook_delivery) for update',
        );
        work = start();
        await eventually('it waits for the first', isWaiting);
        const { count } = await sql.query('select from webhook_delivery for update nowait');
        expect(count).toBe(4);
      });
      await work;
    });
  });

  it('a claim finds a due endpoint while the planner’s inserts lock its key', async () => {
    const { receiver } = await endpoint();
    await happened();
    await open.database.transaction(async (sql) => {
      await sql.query('select from webhook_endpoint for key share');
      expect(await sender.drain()).toBe(1);
    });
    expect(receiver.ids).toHaveLength(1);
  });

  it('the deletion of an athlete deletes deliveries whose changes were purged before, and leaves no id of the athlete', async () => {
    const { id } = await endpoint(['*'], answers(200, 'personal data'));
    const late = await endpoint();
    const athlete = await newAthlete(open.database);
    await happened(2, 'import.completed', athlete);
    await sender.drain();
    await deliveries.replay(late.id, new Date(Date.now() - HOUR_MS), undefined);
    await planner.drain();
    await happened(1, 'athlete.deleted', athlete);
    await open.database.query(`delete from change where type <> 'athlete.deleted'`);
    expect(await countDeleted(new UnsentDeliveries(), athlete)).toBe(0);
    expect(await countDeleted(new SentDeliveries(), athlete)).toBe(4);
    for (const one of [id, late.id]) expect(await list(one)).toMatchObject([{ type: 'athlete.deleted' }]);
    const { rows } = await open.database.query('select * from webhook_delivery');
    expect(JSON.stringify(rows)).not.toContain(athlete);
  });

  it('a replay covers changes that are committed and not yet in the log, also for a disabled endpoint', async () => {
    const { receiver, id } = await endpoint();
    await endpoints.change(id, { status: 'disabled' });
    await changes.record(open.database, {
      type: 'import.completed',
      athleteId: randomUUID(),
      subjectId: '1',
      data: {},
    });
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    await changes.sequence();
    await planner.drain();
    await endpoints.change(id, { status: 'active' });
    await sender.drain();
    expect(receiver.ids).toHaveLength(1);
  });

  it('a replay begins after the changes that retention has deleted', async () => {
    const { id } = await endpoint();
    await open.database.query('update change_feed set purged_seq = last_seq');
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    const { rows } = await open.database.query(
      'select next_seq = purged_seq as begins_there from webhook_replay, change_feed',
    );
    await open.database.query('update change_feed set purged_seq = 0');
    expect(rows).toEqual([{ begins_there: true }]);
  });

  it('replays take turns, so that a long one delays no other one', async () => {
    await happened(6);
    const all = [await endpoint(), await endpoint(), await endpoint()];
    for (const { id } of all) await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    for (let batch = 0; batch < 6; batch += 1) await open.database.query(replayChanges, [2]);
    for (const { id } of all) expect(await list(id)).toHaveLength(4);
  });

  it.each([
    ['is set to active', () => ({ status: 'active' as const })],
    ['gets another URL', (url: string) => ({ url: `${url}/new` })],
  ])('a session under way writes nothing over the state of an endpoint that %s', async (_, change) => {
    const held: Array<() => void> = [];
    const { receiver, id, url } = await endpoint(['*'], (_request, response) => {
      held.push(() => void response.writeHead(410).end());
    });
    const ids = await happened(8);
    const session = sender.runOne();
    await eventually('the attempts', () => receiver.ids.length === 8);
    await endpoints.change(id, change(url));
    const later = await happened(2);
    held.forEach((end) => end());
    expect(await session).toEqual({ kind: 'fenced' });
    expect(receiver.ids).toHaveLength(8);
    expect(await circuitOf(id)).toEqual({ status: 'active', failures: 0, failing_since: null });
    expect(await list(id)).toMatchObject(Array(10).fill({ status: 'pending', attempts: 0 }));

    receiver.answer = answers(204);
    expect(await sender.drain()).toBe(0);
    await open.database.query('update webhook_endpoint set leased_until = null');
    await sender.drain();
    expect(receiver.ids.slice(8).sort()).toEqual([...ids, ...later].sort());
  });

  it('a test and a repetition are refused for a disabled endpoint', async () => {
    const { id } = await endpoint();
    await happened();
    const [delivery] = await list(id);
    await endpoints.change(id, { status: 'disabled' });
    const refused = { code: 'ENDPOINT_DISABLED' };
    await expect(deliveries.test(id)).rejects.toMatchObject(refused);
    await expect(deliveries.redeliver(id, Number(delivery?.id))).rejects.toMatchObject(refused);
    expect(await list(id)).toHaveLength(1);
  });

  it.each([
    ['a test', (id: string) => deliveries.test(id)],
    ['a repetition', async (id: string) => deliveries.redeliver(id, Number((await list(id))[0]?.id))],
  ])(
    '%s is refused if the endpoint is disabled at the same time, before it is accepted',
    async (_, order) => {
      const { id } = await endpoint();
      await happened();
      await sender.drain();
      const before = await list(id);
      let ordered: Promise<unknown> | undefined;
      await open.database.transaction(async (sql) => {
        await sql.query(`update webhook_endpoint set status = 'disabled' where id = $1`, [id]);
        ordered = order(id).catch((error: unknown) => error);
        await eventually('the order waits for the endpoint', isWaiting);
      });
      expect(await ordered).toMatchObject({ code: 'ENDPOINT_DISABLED' });
      expect(await list(id)).toEqual(before);
    },
  );

  it('a replay goes on while its endpoint is disabled, and its deliveries are sent when the endpoint is active again', async () => {
    const ids = await happened(6);
    const { receiver, id } = await endpoint();
    await deliveries.replay(id, new Date(Date.now() - HOUR_MS), undefined);
    await open.database.query(replayChanges, [2]);
    await endpoints.change(id, { status: 'disabled' });
    await planner.drain();
    await sender.drain();
    expect(receiver.ids).toEqual([]);
    expect(await list(id)).toMatchObject(Array(6).fill({ status: 'pending', attempts: 0 }));
    await endpoints.change(id, { status: 'active' });
    await sender.drain();
    expect(receiver.ids.sort()).toEqual([...ids].sort());
  });

  it('a replay answers 404 if its endpoint is deleted at the same time', async () => {
    const { id } = await endpoint();
    let ordered: Promise<unknown> | undefined;
    await open.database.transaction(async (sql) => {
      await sql.query('delete from webhook_endpoint where id = $1', [id]);
      ordered = deliveries
        .replay(id, new Date(Date.now() - HOUR_MS), undefined)
        .catch((error: unknown) => error);
      await eventually('the order waits for the endpoint', isWaiting);
    });
    expect(await ordered).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('an endpoint has at most ten replays, also when many are ordered at once', async () => {
    const { id } = await endpoint();
    const orders = Array.from({ length: 20 }, () => deliveries.replay(id, new Date(0), undefined));
    const refused = (await Promise.allSettled(orders)).filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject(Array(10).fill({ reason: { code: 'TOO_MANY_REPLAYS' } }));
    const { count } = await open.database.query('select from webhook_replay where endpoint_id = $1', [id]);
    expect(count).toBe(10);
  });
});
