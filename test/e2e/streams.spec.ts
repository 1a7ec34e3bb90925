import { randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { request } from 'undici';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { type StreamBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

interface Row {
  readonly id: string;
  readonly external_activity_id: string;
  readonly status: string;
}

describe('the streams of an athlete', () => {
  let world: World;
  let athlete: string;
  let vendorId: string;
  let rows: Row[];

  beforeAll(async () => {
    world = await World.start();
    athlete = randomUUID();
    vendorId = await world.vendorAthlete(40, { manual_share: 0.2 });
    await world.connect(athlete, vendorId);
    await eventually(
      'all streams that there are have been fetched',
      async () => {
        rows = await world.rows<Row>(
          'select id, external_activity_id, stream_fetch_status as status from activity where athlete_id = $1 order by start_time desc',
          [athlete],
        );
        return (
          rows.length === 40 && rows.every(({ status }) => status === 'success' || status === 'unavailable')
        );
      },
      90_000,
    );
  });
  afterAll(() => world?.stop());

  async function get(id: string, query = '', headers: Record<string, string> = {}, as = athlete) {
    const answer = await request(`${world.api.url}/v1/activities/${id}/streams${query}`, {
      headers: { authorization: `Bearer ${await tokenFor(as)}`, ...headers },
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const text = (answer.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
    const body = (text ? JSON.parse(text) : undefined) as StreamBody & { error: string; details: string[] };
    return { status: answer.statusCode, headers: answer.headers, body, bytes };
  }
  const withStatus = (status: string) => rows.find((row) => row.status === status) as Row;

  it('streams of a new connection are fetched automatically, with one call each', async () => {
    const { by_endpoint, over_limit, duplicate_requests } = await world.stravaStats();
    const stored = rows.filter(({ status }) => status === 'success');
    expect(by_endpoint.streams).toBe(stored.length);
    expect({ over_limit, duplicate_requests }).toEqual({ over_limit: 0, duplicate_requests: 0 });
    expect(rows.length - stored.length).toBeGreaterThan(0);
  });

  it('streams are returned whole, as the gzipped bytes that are stored', async () => {
    const { id } = withStatus('success');
    const { status, headers, body } = await get(id, '', { 'accept-encoding': 'gzip' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-encoding': 'gzip',
      'cache-control': 'private, no-cache',
      vary: 'accept-encoding',
    });
    expect(body).toMatchObject({
      activity_id: id,
      status: 'success',
      source: 'strava',
      error: null,
      retry_at: null,
    });
    expect(body.channels_available).toEqual(Object.keys(body.stream_data ?? {}));
    for (const samples of Object.values(body.stream_data ?? {}))
      expect(samples).toHaveLength(body.point_count);
  });

  it('streams without gzip have the same content under another ETag', async () => {
    const { id } = withStatus('success');
    const zipped = await get(id, '', { 'accept-encoding': 'br, gzip;q=0.5' });
    const plain = await get(id, '', { 'accept-encoding': 'gzip;q=0, identity' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.body).toEqual(zipped.body);
    expect(plain.headers.etag).not.toBe(zipped.headers.etag);
  });

  it('streams answer 304 to their ETag and 200 to another ETag', async () => {
    const { id } = withStatus('success');
    for (const query of ['', '?points=100', '?channels=time,heartrate&points=50']) {
      const { headers } = await get(id, query, { 'accept-encoding': 'gzip' });
      const tag = String(headers.etag);
      for (const ifNoneMatch of [tag, `W/${tag}`, `"else", ${tag}`, '*']) {
        const again = await get(id, query, { 'accept-encoding': 'gzip', 'if-none-match': ifNoneMatch });
        expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, tag]);
      }
      expect((await get(id, `${query || '?'}&channels=watts`, { 'if-none-match': tag })).status).not.toBe(
        304,
      );
      expect((await get(id, query, { 'if-none-match': '"else"' })).status).toBe(200);
    }
  });

  it('streams are returned in part for `channels` and `points`', async () => {
    const { id } = withStatus('success');
    const { body: whole } = await get(id);
    const { body } = await get(id, '?channels=heartrate,time,no_such&points=200');
    expect(Object.keys(body.stream_data ?? {}).sort()).toEqual(
      ['heartrate', 'time'].filter((name) => whole.channels_available.includes(name)),
    );
    expect(body.stream_data?.time).toHaveLength(200);
    expect(body).toMatchObject({
      point_count: whole.point_count,
      channels_available: whole.channels_available,
    });
    expect((await get(id, '?points=99999')).body.stream_data).toEqual(whole.stream_data);
  });

  it('an activity without streams answers 200 with the status unavailable and no ETag', async () => {
    const { id } = withStatus('unavailable');
    const { status, headers, body } = await get(id);
    expect([status, headers.etag, headers['cache-control']]).toEqual([200, undefined, 'no-store']);
    expect(body).toEqual({
      activity_id: id,
      status: 'unavailable',
      stream_data: null,
      channels_available: [],
      point_count: 0,
      source: 'strava',
      fetched_at: null,
      error: null,
      retry_at: null,
    });
  });

  it('streams answer 404 to another athlete, also with their ETag or Prefer: wait', async () => {
    const { id } = withStatus('success');
    const { headers } = await get(id);
    const stranger = randomUUID();
    const tries: Record<string, string>[] = [
      {},
      { 'if-none-match': '*' },
      { 'if-none-match': String(headers.etag) },
      { prefer: 'wait=1' },
    ];
    for (const more of tries)
      expect(await get(id, '', more, stranger)).toMatchObject({
        status: 404,
        body: { error: 'No such activity' },
      });
    expect((await get(randomUUID())).status).toBe(404);
  });

  it.each([
    ['points=1', 'points'],
    ['points=abc', 'points'],
    ['points=', 'points'],
    ['points=-5', 'points'],
    ['points=1e3', 'points'],
    ['points=1000000', 'points'],
    ['points=5&points=6', 'points'],
    ['channels=', 'channels'],
    ['channels=time,,heartrate', 'channels'],
    ['channels=Time', 'channels'],
    ['channels=__proto__', 'channels'],
    ['channels[a]=time', 'channels'],
    ['resolution=high', 'resolution'],
  ])('streams answer 400 to ?%s and name the field', async (query, field) => {
    const { status, body } = await get(withStatus('success').id, `?${query}`);
    expect([status, body.details.every((detail) => detail.startsWith(field))]).toEqual([400, true]);
  });

  it('streams of a new upload are fetched automatically', async () => {
    await world.control('POST', 'activities', { athlete_id: vendorId, name: 'Just now' });
    await eventually('the new activity has its streams', async () => {
      const statement = `select 1 from activity where athlete_id = $1 and name = 'Just now' and stream_fetch_status = 'success'`;
      return (await world.rows(statement, [athlete])).length > 0;
    });
  });

  it('streams are fetched again after a reset, and the old streams are returned until the new ones are stored', async () => {
    const admin = { authorization: `Bearer ${await tokenFor(randomUUID(), { role: 'admin' })}` };
    const post = async (path: string) => {
      const answer = await request(`${world.api.url}/admin/${path}`, { method: 'POST', headers: admin });
      return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
    };
    expect((await post('backfills/pause')).status).toBe(202);
    const { id } = withStatus('success');
    const before = (await get(id)).body;
    expect(await post(`activities/${id}/reset-stream-fetch`)).toMatchObject({
      status: 200,
      body: { activity_id: id, status: 'pending', retry_count: 0, error: null },
    });
    expect((await get(id)).body).toEqual(before);
    const waited = await get(id, '', { prefer: 'wait=5' });
    expect(waited.headers['preference-applied']).toBe('wait=5');
    expect(waited.body).toMatchObject({ status: 'success', stream_data: before.stream_data });
    expect(waited.body.fetched_at).not.toBe(before.fetched_at);

    const manual = withStatus('unavailable').id;
    expect((await post(`activities/${manual}/reset-stream-fetch`)).body).toMatchObject({
      status: 'unavailable',
    });
    expect((await post(`activities/${randomUUID()}/reset-stream-fetch`)).status).toBe(404);
    expect((await post('backfills/resume')).status).toBe(202);
  });
});
