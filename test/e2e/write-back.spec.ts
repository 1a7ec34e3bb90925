import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { type JobBody, type StateBody, World } from '../harness/world.js';

const HISTORY = 6;

// Halts a worker when it records that its call was answered: a trigger waits for an advisory lock that the test holds.
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

describe('write-back of title and description to Strava', () => {
  let world: World;
  const athlete = randomUUID();
  const withoutScope = randomUUID();
  const vendorIds = new Map<string, string>();

  beforeAll(async () => {
    world = await World.start({ env: { STRAVA_WRITE_BACK: 'on' } });
    await world.rows(HALT);
    for (const one of [athlete, withoutScope]) {
      const vendorId = await world.vendorAthlete(HISTORY, { manual_share: 0 });
      vendorIds.set(one, vendorId);
      await world.connect(one, vendorId);
    }
    await world.rows(
      `update connection set scopes = array_remove(scopes, 'activity:write') where athlete_id = $1`,
      [withoutScope],
    );
    await eventually(
      'the histories are processed',
      async () => (await world.rows('select 1 from processed_activities')).length === 2 * HISTORY,
      60_000,
    );
  }, 120_000);
  afterAll(() => world?.stop());

  /** Uploads an activity that began after the athlete connected. Earlier activities are not written back. */
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
    eventually('the upload is imported', async () => {
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
      `the write-back is ${status}`,
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
  const storedTexts = async (id: string) => {
    type Texts = { readonly name: string; readonly description: string | null };
    return (await world.rows<Texts>('select name, description from activity where id = $1', [id]))[0];
  };

  it('write-back changes no activity of the imported history', async () => {
    expect(await world.rows('select 1 from write_back')).toEqual([]);
    expect(await puts()).toBe(0);
  });

  it('the authorize URL requests activity:write while write-back is on', async () => {
    const { body } = await world.call<{ authorize_url: string }>(
      randomUUID(),
      'POST',
      '/v1/connections/strava',
      {},
    );
    expect(new URL(body.authorize_url).searchParams.get('scope')?.split(',')).toContain('activity:write');
  });

  it('an upload is written back once, with calls of the class import, even if it is processed again', async () => {
    const before = await puts();
    const externalId = await upload();
    const { id } = await rowOf(externalId);
    const state = await writeBackUntil(id, 'written');
    expect(await atVendor(externalId)).toMatchObject({ name: state.last_title });
    // Strava sends an event about our own edit too. The worker then fetches the activity and stores the same texts.
    await eventually('our own edit is imported', async () => {
      const here = await storedTexts(id);
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

  it('write-back does not overwrite a title that the athlete has edited in the meantime', async () => {
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
      'the edit is imported',
      async () => (await rowOf(externalId)).name === 'With Ann along the canal',
    );
    expect((await rowOf(externalId)).imported_name).toBe('Morning Run');
    const before = await puts();
    await world.control('DELETE', 'faults');
    await world.admin('POST', `activities/${id}/reset-stream-fetch`);
    const state = await writeBackUntil(id, 'left');
    expect(state.write_back?.reason).toContain('their own');
    expect(await atVendor(externalId)).toMatchObject({ name: 'With Ann along the canal' });
    expect(await puts()).toBe(before);
  });

  it('write-back does not change an upload that has a description', async () => {
    const before = await puts();
    const externalId = await upload(athlete, { description: 'first run after the flu' });
    const { id } = await rowOf(externalId);
    await writeBackUntil(id, 'left');
    expect(await puts()).toBe(before);
    expect(await atVendor(externalId)).toMatchObject({ name: 'Morning Run' });
  });

  it('write-back makes no call without the scope activity:write, and the state names the missing scope', async () => {
    const before = await puts();
    const externalId = await upload(withoutScope);
    const { id } = await rowOf(externalId);
    const state = await writeBackUntil(id, 'refused', withoutScope);
    expect(state.write_back?.reason).toContain('activity:write');
    expect(await puts()).toBe(before);
    expect(await atVendor(externalId)).toMatchObject({ name: 'Morning Run' });
  });

  it('a write-back is not written twice if its worker is killed between the call and the record of the call', async () => {
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
      'the call is answered',
      async () => {
        const waiting = `
        select 1 from pg_stat_activity
        where wait_event = 'advisory' and application_name = 'pacekeeper-worker' and datname = current_database()`;
        return (await world.rows(waiting)).length === 1;
      },
      60_000,
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
