// The main flow of an app with the types of openapi-typescript and the client openapi-fetch. test/e2e/openapi-clients.spec.ts
// copies this file, generates ./schema.ts beside the copy, compiles both and runs the program.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const { API = '', TOKEN = '', INGEST_KEY = '', ATHLETE = '' } = process.env;
const api = createClient<paths>({ baseUrl: API, headers: { authorization: `Bearer ${TOKEN}` } });

/** Returns the data; throws if the api refused the request. The compiler knows the possible codes of the error. */
function granted<T>({ data, error }: { data?: T; error?: components['schemas']['ErrorAnswer'] }): T {
  if (data === undefined) throw new Error(`${error?.code}: ${error?.error}`);
  return data;
}

const me = granted(await api.GET('/v1/me'));
const begun = granted(
  await api.POST('/v1/connections/{provider}', { params: { path: { provider: 'whoop' } }, body: {} }),
);
const page = granted(await api.GET('/v1/activities', { params: { query: { limit: 2, sport_type: 'Run' } } }));
const id = page.items[0]?.id ?? '';
const activity = granted(await api.GET('/v1/activities/{id}', { params: { path: { id } } }));
const lapMetres: number[] = (activity.laps ?? []).map(({ distance_m }) => distance_m ?? 0);
const streams = granted(
  await api.GET('/v1/activities/{id}/streams', {
    params: {
      path: { id },
      query: { channels: 'time,heartrate', points: 50 },
      header: { Prefer: 'wait=5' },
    },
  }),
);
const seconds: number[] = streams.stream_data?.time ?? [];
const state = granted(await api.GET('/v1/activities/{id}/state', { params: { path: { id } } }));
const job = granted(await api.POST('/v1/activities/{id}/process', { params: { path: { id } } }));
const begunImport = granted(await api.POST('/v1/imports', { body: { type: 'incremental' } }));
const sameImport = granted(await api.GET('/v1/imports/{id}', { params: { path: { id: begunImport.id } } }));
const ingested = granted(
  await api.POST('/api/v1/ingest/sleep', {
    headers: { 'x-api-key': INGEST_KEY },
    body: { userId: ATHLETE, date: '2025-10-02', durationMinutes: 420 },
  }),
);
const nights = granted(await api.GET('/v1/sleep', { params: { query: { limit: 3 } } }));
const archive: ArrayBuffer = granted(await api.GET('/v1/account/export', { parseAs: 'arrayBuffer' }));
const missing = await api.GET('/v1/activities/{id}', { params: { path: { id: ATHLETE } } });
const isMissing: boolean = missing.error?.code === 'NOT_FOUND';

console.log(
  JSON.stringify({
    athlete: me.athlete_id,
    authorizeUrl: begun.authorize_url,
    activities: page.items.length,
    provider: activity.provider,
    laps: lapMetres.length,
    samples: seconds.length,
    state: state.state,
    jobOf: job.activity_id,
    import: sameImport.type,
    eventId: ingested.eventId,
    nights: nights.items.length,
    archiveBytes: archive.byteLength,
    isMissing,
  }),
);
