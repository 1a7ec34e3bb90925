import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { ConnectionGauges } from './connection-gauges.js';

let open: OpenDatabase;
beforeAll(async () => (open = await openTestDatabase()));
afterAll(() => open.close());

it('connections are counted by vendor: tokens that end within 30 days and cannot be renewed, and grants that have ended', async () => {
  const store = async (days: number, refreshToken: string | null, status = 'active') => {
    const athleteId = await newAthlete(open.database);
    const statement = `
      insert into connection
        (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at, status)
      values ($1, 'polar', $1::uuid::text, '{}', 'sealed', $3, 1, now() + $2 * interval '1 day', $4)`;
    await open.database.query(statement, [athleteId, days, refreshToken, status]);
  };
  await store(29, null);
  await store(-1, null);
  await store(31, null);
  await store(29, 'sealed');
  await store(29, null, 'needs_reauth');
  await store(90, 'sealed', 'needs_reauth');
  const gauge = new ConnectionGauges(open.database, createLogger({ level: 'silent', process: 'test' }));
  gauge.onApplicationBootstrap();
  const valuesOf = async (name: string) => (await register.getSingleMetric(name)?.get())?.values;
  const perVendor = (ofPolar: number) =>
    ['strava', 'oura', 'whoop', 'polar'].map((provider) => ({
      labels: { provider },
      value: provider === 'polar' ? ofPolar : 0,
    }));
  expect(await valuesOf('oauth_tokens_ending')).toEqual(perVendor(2));
  expect(await valuesOf('oauth_connections_needing_reauth')).toEqual(perVendor(2));
});
