import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger } from '#platform';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { floodOf } from './events.harness.js';
import { InboxGauges } from './inbox-gauges.js';

let open: OpenDatabase;
beforeAll(async () => (open = await openTestDatabase()));
afterAll(() => open.close());

it('the inbox gauges show how many events wait, and for how long due ones have waited for a worker', async () => {
  new InboxGauges(open.database, createLogger({ level: 'silent', process: 'test' })).onApplicationBootstrap();
  const valueOf = async (name: string, vendor: string) => {
    const values = (await register.getSingleMetric(name)?.get())?.values ?? [];
    return values.find(({ labels }) => labels.vendor === vendor)?.value;
  };
  await floodOf(open.database, { owners: [1, 2], each: 3, dueIn: '-90 seconds' });
  await floodOf(open.database, { vendor: 'oura', owners: [3], each: 2, dueIn: '1 hour' });
  expect(await valueOf('webhook_inbox_waiting', 'strava')).toBe(6);
  expect(await valueOf('webhook_inbox_overdue_seconds', 'strava')).toBeGreaterThanOrEqual(90);
  expect(await valueOf('webhook_inbox_overdue_seconds', 'strava')).toBeLessThan(180);
  // Events that wait for their retry are not overdue.
  expect(await valueOf('webhook_inbox_waiting', 'oura')).toBe(2);
  expect(await valueOf('webhook_inbox_overdue_seconds', 'oura')).toBe(0);
  expect(await valueOf('webhook_inbox_waiting', 'whoop')).toBe(0);
  // A worker has both owners.
  await open.database.query("update webhook_owner set leased_until = now() + interval '1 minute'");
  expect(await valueOf('webhook_inbox_overdue_seconds', 'strava')).toBe(0);
});
