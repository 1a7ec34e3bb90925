import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { eventually } from '../../../test/harness/eventually.js';
import { silent, SleepWorld } from '../../../test/harness/sleep-world.js';
import {
  ClaimLost,
  type DeadLetters,
  DependencyUnavailable,
  fenceRejected,
  OperatorActions,
} from '#platform';
import { testWorkers } from '../../../test/harness/test-workers.js';
import {
  DeadLetterOrders,
  type DeadLetterClaim,
  DeadLetterOrderRows,
  DeadLetterOrderWorker,
} from './dead-letter-orders.js';

const RAW = 'athlete-ally.sleep.raw-received';
const DLQ = 'dlq.normalize.sleep.raw-received';
// An outage of 45 s left 1,500 dead letters. Larger runs: DEAD_LETTERS=20000.
const MANY = Number(process.env.DEAD_LETTERS ?? 1_500);

describe('orders about many dead letters', () => {
  let world: SleepWorld;
  let orders: DeadLetterOrders;
  beforeAll(async () => {
    world = await SleepWorld.start();
    orders = new DeadLetterOrders(world.letters, world.database, new OperatorActions(world.database));
  });
  afterAll(() => world?.stop());
  beforeEach(async () => {
    for (const stream of ['AA_CORE_HOT', 'AA_DLQ']) await world.manager.streams.purge(stream);
    await world.rows('truncate operator_action, dead_letter_order');
  });

  const work = (letters: DeadLetters = world.letters) =>
    new DeadLetterOrderWorker(letters, new DeadLetterOrderRows(world.database), testWorkers(), silent);
  /** Publishes a dead letter; returns its sequence. */
  const die = async (reason = 'max-deliver', prefix = DLQ) => {
    const all = headers();
    all.set('dlq-subject', RAW);
    all.set('dlq-reason', reason);
    all.set('received-at', '2026-01-01T00:00:00.000Z');
    const { seq } = await jetstream(world.connection).publish(`${prefix}.${reason}`, randomUUID(), {
      headers: all,
    });
    return seq;
  };
  const dieMany = async (count: number) => {
    for (let done = 0; done < count; done += 500)
      await Promise.all(Array.from({ length: Math.min(500, count - done) }, () => die()));
  };
  const events = async () => (await world.manager.streams.info('AA_CORE_HOT')).state.messages;
  const left = async () => (await world.letters.list(0, 100)).items.map(({ seq }) => seq);
  const open = () => world.rows('select 1 from dead_letter_order where completed_at is null');

  it(`an order replays ${MANY} dead letters, each once, and the list is then empty`, async () => {
    await dieMany(MANY);
    const { items, counts, next_cursor } = await world.letters.list(0, 100);
    expect({ counts, listed: items.length }).toEqual({ counts: { 'max-deliver': MANY }, listed: 100 });
    expect(next_cursor).toBe(String(items.at(-1)?.seq));
    expect(await orders.place('replay', {}, 'operator')).toBe(MANY);
    await work().runOnce();
    expect((await world.letters.list(0, 100)).counts).toEqual({});
    expect(await events()).toBe(MANY);
    const [event] = await world.events('AA_CORE_HOT', RAW).then((all) => all.slice(0, 1));
    expect(event?.header.get('received-at')).toBe('2026-01-01T00:00:00.000Z');
    expect(await world.rows('select handled, matched from dead_letter_order')).toEqual([
      { handled: MANY, matched: MANY },
    ]);
  }, 120_000);

  it('an order discards dead letters by reason, by subject and by sequence, and by several of these', async () => {
    const seqs = [
      await die(),
      await die('non-retryable'),
      await die('max-deliver', 'dlq.fetch.sleep'),
      await die(),
    ];
    const [first, second, third, fourth] = seqs as [number, number, number, number];
    const discard = async (filter: object) => {
      const matched = await orders.place('discard', filter, 'operator');
      await work().runOnce();
      return matched;
    };
    expect(await discard({ reason: 'non-retryable' })).toBe(1);
    expect(await left()).toEqual([first, third, fourth]);
    expect(await discard({ subject: 'dlq.fetch.sleep.max-deliver' })).toBe(1);
    expect(await left()).toEqual([first, fourth]);
    expect(await discard({ reason: 'schema-invalid', seqs: [first] })).toBe(0);
    expect(await discard({ reason: 'max-deliver', seqs: [second, fourth, fourth, 999_999] })).toBe(1);
    expect(await left()).toEqual([first]);
    expect(await events()).toBe(0);
  });

  it('dead letters are listed by reason and by subject, page by page, with the counts of all reasons', async () => {
    const seqs: number[] = [];
    for (let n = 0; n < 6; n += 1) seqs.push(await die(n % 2 === 0 ? 'max-deliver' : 'non-retryable'));
    seqs.push(await die('max-deliver', 'dlq.fetch.sleep'));
    const [a, b, c, d, e, f, other] = seqs as [number, number, number, number, number, number, number];
    const counts = { 'max-deliver': 4, 'non-retryable': 3 };
    const page = async (filter: object, after = 0) => {
      const { items, ...rest } = await world.letters.list(after, 2, filter);
      return { seqs: items.map(({ seq }) => seq), ...rest };
    };
    const byReason = { reason: 'max-deliver' };
    expect(await page(byReason)).toEqual({ seqs: [a, c], next_cursor: String(c), counts });
    expect(await page(byReason, c)).toEqual({ seqs: [e, other], next_cursor: null, counts });
    const bySubject = { subject: `${DLQ}.non-retryable` };
    expect(await page(bySubject)).toEqual({ seqs: [b, d], next_cursor: String(d), counts });
    expect(await page(bySubject, d)).toEqual({ seqs: [f], next_cursor: null, counts });
    for (const none of [{ reason: 'unheard-of' }, { ...byReason, ...bySubject }])
      expect(await page(none)).toEqual({ seqs: [], next_cursor: null, counts });
  });

  it('a page of 100 of 1,000 dead letters costs as few requests to NATS as a page of one', async () => {
    await dieMany(1_000);
    const requestsOf = async (limit: number) => {
      const before = world.connection.stats().outMsgs;
      expect((await world.letters.list(0, limit)).items).toHaveLength(limit);
      return world.connection.stats().outMsgs - before;
    };
    const [one, hundred] = [await requestsOf(1), await requestsOf(100)];
    expect(hundred).toBe(one);
    expect(hundred).toBeLessThanOrEqual(8);
  });

  it('a replay order does not change dead letters that came after the order or that have no origin', async () => {
    await jetstream(world.connection).publish(`${DLQ}.max-deliver`, 'from nowhere');
    await die();
    expect(await orders.place('replay', {}, 'operator')).toBe(2);
    const later = await die();
    await work().runOnce();
    expect(await left()).toEqual([later - 2, later]);
    expect(await events()).toBe(1);
    expect(await open()).toEqual([]);
  });

  it('a worker continues an order after another worker died between replaying and deleting, also if two orders are equal', async () => {
    await dieMany(700);
    await orders.place('replay', {}, 'operator');
    await orders.place('replay', {}, 'operator');
    const dying = Object.create(world.letters) as DeadLetters;
    dying.discardAll = () => Promise.reject(new DependencyUnavailable('nats'));
    await work(dying).runOnce();
    // All 500 of a batch are replayed, and none is deleted.
    expect(await events()).toBe(500);
    expect((await world.letters.list(0, 1)).counts).toEqual({ 'max-deliver': 700 });
    await Promise.all([work().runOnce(), work().runOnce()]);
    expect(await events()).toBe(700);
    expect(await left()).toEqual([]);
    expect(await open()).toEqual([]);
  }, 60_000);

  it('several workers carry out dead-letter orders one at a time, oldest first', async () => {
    await die();
    await orders.place('discard', {}, 'operator');
    let discard: () => void = () => undefined;
    const may = new Promise<void>((resolve) => (discard = resolve));
    const slow = Object.create(world.letters) as DeadLetters;
    slow.discardAll = async (letters) => {
      await may;
      return world.letters.discardAll(letters);
    };
    const discarding = work(slow).runOnce();
    const isLeased = 'select 1 from dead_letter_order where leased_until is not null';
    await eventually('a worker holds the order', async () => (await world.rows(isLeased)).length === 1);
    await orders.place('replay', {}, 'operator');
    await work().runOnce();
    expect(await events()).toBe(0);
    discard();
    await discarding;
    expect(await open()).toEqual([]);
    expect([await left(), await events()]).toEqual([[], 0]);
  });

  it('an order stays open while NATS is away, and a worker carries it out afterwards', async () => {
    await die();
    await orders.place('discard', {}, 'operator');
    await world.nats.kill();
    await work().runOnce();
    expect(await open()).toHaveLength(1);
    await world.nats.start();
    await eventually(
      'a run that succeeds',
      async () => {
        await work().runOnce();
        return (await open()).length === 0;
      },
      60_000,
    );
    expect(await left()).toEqual([]);
  }, 120_000);

  it('an order changes no dead letter of a stream that was recreated after the order', async () => {
    await die();
    await orders.place('discard', {}, 'operator');
    const { config } = await world.manager.streams.info('AA_DLQ');
    await world.manager.streams.delete('AA_DLQ');
    await world.manager.streams.add(config);
    const seq = await die();
    await work().runOnce();
    expect(await left()).toEqual([seq]);
    expect(await open()).toEqual([]);
  });

  it('DeadLetterOrders records the operator of an order, also if no dead letter matches', async () => {
    expect(await orders.place('replay', { reason: 'max-deliver' }, 'operator')).toBe(0);
    expect(await world.rows('select actor, action, detail from operator_action')).toEqual([
      {
        actor: 'operator',
        action: 'dlq.replay',
        detail: { reason: 'max-deliver', subject: null, seqs: null, matched: 0 },
      },
    ]);
    expect(await open()).toEqual([]);
  });

  it('the purge deletes orders that were completed more than 30 days ago, and no others', async () => {
    for (const completed of ["now() - interval '31 days'", "now() - interval '29 days'", 'null']) {
      await die();
      await orders.place('discard', {}, 'operator');
      await world.rows(
        `update dead_letter_order set completed_at = ${completed}, handled = 1 where handled = 0`,
      );
    }
    await new DeadLetterOrderRows(world.database).purge();
    const rest = await world.rows(
      'select completed_at is null as is_open from dead_letter_order order by id',
    );
    expect(rest).toEqual([{ is_open: false }, { is_open: true }]);
  });

  const HOUR_MS = 3_600_000;
  const writes: ReadonlyArray<
    readonly [string, (rows: DeadLetterOrderRows, claim: DeadLetterClaim) => Promise<unknown>]
  > = [
    ['move on', (rows, claim) => rows.moveOn(claim, 1, 1)],
    ['release', (rows, claim) => rows.release(claim)],
    ['complete', (rows, claim) => rows.complete(claim)],
  ];

  it.each(writes)(
    'the write "%s" of a dead-letter order changes nothing, and is counted, if another worker has claimed the order since',
    async (_, write) => {
      await die();
      await orders.place('discard', {}, 'operator');
      const rows = new DeadLetterOrderRows(world.database);
      const frozen = (await rows.claim(HOUR_MS))!;
      await world.rows('update dead_letter_order set leased_until = now()');
      await rows.claim(HOUR_MS);
      const whole = () => world.rows('select * from dead_letter_order');
      const claimed = await whole();
      fenceRejected.reset();
      const answer = await write(rows, frozen).catch((error: unknown) => error);
      expect(answer === false || answer instanceof ClaimLost).toBe(true);
      expect(await rows.renew(frozen, HOUR_MS)).toBe(false);
      expect(await whole()).toEqual(claimed);
      expect((await fenceRejected.get()).values).toMatchObject([
        { labels: { kind: 'dead_letter_order' }, value: 1 },
      ]);
    },
  );
});
