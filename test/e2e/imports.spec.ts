import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { filesOf } from '../harness/archive.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { type ImportBody, type ReceiptBody, World } from '../harness/world.js';

const is = (status: string) => (body: ImportBody) => body.status === status;

// A window lasts three seconds: long enough to look at one that is full.
const TIME_SCALE = 300;

describe('an import', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: TIME_SCALE });
    await world.withoutBackfill();
  });
  afterAll(() => world.stop());

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

  /** So few that every window fills up, however slow the machine is. */
  const limit = (read_15min: number) => world.control('POST', 'limits', { vendor: 'strava', read_15min });

  const receiptOf = (athlete: string) =>
    eventually('the receipt is complete', async () => {
      const done = 'select 1 from receipt where athlete_id = $1 and completed_at is not null';
      return (await world.rows(done, [athlete])).length > 0;
    });

  it('begins by itself with a connection, waits for windows, and ends with everything, each fetched once', async () => {
    await limit(40);
    const begunAtMs = Date.now();
    const { athlete } = await connected(150);
    const { id } = await begin(athlete);
    const limited = await world.importUntil(athlete, id, is('rate_limited'));
    expect(limited.message).toMatch(/^Rate limited, resuming at \d\d:\d\d UTC/);
    expect(Date.parse(limited.retry_after ?? '')).toBeGreaterThan(begunAtMs);
    expect(Date.parse(limited.eta ?? '')).toBeGreaterThan(begunAtMs);
    const done = await world.importUntil(athlete, id, is('completed'));
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

  it('shows a new upload at once while a history is being imported', async () => {
    await limit(40);
    const { athlete, vendorId } = await connected(250);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, is('rate_limited'));
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

  it('is followed by five at once, and by another when one has gone', async () => {
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
    expect(await sixth.json()).toMatchObject({ error: expect.stringContaining('5 streams') });
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

  it('sets a poisonous activity aside and goes on; the next import tries it again', async () => {
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
    const done = await world.importUntil(athlete, first.id, is('completed'));
    expect(done.message).toBe('Completed: 2 activities imported, 1 set aside');
    await world.control('DELETE', 'faults');
    const second = await begin(athlete);
    expect(second.id).not.toBe(first.id);
    expect((await world.importUntil(athlete, second.id, is('completed'))).activities_imported).toBe(3);
  });

  it.each(['malformed', 'http_500'])(
    'is not held up by its three newest activities, which are all %s',
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

  it('begins anew for who disconnects and connects again, and not before the old data is gone', async () => {
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
    const done = await world.importUntil(athlete, again.id, is('completed'));
    expect(done).toMatchObject({ activities_imported: 30, activities_total: 30 });
  });

  it('stops when the athlete deauthorises at the vendor, and leaves nothing behind', async () => {
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

  it('can be cancelled, keeps what it has, and may begin again', async () => {
    const { athlete } = await connected(120);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, ({ activities_imported }) => activities_imported > 5);
    const { status, body } = await world.call<ImportBody>(athlete, 'DELETE', `/v1/imports/${id}`);
    expect([status, body.status]).toEqual([200, 'cancelled']);
    expect((await world.call(athlete, 'DELETE', `/v1/imports/${id}`)).status).toBe(200);
    const again = await begin(athlete);
    expect(again.id).not.toBe(id);
    const done = await world.importUntil(athlete, again.id, is('completed'));
    expect(done.activities_imported).toBe(120);
    expect((await world.call(athlete, 'DELETE', `/v1/imports/${again.id}`)).status).toBe(409);
    expect((await world.stravaStats()).by_endpoint.activity).toBeDefined();
  });

  it('leaves out what began before `since`', async () => {
    const { athlete } = await connected(60);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, is('completed'));
    const newest = await listed(athlete);
    expect(newest).toHaveLength(60);
    const other = randomUUID();
    await world.connect(other, await world.vendorAthlete(60));
    const whole = await begin(other);
    await world.importUntil(other, whole.id, is('completed'));
    const since = new Date(Date.now() - 7 * 86_400_000).toISOString();
    const recent = await begin(other, { type: 'full', since });
    const done = await world.importUntil(other, recent.id, is('completed'));
    expect(done.activities_total).toBeLessThan(60);
  });

  it('finds by comparison what no event has told', async () => {
    const { athlete, vendorId } = await connected(5);
    await world.importUntil(athlete, (await begin(athlete)).id, is('completed'));
    const [gone] = await listed(athlete);
    await world.control('POST', 'faults', { vendor: 'strava', kind: 'drop' });
    await world.control('POST', 'activities', { athlete_id: vendorId, name: 'Unheard' });
    await world.control('DELETE', `activities/${gone?.external_activity_id}`);
    await world.rows(
      `update strava_sync set last_strava_sync_at = now() - interval '2 days' where athlete_id = $1`,
      [athlete],
    );
    const names = `select external_activity_id, name from activity where athlete_id = $1 and detail_status = 'stored'`;
    await eventually(
      'both are known',
      async () => {
        const rows = await world.rows<Listed>(names, [athlete]);
        return (
          rows.some(({ name }) => name === 'Unheard') &&
          rows.every(({ external_activity_id }) => external_activity_id !== gone?.external_activity_id)
        );
      },
      90_000,
    );
    await world.control('DELETE', 'faults');
  });

  it('begins for whoever is connected, also where the process that was to begin it died', async () => {
    const { athlete } = await connected(3);
    await world.importUntil(athlete, (await begin(athlete)).id, is('completed'));
    for (const table of ['import_jobs', 'strava_sync', 'activity'])
      await world.rows(`delete from ${table} where athlete_id = $1`, [athlete]);
    await world.rows(
      `update connection set connected_at = now() - interval '1 minute' where athlete_id = $1`,
      [athlete],
    );
    await eventually('it is imported', async () => {
      const stored = `select 1 from activity where athlete_id = $1 and detail_status = 'stored'`;
      return (await world.rows(stored, [athlete])).length === 3;
    });
  });

  it('exports all that it holds, the manifest last', async () => {
    const { athlete } = await connected(12);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, is('completed'));
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

  it('deletes an account and everything in it, and gives a receipt for it', async () => {
    const { athlete } = await connected(12);
    const { id } = await begin(athlete);
    await world.importUntil(athlete, id, is('completed'));
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

  describe('refuses', () => {
    it.each([
      [{}, 'type'],
      [{ type: 'everything' }, 'type'],
      [{ type: 'full', since: 'yesterday' }, 'since'],
      [{ type: 'full', since: '2026-01-01T00:00:00Z', more: 1 }, 'more'],
    ])('%j, naming the field', async (body, field) => {
      const answer = await world.call<{ details: string[] }>(randomUUID(), 'POST', '/v1/imports', body);
      expect(answer.status).toBe(400);
      expect(answer.body.details.join()).toContain(`${field}: `);
    });

    it('to begin without a connection', async () => {
      expect((await world.call(randomUUID(), 'POST', '/v1/imports', { type: 'full' })).status).toBe(409);
    });

    it.each(['GET', 'DELETE'])('%s of another athlete’s import, as if there were none', async (method) => {
      const { athlete } = await connected(1);
      const { id } = await begin(athlete);
      expect((await world.call(randomUUID(), method, `/v1/imports/${id}`)).status).toBe(404);
      expect((await world.call(randomUUID(), method, `/v1/imports/${randomUUID()}`)).status).toBe(404);
      expect((await world.call(athlete, method, '/v1/imports/1')).status).toBe(404);
    });
  });
});
