import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { filesOf } from '../harness/archive.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { type ImportBody, type ReceiptBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const hasStatus = (status: string) => (body: ImportBody) => body.status === status;

// A window lasts three seconds, so the test can observe a full window.
const TIME_SCALE = 300;

describe('an import', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: TIME_SCALE });
    await world.pauseBackfill();
  });
  afterAll(() => world?.stop());

  const begin = async (athlete: string, body: object = { type: 'full' }) =>
    (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', body)).body;

  async function connected(activities: number): Promise<{ athlete: string; vendorId: string }> {
    const athlete = randomUUID();
    const vendorId = await world.vendorAthlete(activities);
    await world.connect(athlete, vendorId);
    return { athlete, vendorId };
  }

  interface Listed {
    readonly id: string;
    readonly external_activity_id: string;
    readonly name: string;
    readonly photos: readonly object[];
  }
  const listed = async (athlete: string) =>
    (await world.call<{ items: Listed[] }>(athlete, 'GET', '/v1/activities?limit=200')).body.items;

  /** Moves the end of the athlete's imports back by a day, so that the next request begins a new import. */
  const backdateImports = (athlete: string) =>
    world.rows(
      `update import_jobs
       set finished_at = finished_at - interval '1 day', reopened_at = reopened_at - interval '1 day'
       where athlete_id = $1`,
      [athlete],
    );

  /** Sets Strava's read limit. With a limit of 10 or 20 every window fills up, even on a machine that makes seven calls a second. */
  const limit = (read_15min: number) => world.control('POST', 'limits', { vendor: 'strava', read_15min });

  const receiptOf = (athlete: string) =>
    eventually('the receipt is complete', async () => {
      const done = 'select 1 from receipt where athlete_id = $1 and completed_at is not null';
      return (await world.rows(done, [athlete])).length > 0;
    });

  it('an import of 150 activities says until when it waits for a full window, and completes without a repeated call', async () => {
    await limit(20);
    const begunAtMs = Date.now();
    const { athlete } = await connected(150);
    const { id } = await begin(athlete);
    const limited = await world.importUntil(athlete, id, hasStatus('rate_limited'));
    expect(limited.message).toMatch(/^Rate limited, resuming at \d\d:\d\d UTC/);
    expect(Date.parse(limited.retry_after ?? '')).toBeGreaterThan(begunAtMs);
    expect(Date.parse(limited.eta ?? '')).toBeGreaterThan(begunAtMs);
    const done = await world.importUntil(athlete, id, hasStatus('completed'));
    expect(done).toMatchObject({
      activities_imported: 150,
      activities_total: 150,
      retry_after: null,
      eta: null,
      message: 'Completed: 150 activities imported',
    });
    expect(await world.stravaStats()).toMatchObject({ over_limit: 0, duplicate_requests: 0 });
    const activities = await listed(athlete);
    expect(activities).toHaveLength(150);
    const [photo] = activities.flatMap(({ photos }) => photos);
    expect(Object.keys(photo ?? {}).sort()).toEqual([
      'caption',
      'id',
      'is_default',
      'location',
      'taken_at',
      'urls',
    ]);
    await limit(100);
  });

  it('GET /v1/activities lists a new upload while the history of its athlete is still being imported', async () => {
    await limit(20);
    const { athlete, vendorId } = await connected(250);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, hasStatus('rate_limited'));
    await world.control('POST', 'activities', { athlete_id: vendorId, name: 'Just now' });
    await eventually('the new upload is listed', async () =>
      (await listed(athlete)).some(({ name }) => name === 'Just now'),
    );
    expect((await world.call<ImportBody>(athlete, 'GET', `/v1/imports/${id}`)).body.status).not.toBe(
      'completed',
    );
    await world.call(athlete, 'DELETE', `/v1/imports/${id}`);
    await limit(100);
  });

  it('the api answers 429 to a sixth reader of an import’s events, and 200 after one of the first five has left', async () => {
    await limit(10);
    const { athlete } = await connected(250);
    const { id } = await begin(athlete);
    const headers = { authorization: `Bearer ${await tokenFor(athlete)}` };
    const follow = (signal?: AbortSignal) =>
      fetch(`${world.api.url}/v1/imports/${id}/events`, { headers, signal });
    const [first, ...others] = Array.from({ length: 5 }, () => new AbortController());
    for (const { signal } of [first!, ...others]) expect((await follow(signal)).status).toBe(200);
    const sixth = await follow();
    expect(sixth.status).toBe(429);
    expect(sixth.headers.get('retry-after')).toBe('5');
    expect(await sixth.json()).toMatchObject({ error: expect.stringContaining('5 event streams') });
    first!.abort();
    await eventually('the place is free', async () => {
      const again = new AbortController();
      const { status } = await follow(again.signal);
      again.abort();
      return status === 200;
    });
    for (const one of others) one.abort();
    await world.call(athlete, 'DELETE', `/v1/imports/${id}`);
    await limit(100);
  });

  it('an import sets aside an activity whose fetch always fails and then completes, and the next import fetches this activity', async () => {
    const athlete = randomUUID();
    const vendorId = await world.vendorAthlete(0);
    const made = [];
    for (const _ of [1, 2, 3])
      made.push(await world.control<{ id: string }>('POST', 'activities', { athlete_id: vendorId }));
    const [, poison] = made as [unknown, { id: string }];
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'activity',
      kind: 'http_500',
      resource: poison.id,
    });
    await world.connect(athlete, vendorId);
    const first = await begin(athlete);
    const done = await world.importUntil(athlete, first.id, hasStatus('completed'));
    expect(done.message).toBe('Completed: 2 activities imported, 1 set aside');
    await world.control('DELETE', 'faults');
    await backdateImports(athlete);
    const second = await begin(athlete);
    expect(second.id).not.toBe(first.id);
    expect((await world.importUntil(athlete, second.id, hasStatus('completed'))).activities_imported).toBe(3);
  });

  it.each(['malformed', 'http_500'])(
    'an import stores the older activities although the fetch of the three newest fails: %s',
    async (kind) => {
      const athlete = randomUUID();
      const vendorId = await world.vendorAthlete(5);
      for (const minute of [1, 2, 3]) {
        const start_date = new Date(Date.now() - minute * 60_000).toISOString();
        const { id } = await world.control<{ id: string }>('POST', 'activities', {
          athlete_id: vendorId,
          start_date,
        });
        await world.control('POST', 'faults', { vendor: 'strava', endpoint: 'activity', kind, resource: id });
      }
      await world.connect(athlete, vendorId);
      const { id } = await begin(athlete);
      await world.importUntil(athlete, id, ({ activities_imported }) => activities_imported === 5);
      await world.control('DELETE', 'faults');
      await world.call(athlete, 'DELETE', `/v1/imports/${id}`);
    },
  );

  it('an athlete who disconnects can connect and import again once the old data is deleted', async () => {
    const { athlete, vendorId } = await connected(30);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, ({ activities_imported }) => activities_imported > 5);
    const left = await world.call<{ receipt_id: string }>(athlete, 'DELETE', '/v1/connections/strava');
    expect(left.status).toBe(202);
    await eventually('connecting is possible again', async () => {
      const { status } = await world.call(athlete, 'POST', '/v1/connections/strava', {});
      expect([201, 409]).toContain(status);
      return status === 201;
    });
    await world.connect(athlete, vendorId);
    const again = await begin(athlete);
    expect(again.id).not.toBe(id);
    const done = await world.importUntil(athlete, again.id, hasStatus('completed'));
    expect(done).toMatchObject({ activities_imported: 30, activities_total: 30 });
  });

  it('an import ends when the athlete deauthorises at the vendor, and all its data is deleted', async () => {
    const { athlete, vendorId } = await connected(250);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, ({ activities_imported }) => activities_imported > 20);
    await world.control('POST', 'deauthorize', { athlete_id: vendorId });
    await receiptOf(athlete);
    expect(await listed(athlete)).toEqual([]);
    expect((await world.call<{ items: unknown[] }>(athlete, 'GET', '/v1/connections')).body.items).toEqual(
      [],
    );
    expect((await world.call(athlete, 'GET', `/v1/imports/${id}`)).status).toBe(404);
  });

  it('DELETE of an import answers 200 twice and a new import can begin, but DELETE of a completed import answers 409', async () => {
    const { athlete } = await connected(120);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, ({ activities_imported }) => activities_imported > 5);
    const { status, body } = await world.call<ImportBody>(athlete, 'DELETE', `/v1/imports/${id}`);
    expect([status, body.status]).toEqual([200, 'cancelled']);
    expect((await world.call(athlete, 'DELETE', `/v1/imports/${id}`)).status).toBe(200);
    const again = await begin(athlete);
    expect(again.id).not.toBe(id);
    const done = await world.importUntil(athlete, again.id, hasStatus('completed'));
    expect(done.activities_imported).toBe(120);
    expect((await world.call(athlete, 'DELETE', `/v1/imports/${again.id}`)).status).toBe(409);
    expect((await world.stravaStats()).by_endpoint.activity).toBeDefined();
  });

  it('an import with `since` leaves out activities that began earlier', async () => {
    const { athlete } = await connected(60);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, hasStatus('completed'));
    const newest = await listed(athlete);
    expect(newest).toHaveLength(60);
    const other = randomUUID();
    await world.connect(other, await world.vendorAthlete(60));
    const whole = await begin(other);
    await world.importUntil(other, whole.id, hasStatus('completed'));
    await backdateImports(other);
    const since = new Date(Date.now() - 7 * 86_400_000).toISOString();
    const recent = await begin(other, { type: 'full', since });
    const done = await world.importUntil(other, recent.id, hasStatus('completed'));
    expect(done.activities_total).toBeLessThan(60);
  });

  it('POST /v1/imports returns the completed import without a call to the vendor, and begins a new import a day later', async () => {
    const { athlete } = await connected(3);
    const first = await begin(athlete);
    await world.importUntil(athlete, first.id, hasStatus('completed'));
    const before = await world.stravaStats();
    for (const since of [undefined, '2026-01-01T00:00:00Z', undefined]) {
      const { status, body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', {
        type: 'full',
        since,
      });
      expect([status, body.id, body.status]).toEqual([202, first.id, 'completed']);
    }
    expect((await world.stravaStats()).by_endpoint).toEqual(before.by_endpoint);
    await backdateImports(athlete);
    expect((await begin(athlete)).id).not.toBe(first.id);
  });

  it('GET /v1/imports lists only the athlete’s own imports, in pages, newest first', async () => {
    const { athlete } = await connected(1);
    const full = await begin(athlete);
    await world.importUntil(athlete, full.id, hasStatus('completed'));
    const incremental = await begin(athlete, { type: 'incremental' });
    type Page = { items: ImportBody[]; next_cursor: string | null };
    const page = async (path: string, by = athlete) => (await world.call<Page>(by, 'GET', path)).body;
    const first = await page('/v1/imports?limit=1');
    expect(first.items.map(({ id }) => id)).toEqual([incremental.id]);
    const second = await page(`/v1/imports?limit=1&cursor=${first.next_cursor}`);
    expect(second).toMatchObject({
      items: [{ id: full.id, message: 'Completed: 1 activity imported' }],
      next_cursor: null,
    });
    expect(await page('/v1/imports', randomUUID())).toEqual({ items: [], next_cursor: null });
    for (const wrong of ['limit=0', 'limit=201', 'limit=x', 'cursor=x', 'more=1'])
      expect((await world.call(athlete, 'GET', `/v1/imports?${wrong}`)).status).toBe(400);
  });

  it('reconciliation finds a new and a deleted activity although their events were lost', async () => {
    const { athlete, vendorId } = await connected(5);
    await world.importUntil(athlete, (await begin(athlete)).id, hasStatus('completed'));
    const [gone] = await listed(athlete);
    await world.control('POST', 'faults', { vendor: 'strava', kind: 'drop' });
    await world.control('POST', 'activities', { athlete_id: vendorId, name: 'Lost event' });
    await world.control('DELETE', `activities/${gone?.external_activity_id}`);
    await world.rows(
      `update activity_sync set last_sync_at = now() - interval '2 days' where athlete_id = $1`,
      [athlete],
    );
    const names = `select external_activity_id, name from activity where athlete_id = $1 and detail_status = 'stored'`;
    await eventually(
      'both are known',
      async () => {
        const rows = await world.rows<Listed>(names, [athlete]);
        return (
          rows.some(({ name }) => name === 'Lost event') &&
          rows.every(({ external_activity_id }) => external_activity_id !== gone?.external_activity_id)
        );
      },
      90_000,
    );
    await world.control('DELETE', 'faults');
  });

  it('a connected athlete without an import gets a first import automatically', async () => {
    const { athlete } = await connected(3);
    await world.importUntil(athlete, (await begin(athlete)).id, hasStatus('completed'));
    for (const table of ['import_jobs', 'activity_sync', 'activity'])
      await world.rows(`delete from ${table} where athlete_id = $1`, [athlete]);
    await world.rows(
      `update connection set connected_at = now() - interval '1 minute' where athlete_id = $1`,
      [athlete],
    );
    await eventually('three activities are imported', async () => {
      const stored = `select 1 from activity where athlete_id = $1 and detail_status = 'stored'`;
      return (await world.rows(stored, [athlete])).length === 3;
    });
  });

  it('the account export counts all imported records and ends with a manifest of counts and hashes', async () => {
    const { athlete } = await connected(12);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, hasStatus('completed'));
    const answer = await fetch(`${world.api.url}/v1/account/export`, {
      headers: { authorization: `Bearer ${await tokenFor(athlete)}` },
    });
    expect(answer.headers.get('content-type')).toBe('application/gzip');
    const files = await filesOf(Buffer.from(await answer.arrayBuffer()));
    expect([...files.keys()].at(-1)).toBe('manifest.json');
    const manifest = JSON.parse(files.get('manifest.json') ?? '') as {
      counts: Record<string, number>;
      files: Array<{ file: string; records: number; sha256: string }>;
    };
    expect(manifest.counts).toMatchObject({ connections: 1, activities: 12, imports: 1 });
    for (const { file, records, sha256 } of manifest.files) {
      const text = files.get(file) ?? '';
      expect(text.trimEnd().split('\n')).toHaveLength(records);
      expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
    }
  });

  it('DELETE /v1/account deletes imported activities and completes a receipt that counts them', async () => {
    const { athlete } = await connected(12);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, hasStatus('completed'));
    const { status, body } = await world.call<{ receipt_id: string }>(athlete, 'DELETE', '/v1/account');
    expect(status).toBe(202);
    await receiptOf(athlete);
    const receipt = (await (
      await fetch(`${world.api.url}/v1/receipts/${body.receipt_id}`)
    ).json()) as ReceiptBody;
    expect(receipt).toMatchObject({
      what: 'account',
      reason: 'requested',
      deleted: { activities: 12, imports: 1 },
    });
    expect(await listed(athlete)).toEqual([]);
  });

  describe('requests that are refused', () => {
    it.each([
      [{}, 'type'],
      [{ type: 'everything' }, 'type'],
      [{ type: 'full', since: 'yesterday' }, 'since'],
      [{ type: 'full', since: '2026-01-01T00:00:00Z', more: 1 }, 'more'],
    ])('POST /v1/imports answers 400 to %j and names the field', async (body, field) => {
      const answer = await world.call<{ details: string[] }>(randomUUID(), 'POST', '/v1/imports', body);
      expect(answer.status).toBe(400);
      expect(answer.body.details.join()).toContain(`${field}: `);
    });

    it('POST /v1/imports answers 409 without a connection', async () => {
      expect((await world.call(randomUUID(), 'POST', '/v1/imports', { type: 'full' })).status).toBe(409);
    });

    it.each(['GET', 'DELETE'])(
      '%s /v1/imports/{id} answers 404 for another athlete’s import, an unknown id and a malformed id',
      async (method) => {
        const { athlete } = await connected(1);
        const { id } = await begin(athlete);
        expect((await world.call(randomUUID(), method, `/v1/imports/${id}`)).status).toBe(404);
        expect((await world.call(randomUUID(), method, `/v1/imports/${randomUUID()}`)).status).toBe(404);
        expect((await world.call(athlete, method, '/v1/imports/1')).status).toBe(404);
      },
    );
  });
});
