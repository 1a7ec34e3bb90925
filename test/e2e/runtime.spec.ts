import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { filesOf } from '../harness/archive.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { type JobBody, type ReceiptBody, type StateBody, type Truth, World } from '../harness/world.js';

const ACTIVITIES = 60;
// What of a history has enough before it to know what is usual for its athlete.
const NEWEST = 30;

interface Row {
  readonly id: string;
  readonly external_activity_id: string;
  readonly manual: boolean;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

describe('the activities of an athlete who connects', () => {
  let world: World;
  const athlete = randomUUID();
  let vendorId: string;
  let rows: Row[];

  beforeAll(async () => {
    world = await World.start();
    vendorId = await world.vendorAthlete(ACTIVITIES, { manual_share: 0.1, seed: 4_711 });
    await world.connect(athlete, vendorId);
    await eventually('all are processed', async () => (await processed()) === ACTIVITIES, 60_000);
    rows = await world.rows<Row>(
      'select id, external_activity_id, manual from activity where athlete_id = $1 order by start_time desc',
      [athlete],
    );
  }, 120_000);
  afterAll(() => world.stop());

  const processed = async () => (await world.rows('select 1 from processed_activities')).length;

  const stateOf = async (id: string, as = athlete) =>
    world.call<StateBody>(as, 'GET', `/v1/activities/${id}/state`);
  const truthOf = ({ external_activity_id }: Row) =>
    world.control<Truth>('GET', `activities/${external_activity_id}`);
  const jobUntil = (jobId: string, status: string) => world.jobUntil(athlete, jobId, status);

  it('are understood by themselves, as they were planned', async () => {
    const wrong: string[] = [];
    for (const row of rows.slice(0, NEWEST)) {
      const truth = await truthOf(row);
      const { body } = await stateOf(row.id);
      expect(body).toMatchObject({ state: 'succeeded', last_result_status: 'succeeded', last_error: null });
      if (body.last_profile_id !== profileOf(truth)) wrong.push(`${truth.session}: ${body.last_profile_id}`);
    }
    // Nineteen of twenty over many; of so few, one more may be wrong on a day.
    expect(wrong.length > NEWEST / 10 ? wrong : []).toEqual([]);
  });

  it('are each asked for once, and nothing was done twice', async () => {
    const kinds = await world.rows<{ jobs: number; activities: number; runs: number }>(
      `select
         count(*)::int as jobs,
         count(distinct activity_id)::int as activities,
         (select count(*)::int from runs) as runs
       from jobs
       where request_kind = 'auto_poll' and requested_by = 'worker' and status = 'succeeded'`,
    );
    expect(kinds).toEqual([{ jobs: ACTIVITIES, activities: ACTIVITIES, runs: ACTIVITIES }]);
    const unseen = 'select 1 from activity where first_seen_at is null or last_seen_at is null';
    expect(await world.rows(unseen)).toEqual([]);
  });

  it('say what they were also where nothing was recorded', async () => {
    const manual = rows.find((row) => row.manual) as Row;
    const { body } = await stateOf(manual.id);
    expect(body).toMatchObject({
      last_profile_id: 'unrecorded',
      result: { segments: [], repetitions: null, heart_rate_drift_percent: null },
    });
    expect(body.last_title).not.toBe('');
  });

  const workouts = [
    { profile: 'intervals', repetitions: 6, repetition_distance_m: 800, recovery_duration_s: 120 },
    { profile: 'intervals', repetitions: 5, repetition_duration_s: 180, recovery_duration_s: 90 },
    { profile: 'tempo' },
    { profile: 'progression' },
    { profile: 'long', duration_s: 6_300 },
    { profile: 'hills', repetitions: 8 },
  ];

  it('are understood when they are new, moments after the upload', async () => {
    for (const workout of workouts) {
      const { activity_id: id } = await upload({ sport_type: 'Run', ...workout });
      const truth = await world.control<Truth>('GET', `activities/${id}`);
      const row = await eventually(
        `${workout.profile} is processed`,
        async () => {
          const rows = await world.rows<{ id: string }>(
            `select id
             from activity
             join processed_activities on activity_id = id
             where external_activity_id = $1`,
            [id],
          );
          return rows[0];
        },
        20_000,
      );
      const { body: state } = await stateOf(row.id);
      expect({ profile: state.last_profile_id, repetitions: state.result?.repetitions?.count ?? 0 }).toEqual({
        profile: workout.profile,
        repetitions: truth.repetitions,
      });
      expect(state.last_title).toBe(state.result?.title);
    }
  });

  async function upload(order: Record<string, unknown>): Promise<{ activity_id: string }> {
    const made = await world.control<{ id: string }>('POST', 'activities', {
      athlete_id: vendorId,
      ...order,
    });
    return { activity_id: made.id };
  }

  it('are processed again by whoever asks, with the same outcome', async () => {
    const { id } = rows[0] as Row;
    const before = (await stateOf(id)).body;
    const asked = await world.call<JobBody>(athlete, 'POST', `/v1/activities/${id}/process`);
    expect(asked.status).toBe(202);
    expect(asked.body).toMatchObject({
      activity_id: id,
      request_kind: 'manual_activity',
      force_update: true,
      attempt_count: expect.any(Number),
      max_attempts: 3,
      last_error: null,
      runs: expect.any(Array),
    });
    const done = await jobUntil(asked.body.job_id, 'succeeded');
    expect(done.runs).toMatchObject([{ attempt_number: 1, status: 'succeeded', error: null }]);
    const after = (await stateOf(id)).body;
    expect(after.last_job_id).toBe(asked.body.job_id);
    expect(after.last_run_id).toBe(done.runs[0]?.run_id);
    expect(after.last_run_id).not.toBe(before.last_run_id);
    expect(after.result).toEqual(before.result);
    expect(after.last_description_hash).toBe(before.last_description_hash);
  });

  it('are processed again, the latest of them, without knowing which that is', async () => {
    const { body: list } = await world.call<Page<Row>>(athlete, 'GET', '/v1/activities?limit=1');
    const asked = await world.call<JobBody>(athlete, 'POST', '/v1/activities/latest/process');
    expect(asked).toMatchObject({
      status: 202,
      body: { activity_id: list.items[0]?.id, request_kind: 'manual_latest' },
    });
    const { job_id } = await jobUntil(asked.body.job_id, 'succeeded');
    expect((await world.call(athlete, 'POST', `/v1/jobs/${job_id}/cancel`)).status).toBe(409);
  });

  it('are nobody else’s business', async () => {
    const { id } = rows[0] as Row;
    const { last_job_id: job } = (await stateOf(id)).body;
    const stranger = randomUUID();
    for (const [method, path] of [
      ['POST', `/v1/activities/${id}/process`],
      ['GET', `/v1/activities/${id}/state`],
      ['GET', `/v1/jobs/${job}`],
      ['POST', `/v1/jobs/${job}/cancel`],
      ['POST', '/v1/activities/latest/process'],
    ] as const)
      expect((await world.call(stranger, method, path)).status).toBe(404);
    for (const path of [`activities/${randomUUID()}/process`, 'activities/last/process'])
      expect((await world.call(athlete, 'POST', `/v1/${path}`)).status).toBe(404);
    for (const path of ['admin/jobs', 'admin/config-snapshots'])
      expect((await world.call(athlete, 'GET', `/${path}`)).status).toBe(403);
  });

  it('are seen by operators: jobs page by page, settings, metrics', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor ? `&cursor=${cursor}` : '';
      const { status, body } = await world.admin<Page<JobBody & { athlete_id: string }>>(
        'GET',
        `jobs?limit=25${query}`,
      );
      expect(status).toBe(200);
      for (const { job_id, athlete_id } of body.items) {
        expect(athlete_id).toBe(athlete);
        seen.push(job_id);
      }
      cursor = body.next_cursor;
    } while (cursor);
    const all = await world.rows<{ job_id: string }>(
      'select job_id from jobs order by requested_at_utc desc, job_id desc',
    );
    expect(seen).toEqual(all.map(({ job_id }) => job_id));
    expect((await world.admin<Page<JobBody>>('GET', 'jobs?status=failed_permanent')).body.items).toEqual([]);
    const { items } = (await world.admin<Page<JobBody>>('GET', 'jobs?status=succeeded&limit=3')).body;
    expect(items.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    for (const query of ['status=lost', 'limit=0', 'cursor=bm90aGluZw'])
      expect((await world.admin('GET', `jobs?${query}`)).status).toBe(400);

    const snapshots = (
      await world.admin<Page<{ source: string; payload: object }>>('GET', 'config-snapshots')
    ).body;
    expect(snapshots.items).toMatchObject([
      { source: 'worker', payload: { processor: 'run-shape', concurrency: 16 } },
    ]);
    const { text } = await request(world.workers[0]?.url ?? '').get('/metrics');
    expect(text).toMatch(/^runtime_jobs\{status="succeeded"\} \d+$/m);
  });

  it('take their jobs, runs and states along, and leave none behind', async () => {
    const tables = ['jobs', 'runs', 'activity_state'];
    const counts = await Promise.all(
      tables.map(async (table) => (await world.rows(`select 1 from ${table}`)).length),
    );
    const answer = await fetch(`${world.api.url}/v1/account/export`, {
      headers: { authorization: `Bearer ${await tokenFor(athlete)}` },
    });
    const files = await filesOf(Buffer.from(await answer.arrayBuffer()));
    const manifest = JSON.parse(files.get('manifest.json') ?? '') as { counts: Record<string, number> };
    const [processing_jobs, processing_runs, processing_states] = counts;
    expect(manifest.counts).toMatchObject({
      processing_jobs,
      processing_runs,
      processing_states,
      write_backs: 0,
    });
    const { body } = await world.call<{ receipt_id: string }>(athlete, 'DELETE', '/v1/account');
    await eventually('the account is deleted', async () => {
      const statement = 'select 1 from receipt where id = $1 and completed_at is not null';
      return (await world.rows(statement, [body.receipt_id])).length > 0;
    });
    const receipt = await world.call<ReceiptBody>(athlete, 'GET', `/v1/receipts/${body.receipt_id}`);
    expect(receipt.body.deleted).toMatchObject({ processing_runs, processing_jobs, processing_states });
    for (const table of [...tables, 'processed_activities'])
      expect(await world.rows(`select 1 from ${table}`)).toEqual([]);
  });
});

function profileOf({ profile }: Truth): string {
  if (profile === 'race') return 'race-like';
  return profile === 'manual' ? 'unrecorded' : profile;
}
