import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { eventually } from '../harness/eventually.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const NIGHTS = 60;
const SEED = 7;
const RAW = 'athlete-ally.sleep.raw-received';

type Vendor = 'oura' | 'whoop';

interface VendorStats {
  readonly by_endpoint: Readonly<Record<string, number>>;
  readonly by_status: Readonly<Record<string, number>>;
  readonly over_limit: number;
}

describe('sleep history and reconciliation', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: 90, workers: 0 });
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.api.url}/webhooks/whoop` });
  });
  // Each test starts its own workers.
  afterEach(async () => {
    await world.control('DELETE', 'faults');
    await Promise.all(world.workers.splice(0).map((worker) => worker.stop()));
  });
  afterAll(async () => {
    await world?.stop();
  });

  const connected = async (provider: Vendor, nights = NIGHTS) => {
    const athlete = randomUUID();
    const made = { provider, nights, seed: SEED };
    const { id } = await world.control<{ id: string }>('POST', 'athletes', made);
    await world.connect(athlete, id, provider);
    return { athlete, vendorId: id };
  };
  const statsOf = async (vendor: Vendor) =>
    (await world.control<Record<Vendor, VendorStats>>('GET', 'stats'))[vendor];
  const listCalls = async (vendor: Vendor) => {
    const { by_endpoint } = await statsOf(vendor);
    return (by_endpoint.sleep ?? 0) + (by_endpoint.daily_sleep ?? 0);
  };
  const recordsAt = async (vendorId: string) => {
    const { athletes } = await world.control<{ athletes: Array<{ id: string; records: number }> }>(
      'GET',
      'overview',
    );
    return athletes.find(({ id }) => id === vendorId)?.records;
  };
  const sessions = (athlete: string) =>
    world.rows<{ record_id: string; state: string }>(
      'select record_id, state from sleep_session where user_id = $1',
      [athlete],
    );
  const isCompared = async (athlete: string) => {
    const rows = await world.rows(
      `select 1
       from sleep_comparison join connection on connection.id = connection_id
       where connection.athlete_id = $1 and compared_at is not null and begun_at is null`,
      [athlete],
    );
    return rows.length === 1;
  };
  const compared = (athlete: string) => eventually('compared', () => isCompared(athlete), 60_000);
  const dayPasses = () =>
    world.rows(
      "update sleep_comparison set compared_at = compared_at - interval '1 day', next_at = clock_timestamp()",
    );
  const comparedAgain = async (athlete: string) => {
    await dayPasses();
    await eventually(
      'compared again',
      async () => {
        const rows = await world.rows(
          `select 1
           from sleep_comparison join connection on connection.id = connection_id
           where connection.athlete_id = $1 and compared_at > clock_timestamp() - interval '1 hour' and begun_at is null`,
          [athlete],
        );
        return rows.length === 1;
      },
      60_000,
    );
  };
  const stateOf = async (stream: string, subjects_filter: string) => {
    const connection = await connect({ servers: world.env.NATS_URL });
    const { streams } = await jetstreamManager(connection);
    const { state } = await streams.info(stream, { subjects_filter });
    await connection.close();
    return state;
  };
  const published = async (subject: string) =>
    (await stateOf('AA_CORE_HOT', subject)).subjects?.[subject] ?? 0;
  const deadLetters = async () => (await stateOf('AA_DLQ', 'dlq.>')).messages;

  it.each<Vendor>(['oura', 'whoop'])(
    'the sleep history from %s is published once with at most two repeated calls, although the worker is killed',
    async (vendor) => {
      const publishedBefore = await published(RAW);
      const { athlete: undisturbed } = await connected(vendor);
      const calm = await world.startWorker();
      await compared(undisturbed);
      await calm.stop();
      world.workers.splice(world.workers.indexOf(calm), 1);
      const calls = await listCalls(vendor);

      const { athlete, vendorId } = await connected(vendor);
      await world.control('POST', 'faults', { vendor, endpoint: 'sleep', kind: 'slow', delay_ms: 2_000 });
      const first = await world.startWorker();
      await eventually(
        'some slices of the history are done, and not all',
        async () => {
          const underWay = await world.rows(
            `select 1
             from sleep_comparison join connection on connection.id = connection_id
             where connection.athlete_id = $1 and until < current_date - 10 and begun_at is not null`,
            [athlete],
          );
          return underWay.length > 0;
        },
        30_000,
      );
      await world.kill(first);
      await world.control('DELETE', 'faults');
      await world.startWorker();
      await compared(athlete);

      const records = await recordsAt(vendorId);
      expect(records).toBeGreaterThanOrEqual(NIGHTS);
      await eventually('all are here', async () => (await sessions(athlete)).length === records, 30_000);
      // At most two calls are repeated: one page of the list and, at Oura, the page of scores that is read before the list.
      expect(await listCalls(vendor)).toBeLessThanOrEqual(2 * calls + 2);
      const stats = await statsOf(vendor);
      expect([stats.over_limit, stats.by_status['429'] ?? 0]).toEqual([0, 0]);
      // Each record of both athletes is published once.
      expect((await published(RAW)) - publishedBefore).toBe(2 * (records ?? 0));
    },
    // Longer than the deadlines of all steps together, so that a step that never ends names itself.
    240_000,
  );

  it.each<Vendor>(['oura', 'whoop'])(
    'reconciliation with %s finds a night, a new score and a deletion although their events were lost',
    async (vendor) => {
      await world.startWorker();
      const { athlete, vendorId } = await connected(vendor, 3);
      await compared(athlete);
      const date = new Date().toISOString().slice(0, 10);
      const sleep = { athlete_id: vendorId, date, duration_minutes: 431, score: 80 };
      const night = async () => {
        const [row] = await world.rows<{ duration_minutes: number; quality_score: number }>(
          'select duration_minutes, quality_score from sleep_data where user_id = $1 and date = $2',
          [athlete, date],
        );
        return row;
      };
      await world.control('POST', 'faults', { vendor, kind: 'drop' });
      const before = await night();

      const { id } = await world.control<{ id: string }>('POST', 'sleep', {
        ...sleep,
        duration_minutes: 700,
      });
      await comparedAgain(athlete);
      await eventually('the night', async () => (await night())?.duration_minutes === 700);
      await world.control('PATCH', `sleep/${id}`, { score: 64 });
      await comparedAgain(athlete);
      await eventually('the score', async () => (await night())?.quality_score === 64);
      await world.control('DELETE', `sleep/${id}`);
      await comparedAgain(athlete);
      await eventually('the earlier night', async () => {
        const now = await night();
        return now?.duration_minutes === before?.duration_minutes;
      });
      expect((await sessions(athlete)).find(({ record_id }) => record_id === id)?.state).toBe('deleted');

      // A reconciliation without a difference publishes nothing.
      const publishedBefore = await published(RAW);
      await comparedAgain(athlete);
      expect(await published(RAW)).toBe(publishedBefore);
    },
    120_000,
  );

  it('a new connection to Oura restores and publishes the nights that a disconnection deleted', async () => {
    await world.startWorker();
    const { athlete, vendorId } = await connected('oura', 3);
    await compared(athlete);
    const records = (await recordsAt(vendorId)) ?? 0;
    const count = async () => (await sessions(athlete)).length;
    await eventually('all are here', async () => (await count()) === records);
    const nights = (await world.rows('select from sleep_data where user_id = $1', [athlete])).length;
    await world.call(athlete, 'DELETE', '/v1/connections/oura');
    await eventually('all are gone', async () => (await count()) === 0);
    const isDeleted = async () =>
      (await world.rows('select from receipt where athlete_id = $1 and completed_at is null', [athlete]))
        .length === 0;
    await eventually('the stream has forgotten them', isDeleted, 60_000);
    const left = await published('athlete-ally.sleep.normalized-stored');
    await eventually('connected again', () => world.connect(athlete, vendorId, 'oura').then(() => true));
    await eventually('all are back', async () => (await count()) === records, 60_000);
    await eventually(
      'the nights are published again',
      async () => (await published('athlete-ally.sleep.normalized-stored')) >= left + nights,
    );
  }, 180_000);

  it('sleep fetches stay within WHOOP’s limit per minute while three times as many events arrive', async () => {
    // The budget learns this limit from WHOOP's answers. Even a slow machine reaches the limit in a scaled minute of 667 ms. A call that is
    // on its way for more than 50 ms at a boundary counts in WHOOP's next minute, which is no mistake of the budget.
    await world.control('POST', 'limits', { vendor: 'whoop', minute: 20, leeway: 2 });
    await world.startWorker();
    await world.startWorker();
    const { athlete, vendorId } = await connected('whoop', 3);
    await compared(athlete);
    const deadLettersBefore = await deadLetters();
    const ids: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const sleep = { athlete_id: vendorId, date: '2026-11-10', duration_minutes: 30 + n, nap: true };
      ids.push((await world.control<{ id: string }>('POST', 'sleep', sleep)).id);
    }
    await eventually(
      'all are here',
      async () => {
        const known = new Set((await sessions(athlete)).map(({ record_id }) => record_id));
        return ids.every((id) => known.has(id));
      },
      90_000,
    );
    const stats = await statsOf('whoop');
    expect([stats.over_limit, stats.by_status['429'] ?? 0]).toEqual([0, 0]);
    expect(await deadLetters()).toBe(deadLettersBefore);
    expect(await world.rows("select 1 from webhook_event where outcome = 'set_aside'")).toEqual([]);
  }, 150_000);
});
