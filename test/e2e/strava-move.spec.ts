import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';
import { type ImportBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// A window lasts three seconds, and the import needs four of them at least.
const TIME_SCALE = 300;
const ACTIVITIES = 60;
const CALLS_A_WINDOW = 20;

// Carries out docs/operations/runbooks/vendor-moves.md. The old base URL is http://127.0.0.1:…/api/v3, the new one
// http://localhost:…/api-v3, so that the origin changes as well.
describe('Strava’s move to another host, to tokens in headers and away from /oauth/deauthorize', () => {
  const athlete = randomUUID();
  let world: World;
  let vendorAthlete: string;
  beforeAll(async () => {
    world = await World.start({ timeScale: TIME_SCALE });
    await world.pauseBackfill();
    await world.control('POST', 'limits', { vendor: 'strava', read_15min: CALLS_A_WINDOW });
    vendorAthlete = await world.vendorAthlete(ACTIVITIES);
  });
  afterAll(() => world?.stop());

  const moved = () => {
    const { port } = new URL(world.simulator.url);
    return { ...world.env, STRAVA_API_URL: `http://localhost:${port}/api-v3/` };
  };
  const count = async (where: string) => (await world.rows(`select 1 from activity where ${where}`)).length;
  const replaceApi = async () => {
    await world.api.stop();
    world.api = await ProductProcess.start('api', moved());
  };
  const replaceWorker = async () => {
    const [old] = world.workers.splice(0);
    world.workers.push(await ProductProcess.start('worker', moved()));
    await old?.stop();
  };

  it('an import that is running when the old host ends waits, and completes at the new host', async () => {
    await world.simulator.habit('strava', { api_host: 'both' });
    await replaceApi();
    await world.connect(athlete, vendorAthlete);
    // Returns the import that began with the connection.
    const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
    const importUntil = (fits: (body: ImportBody) => boolean) => world.importUntil(athlete, body.id, fits);
    await importUntil(({ status }) => status === 'rate_limited');
    // The worker has not moved, so its calls fail as in an outage.
    const of2027 = { api_host: 'new', tokens_in: 'header', deauthorize: false };
    await world.simulator.habit('strava', of2027);
    await importUntil(({ message }) => message.startsWith('Strava is out of order'));
    await replaceWorker();
    const completed = await importUntil(({ status }) => status === 'completed');
    expect(completed).toMatchObject({ activities_imported: ACTIVITIES });
    expect(await count("detail_status = 'stored'")).toBe(ACTIVITIES);
    // The streams of an upload that finds a full window are left to the backfill, which is paused here.
    await world.control('POST', 'limits', { vendor: 'strava', read_15min: 10 * CALLS_A_WINDOW });
  });

  const upload = async () => {
    const { id } = await world.control<{ id: string }>('POST', 'activities', { athlete_id: vendorAthlete });
    const isStored = `external_activity_id = '${id}' and stream_fetch_status = 'success'`;
    await eventually('the streams of the upload', async () => (await count(isStored)) === 1);
  };

  it('after the move an upload is announced and its streams are stored; no call was refused or made twice', async () => {
    await upload();
    const { over_limit, duplicate_requests, by_status } = await world.stravaStats();
    expect({ over_limit, duplicate_requests }).toEqual({ over_limit: 0, duplicate_requests: 0 });
    // A refused token is 401, a removed route 404.
    expect(Object.keys(by_status).filter((status) => ['401', '404', '429'].includes(status))).toEqual([]);
  });

  it('after the move tokens are renewed and revoked, both at the OAuth host that stays', async () => {
    await world.control('POST', 'expire', { athlete_id: vendorAthlete, provider: 'strava' });
    await upload();
    expect(await world.simulator.isConnected(vendorAthlete)).toBe(true);
    await world.call(athlete, 'DELETE', '/v1/connections/strava');
    await eventually('the grant has ended', async () => !(await world.simulator.isConnected(vendorAthlete)));
  });
});
