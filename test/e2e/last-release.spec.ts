import { randomUUID } from 'node:crypto';
import { expect, it, jest } from '@jest/globals';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';
import { type ImportBody, type ReceiptBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// `npm test` builds the last release if there is a tag of it (bin/launcher/last-release.mjs).
const RELEASE = process.env.LAST_RELEASE_PATH;
const withRelease = RELEASE ? it : it.skip;
const INGEST_KEY = 'an-ingest-key-of-both-releases';
const ACTIVITIES = 3;

withRelease(
  'the api and the worker of the last release work on the schema of this one, beside its processes (skipped until there is a tag from v0.2.0 on)',
  async () => {
    const world = await World.start({ workers: 0, env: { INGEST_API_KEYS: INGEST_KEY } });
    const before = await ProductProcess.start('api', { ...world.env, PORT: '0' }, RELEASE);
    try {
      const athlete = randomUUID();
      // Not `world.call`, which compares answers with the API document of this release.
      const ask = async <T>(method: string, path: string, headers: object = {}, body?: object) => {
        const answer = await fetch(`${before.url}${path}`, {
          method,
          headers: {
            authorization: `Bearer ${await tokenFor(athlete)}`,
            ...(body && { 'content-type': 'application/json' }),
            ...headers,
          },
          body: body && JSON.stringify(body),
        });
        expect([`${method} ${path}`, answer.status < 300]).toEqual([`${method} ${path}`, true]);
        return (await answer.json()) as T;
      };
      const count = async (statement: string) => (await world.rows(statement)).length;
      const stored = "select 1 from activity where stream_fetch_status = 'success'";

      // The new api and the old worker: connect, import, streams, processing.
      const oldWorker = await ProductProcess.start('worker', world.env, RELEASE);
      const vendorAthlete = await world.vendorAthlete(ACTIVITIES, { manual_share: 0 });
      await world.connect(athlete, vendorAthlete);
      const { body: begun } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
      await world.importUntil(athlete, begun.id, ({ status }) => status === 'completed');
      await eventually('streams of the old worker', async () => (await count(stored)) === ACTIVITIES);
      await eventually('jobs of the old worker', async () => {
        return (await count("select 1 from jobs where status = 'succeeded'")) === ACTIVITIES;
      });

      // The old api beside the new worker: an upload, a night, a requested job, a deletion.
      await world.startWorker();
      expect(await oldWorker.stop()).toBe(0);
      await world.control('POST', 'activities', { athlete_id: vendorAthlete });
      await eventually('streams of the new worker', async () => (await count(stored)) === ACTIVITIES + 1);
      const { items } = await ask<{ items: ReadonlyArray<{ id: string }> }>('GET', '/v1/activities');
      expect(items).toHaveLength(ACTIVITIES + 1);
      for (const { id } of items) {
        const { status } = await ask<{ status: string }>('GET', `/v1/activities/${id}/streams`);
        expect(status).toBe('success');
      }
      const job = await ask<{ job_id: string }>('POST', `/v1/activities/${items[0]?.id}/process`);
      await world.jobUntil(athlete, job.job_id, 'succeeded');
      const night = { userId: athlete, date: '2025-10-02', durationMinutes: 420 };
      await ask('POST', '/api/v1/ingest/sleep', { 'x-api-key': INGEST_KEY }, night);
      await eventually('the night', async () => (await count('select 1 from sleep_data')) === 1);
      const { items: changes } = await ask<{ items: readonly object[] }>('GET', '/v1/changes?limit=1000');
      expect(changes.length).toBeGreaterThan(ACTIVITIES);
      const { receipt_id } = await ask<{ receipt_id: string }>('DELETE', '/v1/account');
      await eventually('the deletion', async () => {
        return (await ask<ReceiptBody>('GET', `/v1/receipts/${receipt_id}`)).status === 'completed';
      });
      expect(await count('select 1 from activity')).toBe(0);
      expect((await world.stravaStats()).over_limit).toBe(0);
    } finally {
      await before.stop();
      await world.stop();
    }
  },
);
