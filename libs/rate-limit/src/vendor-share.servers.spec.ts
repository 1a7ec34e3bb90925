import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { timeScale } from '#platform';
import { VENDORS } from '#vendors';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { VendorShare } from './vendor-share.js';

const strava = VENDORS.strava.limits;

const DAY_MS = 86_400_000;

describe('VendorShare', () => {
  let open: OpenDatabase;
  let limit: number;
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(async () => {
    limit = 1_000;
    await open.database.query('truncate vendor_share');
  });

  const share = () => {
    const day = () => ({ bucket: 'read', window: 'day', used: 0, limit, remaining: 0, resetsAt: new Date() });
    const budget = { gauges: () => Promise.resolve([day()]) };
    return new VendorShare(strava, 'reconciliation', budget, open.database, timeScale(1));
  };
  /** Makes the share's next call due `ms` earlier, as if that much time had passed. */
  const pass = (ms: number) =>
    open.database.query(`update vendor_share set next_at = next_at - $1 * interval '1 millisecond'`, [ms]);

  const call = async (requests = 1) =>
    share().spend(async (claim) => {
      for (let sent = 0; sent < requests; sent += 1) await claim();
      return 'made';
    });
  const isMade = async (requests?: number) => (await call(requests)) !== undefined;

  async function madeNow(requests?: number): Promise<number> {
    let made = 0;
    while (await isMade(requests)) made += 1;
    return made;
  }

  /** Makes as many calls as the share allows, every five minutes of a day. */
  async function madeInADay(requests?: number): Promise<number> {
    let made = 0;
    const stepMs = 300_000;
    for (let atMs = 0; atMs < DAY_MS; atMs += stepMs) {
      made += await madeNow(requests);
      await pass(stepMs);
    }
    return made;
  }

  it('a vendor share allows a tenth of the day’s read limit, also after a quiet day', async () => {
    const made = await madeInADay();
    expect(made).toBeLessThanOrEqual(100);
    expect(made).toBeGreaterThan(90);
  });

  it('a vendor share counts each retry of a call as a request', async () => {
    const made = await madeInADay(4);
    expect(made * 4).toBeLessThanOrEqual(100);
  });

  it('a vendor share shrinks with a limit that the vendor lowered', async () => {
    limit = 200;
    const made = await madeInADay();
    expect(made).toBeLessThanOrEqual(20);
    expect(made).toBeGreaterThan(10);
  });

  it('a vendor share allows no call if a tenth of the limit is less than one', async () => {
    limit = 9;
    expect(await share().isOpen()).toBe(false);
    expect(await madeNow()).toBe(0);
  });

  it('a vendor share allows ten calls at once over all workers, and then spaces the calls', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, () => isMade()));
    expect(made.filter(Boolean)).toHaveLength(10);
    expect(await share().isOpen()).toBe(false);
    await pass(DAY_MS / 80);
    expect(await share().isOpen()).toBe(true);
    expect(await madeNow()).toBe(1);
  });

  it('a vendor share does not count calls that the budget refused', async () => {
    const refused = () => share().spend(() => Promise.reject(new Error('no budget')));
    for (let times = 0; times < 20; times += 1) await expect(refused()).rejects.toThrow('no budget');
    expect(await madeNow()).toBe(10);
  });
});
