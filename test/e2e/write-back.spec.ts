import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { type JobBody, type StateBody, World } from '../harness/world.js';

const HISTORY = 6;

// A worker is stopped when it would note that its call has been answered.
const HALT = `
  create function halt() returns trigger language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(1);
    return new;
  end $$;
  create table halted (id uuid);
  create function is_halted(activity uuid) returns boolean language sql stable
    as 'select exists (select 1 from halted where halted.id = $1)';
  create trigger halt_before_note before update on write_back
    for each row when (new.status = 'written' and is_halted(new.activity_id)) execute function halt();`;

interface AtVendor {
  readonly name: string;
}

describe('title and description, where they are written to Strava', () => {
  let world: World;
  const athlete = randomUUID();
  const shy = randomUUID();
  const vendorIds = new Map<string, string>();

  beforeAll(async () => {
    world = await World.start({ env: { STRAVA_WRITE_BACK: 'on' } });
    await world.rows(HALT);
    for (const one of [athlete, shy]) {
      const vendorId = await world.vendorAthlete(HISTORY, { manual_share: 0 });
      vendorIds.set(one, vendorId);
      await world.connect(one, vendorId);
    }
    await world.rows(
      `update connection set scopes = array_remove(scopes, 'activity:write') where athlete_id = $1`,
      [shy],
    );
    await eventually(
      'the histories are processed',
      async () => (await world.rows('select 1 from processed_activities')).length === 2 * HISTORY,
      60_000,
    );
  }, 120_000);
  afterAll(() => world.stop());

  /** Begun after the athlete connected, as far as anybody can tell. */
  async function upload(of = athlete, more: Record<string, unknown> = {}): Promise<string> {
    const made = await world.control<{ id: string }>('POST', 'activities', {
      athlete_id: vendorIds.get(of),
      sport_type: 'Run',
      profile: 'intervals',
      repetitions: 5,
      start_date: new Date(Date.now() + 60_000).toISOString(),
      name: 'Morning Run',
      description: null,
      ...more,
    });
    return made.id;
  }

  const rowOf = (externalId: string) =>
    eventually('it is here', async () => {
      const [row] = await world.rows<{ id: string; name: string; imported_name: string; status: string }>(
        `select id, name, imported_name, stream_fetch_status as status
         from activity where external_activity_id = $1`,
        [externalId],
      );
      return row;
    });

  const stateOf = async (id: string, of = athlete) =>
    (await world.call<StateBody>(of, 'GET', `/v1/activities/${id}/state`)).body;
  async function writeBackUntil(id: string, status: string, of = athlete): Promise<StateBody> {
    await eventually(
      `its write back is ${status}`,
      async () => {
        const statement = 'select 1 from write_back where activity_id = $1 and status = $2';
        return (await world.rows(statement, [id, status])).length > 0;
      },
      40_000,
    );
    return stateOf(id, of);
  }
  const puts = async () => (await world.stravaStats()).by_endpoint.update_activity ?? 0;
  const atVendor = (externalId: string) => world.control<AtVendor>('GET', `activities/${externalId}`);
  const wordsHere = async (id: string) => {
    type Words = { readonly name: string; readonly description: string | null };
    return (await world.rows<Words>('select name, description from activity where id = $1', [id]))[0];
  };

  it('leave a history alone', async () => {
    expect(await world.rows('select 1 from write_back')).toEqual([]);
    expect(await puts()).toBe(0);
  });

  it('are asked leave for when an athlete connects', async () => {
    const { body } = await world.call<{ authorize_url: string }>(
      randomUUID(),
      'POST',
      '/v1/connections/strava',
      {},
    );
    expect(new URL(body.authorize_url).searchParams.get('scope')?.split(',')).toContain('activity:write');
  });

  it('are there moments after an upload, charged to the imports’ share, and never again', async () => {
    const externalId = await upload();
    const { id } = await rowOf(externalId);
    const before = await puts();
    const state = await writeBackUntil(id, 'written');
    expect(await atVendor(externalId)).toMatchObject({ name: state.last_title });
    // The vendor tells of our own edit, too, and what it has is what is here.
    await eventually('our own edit has come back', async () => {
      const here = await wordsHere(id);
      return here?.name === state.last_title && here?.description === state.result?.description;
    });
    const ledger = await world.rows<{ class: string; status: number }>(
      `select class, status from strava_api_requests where endpoint = 'update_activity'`,
    );
    expect(ledger).toEqual([{ class: 'import', status: 200 }]);
    const { body: job } = await world.call<JobBody>(athlete, 'POST', `/v1/activities/${id}/process`);
    await world.jobUntil(athlete, job.job_id, 'succeeded');
    const again = await upload();
    await writeBackUntil((await rowOf(again)).id, 'written');
    expect(await puts()).toBe(before + 2);
  });

  it('leave what the athlete has written meanwhile, also where that has come here', async () => {
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'streams',
      kind: 'http_500',
      count: 1_000,
    });
    const externalId = await upload();
    const { id } = await rowOf(externalId);
    await world.control('PATCH', `activities/${externalId}`, { name: 'With Ann along the canal' });
    await eventually(
      'the edit has come here',
      async () => (await rowOf(externalId)).name === 'With Ann along the canal',
    );
    expect((await rowOf(externalId)).imported_name).toBe('Morning Run');
    await world.control('DELETE', 'faults');
    await world.admin('POST', `activities/${id}/reset-stream-fetch`);
    const before = await puts();
    const state = await writeBackUntil(id, 'left');
    expect(state.write_back?.reason).toContain('their own');
    expect(await atVendor(externalId)).toMatchObject({ name: 'With Ann along the canal' });
    expect(await puts()).toBe(before);
  });

  it('leave a description that came with the upload', async () => {
    const externalId = await upload(athlete, { description: 'first run after the flu' });
    const { id } = await rowOf(externalId);
    const before = await puts();
    await writeBackUntil(id, 'left');
    expect(await puts()).toBe(before);
    expect(await atVendor(externalId)).toMatchObject({ name: 'Morning Run' });
  });

  it('are not written without the scope, which is said', async () => {
    const externalId = await upload(shy);
    const { id } = await rowOf(externalId);
    const before = await puts();
    const state = await writeBackUntil(id, 'refused', shy);
    expect(state.write_back?.reason).toContain('activity:write');
    expect(await puts()).toBe(before);
    expect(await atVendor(externalId)).toMatchObject({ name: 'Morning Run' });
  });

  it('are not written twice by a worker that was killed between the call and its note', async () => {
    const lock = new pg.Client({ connectionString: world.env.DATABASE_URL });
    await lock.connect();
    await lock.query('select pg_advisory_lock(1)');
    const before = await puts();
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'streams',
      kind: 'http_500',
      count: 1_000,
    });
    const externalId = await upload();
    const { id } = await rowOf(externalId);
    await world.rows('insert into halted values ($1)', [id]);
    await world.control('DELETE', 'faults');
    await world.admin('POST', `activities/${id}/reset-stream-fetch`);
    await eventually(
      'its call has been answered',
      async () => {
        const waiting = `
        select 1 from pg_stat_activity
        where wait_event = 'advisory' and application_name = 'pacekeeper-worker' and datname = current_database()`;
        return (await world.rows(waiting)).length === 1;
      },
      20_000,
    );
    expect(await puts()).toBe(before + 1);
    await Promise.all([...world.workers].map((worker) => world.kill(worker)));
    await world.rows(
      `select pg_terminate_backend(pid)
       from pg_stat_activity
       where application_name = 'pacekeeper-worker' and datname = current_database()`,
    );
    await world.rows('delete from halted');
    await lock.end();
    expect((await stateOf(id)).write_back?.status).toBe('writing');

    await world.startWorker();
    const state = await writeBackUntil(id, 'written');
    expect(await atVendor(externalId)).toMatchObject({ name: state.last_title });
    expect(await puts()).toBe(before + 1);
    expect((await world.stravaStats()).over_limit).toBe(0);
  });
});
