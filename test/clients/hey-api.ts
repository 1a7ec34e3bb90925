// The main flow of an app with the client of @hey-api/openapi-ts. test/e2e/openapi-clients.spec.ts copies this file, generates
// ./sdk beside the copy, compiles both and runs the program.
import { client } from './sdk/client.gen.js';
import {
  beginConnection,
  beginImport,
  exportAccount,
  getActivity,
  getActivityState,
  getImport,
  getMe,
  getStreams,
  ingestSleep,
  listActivities,
  listNights,
  processActivity,
} from './sdk/index.js';

const { API = '', TOKEN = '', INGEST_KEY = '', ATHLETE = '' } = process.env;
client.setConfig({ baseUrl: API, auth: ({ type }) => (type === 'apiKey' ? INGEST_KEY : TOKEN) });

const throwOnError = true;
const { data: me } = await getMe({ throwOnError });
const { data: begun } = await beginConnection({ path: { provider: 'whoop' }, body: {}, throwOnError });
const { data: page } = await listActivities({ query: { limit: 2, sport_type: 'Run' }, throwOnError });
const id = page.items[0]?.id ?? '';
const { data: activity } = await getActivity({ path: { id }, throwOnError });
const lapMetres: number[] = (activity.laps ?? []).map(({ distance_m }) => distance_m ?? 0);
const { data: streams } = await getStreams({
  path: { id },
  query: { channels: 'time,heartrate', points: 50 },
  headers: { Prefer: 'wait=5' },
  throwOnError,
});
const seconds: number[] = streams.stream_data?.time ?? [];
const { data: state } = await getActivityState({ path: { id }, throwOnError });
const { data: job } = await processActivity({ path: { id }, throwOnError });
const { data: begunImport } = await beginImport({ body: { type: 'incremental' }, throwOnError });
const { data: sameImport } = await getImport({ path: { id: begunImport.id }, throwOnError });
const { data: ingested } = await ingestSleep({
  body: { userId: ATHLETE, date: '2025-10-02', durationMinutes: 420 },
  throwOnError,
});
const { data: nights } = await listNights({ query: { limit: 3 }, throwOnError });
const { data: archive } = await exportAccount({ throwOnError });
const archiveBytes: number = archive.size;
const missing = await getActivity({ path: { id: ATHLETE } });
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
    archiveBytes,
    isMissing,
  }),
);
