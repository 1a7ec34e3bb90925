import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { type ImportBody, type StreamBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

interface Activity {
  readonly id: string;
  readonly external_activity_id: string;
}

interface State extends Activity {
  readonly status: string;
  readonly error: string | null;
  readonly retries: number;
}

const OUTAGE = 'Strava is out of order: ';
const UNREADABLE = "Strava's answer cannot be read: ";

// Each fault affects one activity, so that all faults can be active at the same time.
const FAULTS: ReadonlyArray<readonly [kind: string, status: string, error: string | null, calls: number]> = [
  ['timeout', 'failed', `${OUTAGE}no answer in time`, 2],
  ['http_500', 'failed', `${OUTAGE}status 500`, 2],
  ['html', 'failed', `${OUTAGE}status 502`, 2],
  ['reset', 'failed', `${OUTAGE}the connection failed`, 2],
  ['wrong_length', 'failed', `${OUTAGE}the connection failed`, 2],
  ['malformed', 'failed', `${UNREADABLE}not JSON`, 1],
  ['empty', 'failed', `${UNREADABLE}not JSON`, 1],
  ['empty_json', 'unavailable', null, 1],
  ['not_found', 'unavailable', null, 1],
  ['slow', 'success', null, 1],
];

describe('streams of a vendor in trouble', () => {
  let world: World;
  let athlete: string;
  let vendorId: string;
  let activities: Activity[];
  const answers = new Map<string, StreamBody>();
  const victims = new Map<string, Activity>();
  const begunAtMs = Date.now();

  const fault = (kind: string, more: object) =>
    world.control('POST', 'faults', { vendor: 'strava', endpoint: 'streams', kind, ...more });

  /** The number of calls that each fault has affected. */
  async function hits(): Promise<ReadonlyMap<string, number>> {
    const { items } = await world.control<{ items: Array<{ kind: string; hits: number }> }>('GET', 'faults');
    return new Map(items.map((item) => [item.kind, item.hits]));
  }

  async function stateOf(id: string): Promise<State> {
    const [state] = await world.rows<State>(
      `select id, external_activity_id, stream_fetch_status as status, stream_fetch_error as error, stream_fetch_retry_count as retries
       from activity
       where id = $1`,
      [id],
    );
    return state as State;
  }

  const becomes = (id: string, status: string) =>
    eventually(`it becomes ${status}`, async () => (await stateOf(id)).status === status);

  /** Polls until the fetch has ended, and returns the last answer. The two tries of an attempt take nearly as long as a reader may wait. */
  async function endOf(id: string): Promise<StreamBody> {
    for (;;) {
      const { body } = await world.streams(athlete, id, 10);
      if (body.status !== 'pending' && body.status !== 'fetching') return body;
    }
  }

  /** An activity whose streams no reader has requested yet. */
  const another = () => activities.pop() as Activity;
  const of = (kind: string) => victims.get(kind) as Activity;
  const rowsOf = `select id, external_activity_id from activity where athlete_id = $1 order by start_time`;

  beforeAll(async () => {
    world = await World.start();
    await world.admin('POST', 'backfills/pause');
    athlete = randomUUID();
    vendorId = await world.vendorAthlete(FAULTS.length + 2, { manual_share: 0 });
    await world.connect(athlete, vendorId);
    const { id } = (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' })).body;
    await world.importUntil(athlete, id, ({ status }) => status === 'completed');
    activities = await world.rows<Activity>(rowsOf, [athlete]);
    for (const [kind] of FAULTS) {
      const victim = another();
      victims.set(kind, victim);
      await fault(kind, { resource: victim.external_activity_id, delay_ms: 1_500 });
    }
    await Promise.all([...victims].map(async ([kind, { id }]) => answers.set(kind, await endOf(id))));
  });
  afterAll(() => world?.stop());

  it.each(FAULTS)(
    'streams whose calls meet the fault %s become %s, and the reader gets this status with the error',
    async (kind, status, error, calls) => {
      const answer = answers.get(kind) as StreamBody;
      expect(answer).toMatchObject({ activity_id: of(kind).id, status, error });
      expect(answer.stream_data === null).toBe(status !== 'success');
      // The scaled wait of a minute ends before the test can observe the wait. But the answer still has the `retry_at` of that wait.
      if (status === 'failed') expect(Date.parse(answer.retry_at ?? '')).toBeGreaterThan(begunAtMs);
      else expect(answer.retry_at).toBeNull();
      expect((await stateOf(of(kind).id)).retries).toBe(status === 'failed' ? 1 : 0);
      expect((await hits()).get(kind)).toBe(calls);
    },
  );

  it('a 429 defers streams to the next window and uses no attempt', async () => {
    await world.control('DELETE', 'faults');
    const { id, external_activity_id } = another();
    await fault('http_429', { resource: external_activity_id });
    const askedAtMs = Date.now();
    const { body } = await world.streams(athlete, id, 10);
    expect(body).toMatchObject({ status: 'deferred', error: 'Strava answered 429', stream_data: null });
    // A window lasts a second.
    expect(Date.parse(body.retry_at ?? '')).toBeGreaterThan(askedAtMs);
    expect(Date.parse(body.retry_at ?? '')).toBeLessThan(Date.now() + 2_000);
    expect((await stateOf(id)).retries).toBe(0);
    expect((await hits()).get('http_429')).toBe(1);
    victims.set('http_429', { id, external_activity_id });
    await world.control('DELETE', 'faults');
  });

  it('streams that the vendor has not made yet for a new upload are deferred, not unavailable', async () => {
    await fault('not_found', { count: 1 });
    const name = 'Too new';
    await world.control('POST', 'activities', { athlete_id: vendorId, name });
    const known = `select id, external_activity_id from activity where athlete_id = $1 and name = $2`;
    const upload = await eventually(
      'the upload is imported',
      async () => (await world.rows<Activity>(known, [athlete, name]))[0],
    );
    await becomes(upload.id, 'deferred');
    const { body } = await world.streams(athlete, upload.id);
    expect(body.error).toBe('The vendor has no streams of this new activity yet');
    expect(body.retry_at).not.toBeNull();
    expect((await stateOf(upload.id)).retries).toBe(0);
    victims.set('new', upload);
  });

  it('streams that always fail stay failed after three attempts until a reset, and other failed or deferred streams are fetched', async () => {
    const stuck = another();
    await fault('http_500', { resource: stuck.external_activity_id });
    await world.admin('POST', 'backfills/resume');
    for (const [kind, { id }] of victims) {
      const isGivenUp = FAULTS.some(([name, status]) => name === kind && status === 'unavailable');
      await becomes(id, isGivenUp ? 'unavailable' : 'success');
    }
    await eventually('three attempts are used', async () => (await stateOf(stuck.id)).retries === 3);
    await becomes(stuck.id, 'failed');
    expect((await world.streams(athlete, stuck.id)).body).toMatchObject({
      status: 'failed',
      error: `${OUTAGE}status 500`,
      retry_at: null,
    });

    const { body } = await world.admin<{ stuck_failed: number; retry_distribution: object }>(
      'GET',
      'observability',
    );
    expect(body).toMatchObject({ stuck_failed: 1, retry_distribution: { 3: 1 } });
    const metrics = await (await fetch(`${world.workers[0]?.url}/metrics`)).text();
    expect(metrics).toMatch(/^stream_fetch_stuck_failed 1$/m);
    expect(metrics).toMatch(/^stream_fetch_failed_by_retry\{retry_count="3"\} 1$/m);
    expect(metrics).toMatch(/^stream_fetch_attempts_total\{result="failed"\} 3$/m);
    expect((await hits()).get('http_500')).toBe(6);

    await world.control('DELETE', 'faults');
    const reset = await world.admin('POST', `activities/${stuck.id}/reset-stream-fetch`);
    expect(reset).toMatchObject({ status: 200, body: { status: 'pending', retry_count: 0, error: null } });
    await becomes(stuck.id, 'success');
  });

  it('the backfill pauses when several streams in a row fail, and charges no attempt to the other streams', async () => {
    await fault('http_500', {});
    const unlucky = randomUUID();
    await world.connect(unlucky, await world.vendorAthlete(8, { manual_share: 0 }));
    const tried = `
      select stream_fetch_status as status
      from activity
      where athlete_id = $1 and stream_fetch_retry_count > 0`;
    await world.workers[0]?.line(({ msg }) => msg === 'backfill waits: one stream after the other fails');
    await world.control('DELETE', 'faults');
    const stored = `select 1 from activity where athlete_id = $1 and stream_fetch_status = 'success'`;
    await eventually('all are there', async () => (await world.rows(stored, [unlucky])).length === 8);
    // Three fetches in a row failed. Up to two more may have failed in an earlier batch that ended at a full window.
    expect((await world.rows(tried, [unlucky])).length).toBeLessThanOrEqual(5);
  });

  it('unavailable streams are fetched after a reset and failed streams by a retry, and no stored streams are fetched again', async () => {
    for (const kind of ['empty_json', 'not_found']) {
      await world.admin('POST', `activities/${of(kind).id}/reset-stream-fetch`);
      await becomes(of(kind).id, 'success');
    }
    const retried = FAULTS.filter(([, status]) => status === 'failed').map(([kind]) => of(kind).id);
    for (const id of retried)
      expect(await stateOf(id)).toMatchObject({ status: 'success', error: null, retries: 1 });
    const unmatched = `
      select 1
      from activity
      full join activity_stream on activity_stream.activity_id = activity.id
      where activity.id is null or activity_stream.activity_id is null`;
    expect(await world.rows(unmatched)).toEqual([]);
    expect(await world.stravaStats()).toMatchObject({ over_limit: 0, duplicate_requests: 0 });
  });
});
