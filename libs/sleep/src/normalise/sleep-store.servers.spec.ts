import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MODEL_TIMEOUT_MS, modelRuns } from '../../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newestOfEach, type SleepSession } from './session.js';
import { SleepStore } from './sleep-store.js';

const version = fc.record({
  revision: fc.integer({ min: 0, max: 1 }),
  capturedAtMs: fc.constantFrom(Date.UTC(2025, 9, 2, 8), Date.UTC(2025, 9, 2, 9)),
  state: fc.constantFrom('scored' as const, 'pending' as const, 'deleted' as const),
  qualityScore: fc.constantFrom(null, 70, 80),
  payloadHash: fc.bigInt({ min: -2n, max: 2n }),
});

describe('two versions of a vendor’s record', () => {
  let open: OpenDatabase;
  let store: SleepStore;
  beforeAll(async () => {
    open = await openTestDatabase();
    store = new SleepStore(open.database);
  });
  afterAll(() => open.close());

  const session = (eventId: string, more: Partial<SleepSession>): SleepSession => ({
    ...{ userId: 'one', source: 'whoop', recordId: 'r', date: '2025-10-02', vendor: 'whoop', eventId },
    ...{ durationMinutes: 420, qualityScore: null, nap: false, state: 'scored', revision: 0 },
    ...{
      capturedAtMs: Date.UTC(2025, 9, 2, 8),
      payloadHash: 0n,
      raw: null,
      receivedAtMs: Date.UTC(2025, 9, 2, 10),
    },
    ...more,
  });
  /** The event whose version is stored after each version has come in a batch of its own. */
  const kept = async (...versions: SleepSession[]) => {
    await open.database.query('truncate sleep_session, sleep_data');
    for (const one of versions) await store.save([one]);
    const { rows } = await open.database.query<{ event_id: string }>('select event_id from sleep_session');
    return rows.map(({ event_id }) => event_id);
  };

  it.each<[string, Partial<SleepSession>]>([
    ['pending', { state: 'pending' }],
    ['not scored', { qualityScore: null }],
  ])(
    'the version with a score replaces the one that is %s, with the same time and a greater hash',
    async (_, more) => {
      const without = session('without', { ...more, payloadHash: 1n });
      const scored = session('scored', { qualityScore: 80, payloadHash: -1n });
      expect(await kept(without, scored)).toEqual(['scored']);
      expect(await kept(scored, without)).toEqual(['scored']);
    },
  );

  it(
    'one batch and several batches store the same version of a record (model)',
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(version, { minLength: 2, maxLength: 4 }), async (some) => {
          const versions = some.map((one, n) => session(String(n), one));
          const [newest] = newestOfEach(versions);
          expect(await kept(...versions)).toEqual([newest?.eventId]);
        }),
        modelRuns(100),
      ),
    MODEL_TIMEOUT_MS,
  );
});
