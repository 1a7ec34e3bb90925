import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { type ImportBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const ACTIVITIES = 6;
const PLACES = ['after the claim', 'before the store', 'before the commit', 'after the store'] as const;
type Place = (typeof PLACES)[number];

interface Activity {
  readonly id: string;
  readonly external_activity_id: string;
}

interface State {
  readonly status: string;
  readonly retries: number;
}

// Halts a worker at a chosen statement: a trigger waits for an advisory lock that the test holds.
const HALTS = `
  create function halt() returns trigger language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(1);
    return new;
  end $$;
  create table halted (id uuid, place text);
  create function halt_if(place text, activity uuid) returns boolean language sql stable
    as 'select exists (select 1 from halted where halted.place = $1 and halted.id = $2)';
  create trigger halt_before_store before update on activity
    for each row when (new.stream_fetch_status = 'success' and halt_if('before the store', new.id)) execute function halt();
  create constraint trigger halt_before_commit after insert on activity_stream deferrable initially deferred
    for each row when (halt_if('before the commit', new.activity_id)) execute function halt();`;

describe('a worker that is killed while it fetches streams', () => {
  let world: World;
  let lock: pg.Client;
  const athletes = new Map<Place, string>();

  beforeAll(async () => {
    world = await World.start();
    await world.rows(HALTS);
    lock = new pg.Client({ connectionString: world.env.DATABASE_URL });
    await lock.connect();
    await world.admin('POST', 'backfills/pause');
    for (const place of PLACES) {
      const athlete = randomUUID();
      athletes.set(place, athlete);
      await world.connect(athlete, await world.vendorAthlete(ACTIVITIES, { manual_share: 0 }));
    }
    for (const athlete of athletes.values()) {
      const { id } = (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' })).body;
      await world.importUntil(athlete, id, ({ status }) => status === 'completed');
    }
    for (const _ of PLACES.slice(1)) await world.startWorker();
  });
  afterAll(async () => {
    await lock?.end();
    await world?.stop();
  });

  async function newestOf(place: Place): Promise<Activity> {
    const newest = `select id, external_activity_id from activity where athlete_id = $1 order by start_time desc limit 1`;
    const [activity] = await world.rows<Activity>(newest, [athletes.get(place)]);
    return activity as Activity;
  }

  async function stateOf({ id }: Activity): Promise<State> {
    const state = `select stream_fetch_status as status, stream_fetch_retry_count as retries from activity where id = $1`;
    return (await world.rows<State>(state, [id]))[0] as State;
  }

  const haltAt = async (place: Place, { id }: Activity) =>
    world.rows('insert into halted values ($1, $2)', [id, place]);

  const fetchesIn = async (status: string) =>
    (await world.rows(`select 1 from activity where stream_fetch_status = $1`, [status])).length;

  const isHalted = (workers: number) =>
    eventually(`${workers} workers are halted`, async () => {
      const waiting = `
        select 1
        from pg_stat_activity
        where wait_event = 'advisory' and application_name = 'pacekeeper-worker' and datname = current_database()`;
      return (await world.rows(waiting)).length === workers;
    });

  const killAll = () => Promise.all([...world.workers].map((worker) => world.kill(worker)));

  /** Ends the database sessions of killed workers, as Postgres does once it notices that a machine is gone. */
  const endSessions = () =>
    world.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pacekeeper-worker' and datname = current_database()`,
    );

  const faults = async () => (await world.control<{ items: Array<{ hits: number }> }>('GET', 'faults')).items;

  it('a new worker stores all streams after four workers were killed: after the claim, before the store, before and after the commit', async () => {
    const claimed = await newestOf('after the claim');
    const unstored = await newestOf('before the store');
    const uncommitted = await newestOf('before the commit');
    const stored = await newestOf('after the store');
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'streams',
      kind: 'timeout',
      resource: claimed.external_activity_id,
    });
    await haltAt('before the store', unstored);
    await haltAt('before the commit', uncommitted);
    await lock.query('select pg_advisory_lock(1)');
    await world.admin('POST', 'backfills/resume');

    await Promise.all([
      eventually('a call is under way', async () => (await faults()).some(({ hits }) => hits > 0)),
      isHalted(2),
      eventually('the streams are stored', async () => (await stateOf(stored)).status === 'success'),
    ]);
    await killAll();
    const claims = [claimed, unstored, uncommitted];
    const retriesAtTheKill = (await Promise.all(claims.map(stateOf))).map(({ retries }) => retries);
    await endSessions();
    await world.control('DELETE', 'faults');
    await lock.query('select pg_advisory_unlock(1)');
    await world.rows('delete from halted');
    // On a busy machine a fetch may have failed once before the kill, because a call may take 8 s at most and a claim lasts 10 s.
    for (const [n, fetching] of claims.entries())
      expect(await stateOf(fetching)).toEqual({ status: 'fetching', retries: retriesAtTheKill[n] });
    expect(await stateOf(stored)).toEqual({ status: 'success', retries: 0 });

    await world.startWorker();
    // The batch locks of the dead workers last 20 s, and their claims 10 s.
    const total = PLACES.length * ACTIVITIES;
    await eventually('all are there', async () => (await fetchesIn('success')) === total, 45_000);
    for (const [n, again] of claims.entries())
      expect(await stateOf(again)).toEqual({ status: 'success', retries: (retriesAtTheKill[n] ?? 0) + 1 });
    expect(await stateOf(stored)).toEqual({ status: 'success', retries: 0 });
    const { by_endpoint, over_limit } = await world.stravaStats();
    expect(over_limit).toBe(0);
    expect(by_endpoint.streams).toBeGreaterThanOrEqual(total + 3);
    // The attempt with the time-out makes one more call if it has time for a retry. So does each attempt that failed before the kill.
    const failedBefore = retriesAtTheKill.reduce((sum, retries) => sum + retries, 0);
    expect(by_endpoint.streams).toBeLessThanOrEqual(total + PLACES.length + 1 + 2 * failedBefore);
    await expectOneRowEach();
  });

  it('streams are stored and not fetched again if the worker is killed while Postgres still runs the statement that stores them', async () => {
    const reset = await newestOf('after the store');
    const [{ fetched_at: before } = { fetched_at: undefined }] = await world.rows<{ fetched_at: Date }>(
      'select fetched_at from activity_stream where activity_id = $1',
      [reset.id],
    );
    await haltAt('before the store', reset);
    await lock.query('select pg_advisory_lock(1)');
    const { by_endpoint } = await world.stravaStats();
    await world.admin('POST', `activities/${reset.id}/reset-stream-fetch`);
    await isHalted(1);
    await killAll();
    await lock.query('select pg_advisory_unlock(1)');
    await eventually('the streams are stored', async () => (await stateOf(reset)).status === 'success');
    const [after] = await world.rows<{ fetched_at: Date }>(
      'select fetched_at from activity_stream where activity_id = $1',
      [reset.id],
    );
    expect(after?.fetched_at).not.toEqual(before);
    expect((await world.stravaStats()).by_endpoint.streams).toBe((by_endpoint.streams ?? 0) + 1);
    await expectOneRowEach();
  });

  it('a worker that is stopped stores the streams of its running call and releases the athlete’s batch lock', async () => {
    const worker = await world.startWorker();
    const reset = await newestOf('after the claim');
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'streams',
      kind: 'slow',
      delay_ms: 1_000,
      count: 1,
    });
    const { by_endpoint } = await world.stravaStats();
    await world.admin('POST', `activities/${reset.id}/reset-stream-fetch`);
    await eventually('the call is under way', async () => (await faults()).length === 0);
    expect(await worker.stop()).toBe(0);
    expect((await stateOf(reset)).status).toBe('success');
    expect((await world.stravaStats()).by_endpoint.streams).toBe((by_endpoint.streams ?? 0) + 1);
    const redis = new Redis(world.env.REDIS_URL ?? '', { keyPrefix: world.env.REDIS_KEY_PREFIX });
    expect(await redis.exists(`strava:stream_backfill:${athletes.get('after the claim')}`)).toBe(0);
    redis.disconnect();
  });

  async function expectOneRowEach(): Promise<void> {
    const unmatched = `
      select 1
      from activity
      full join activity_stream on activity_stream.activity_id = activity.id
      where activity.id is null or activity_stream.activity_id is null or stream_fetch_status <> 'success'`;
    expect(await world.rows(unmatched)).toEqual([]);
  }
});
