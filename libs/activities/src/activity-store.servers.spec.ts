import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { anActivity as activity } from './activities.harness.js';
import { ActivityStore } from './activity-store.js';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 18, 12, minute));

describe('the rows of activities', () => {
  let open: OpenDatabase;
  const store = new ActivityStore();
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());

  const anAthlete = () => newAthlete(open.database);

  interface Row {
    name: string;
    detail_status: string;
    photos_status: string;
    description: string | null;
    laps: unknown;
    external_activity_id: string;
  }
  async function rowsOf(athleteId: string): Promise<Row[]> {
    const { rows } = await open.database.query<Row>('select * from activity where athlete_id = $1', [
      athleteId,
    ]);
    return rows;
  }

  it('keeps ids that no number can hold', async () => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, athleteId, [activity()], at(1));
    expect((await rowsOf(athleteId))[0]?.external_activity_id).toBe('9007199254740993');
  });

  it('is one row however often a summary comes, even twice in one page', async () => {
    const athleteId = await anAthlete();
    for (const minute of [1, 2])
      await store.saveSummaries(
        open.database,
        athleteId,
        [activity(), activity({ name: 'Renamed' })],
        at(minute),
      );
    expect(await rowsOf(athleteId)).toMatchObject([{ name: 'Renamed', detail_status: 'pending' }]);
  });

  it('is not changed by an answer that a later one has overtaken', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(open.database, athleteId, activity({ name: 'new', description: 'new' }), at(2));
    await store.saveDetail(open.database, athleteId, activity({ name: 'old', description: 'old' }), at(1));
    expect(await rowsOf(athleteId)).toMatchObject([
      { name: 'new', description: 'new', detail_status: 'stored' },
    ]);
  });

  it('takes a detail older than its summary rather than none', async () => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, athleteId, [activity({ name: 'new' })], at(2));
    await store.saveDetail(open.database, athleteId, activity({ name: 'old' }), at(1));
    expect(await rowsOf(athleteId)).toMatchObject([{ name: 'new', detail_status: 'stored' }]);
  });

  it('wants its detail anew after a crop, not after a new name', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(open.database, athleteId, activity(), at(1));
    await store.saveSummaries(open.database, athleteId, [activity({ name: 'Renamed' })], at(2));
    expect(await rowsOf(athleteId)).toMatchObject([{ name: 'Renamed', detail_status: 'stored' }]);
    await store.saveSummaries(open.database, athleteId, [activity({ distanceM: 9_000 })], at(3));
    expect(await rowsOf(athleteId)).toMatchObject([{ detail_status: 'pending', laps: [{ lap_index: 1 }] }]);
  });

  it('wants photos where there are some, and again when there are more', async () => {
    const athleteId = await anAthlete();
    const photosStatus = async () => (await rowsOf(athleteId))[0]?.photos_status;
    await store.saveSummaries(open.database, athleteId, [activity()], at(1));
    expect(await photosStatus()).toBe('none');
    await store.saveSummaries(open.database, athleteId, [activity({ totalPhotoCount: 1 })], at(2));
    const pending = await store.pendingPhotosOf(open.database, athleteId, activity().id);
    await store.savePhotos(open.database, pending?.id ?? '', []);
    await store.saveSummaries(open.database, athleteId, [activity({ totalPhotoCount: 1 })], at(3));
    expect(await photosStatus()).toBe('stored');
    await store.saveSummaries(open.database, athleteId, [activity({ totalPhotoCount: 2 })], at(4));
    expect(await photosStatus()).toBe('pending');
  });

  it('stays deleted for a page that was listed before, and comes back for a create dated later', async () => {
    const athleteId = await anAthlete();
    const { id } = activity();
    await store.saveSummaries(open.database, athleteId, [activity()], at(1));
    await store.remove(open.database, athleteId, id, at(5));
    await store.saveDetail(open.database, athleteId, activity(), at(2));
    await store.forgetTombstoneBefore(open.database, athleteId, id, at(4));
    expect(await store.isBuried(open.database, athleteId, id)).toBe(true);
    expect(await rowsOf(athleteId)).toEqual([]);
    await store.forgetTombstoneBefore(open.database, athleteId, id, at(6));
    await store.saveDetail(open.database, athleteId, activity(), at(7));
    expect(await rowsOf(athleteId)).toHaveLength(1);
  });

  it('is set aside after three failures, each with a pause, and then no longer in the way', async () => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, athleteId, [activity()], at(1));
    const wanted = { athleteId, since: null, except: [] };
    const [{ id }] = (
      await open.database.query<{ id: string }>('select id from activity where athlete_id = $1', [athleteId])
    ).rows as [{ id: string }];
    const fail = () => store.failed(open.database, id, 'detail', 'http 500', [60_000, 300_000]);
    const due = () => store.nextPending(open.database, 'detail', wanted);
    const wait = () => open.database.query('update activity set detail_retry_at = now() where id = $1', [id]);
    for (const _ of [1, 2]) {
      expect(await due()).toBeDefined();
      await fail();
      expect(await due()).toBeUndefined();
      await wait();
    }
    await fail();
    await wait();
    expect(await due()).toBeUndefined();
    expect(await rowsOf(athleteId)).toMatchObject([{ detail_status: 'set_aside' }]);
    await store.reopenSetAside(open.database, athleteId);
    expect(await due()).toBeDefined();
  });

  it('ends the same in whatever order and however often the answers come', async () => {
    const revisions = [1, 2, 3, 4].map((minute) => ({
      minute,
      isDetail: minute % 2 === 0,
      value: activity({ name: `as of ${minute}`, description: `as of ${minute}` }),
    }));
    const deliveries = fc
      .shuffledSubarray([...revisions, ...revisions], { minLength: 8, maxLength: 8 })
      .filter((order) => order.length === 8);
    await fc.assert(
      fc.asyncProperty(deliveries, async (order) => {
        const athleteId = await anAthlete();
        for (const { minute, isDetail, value } of order)
          await (isDetail
            ? store.saveDetail(open.database, athleteId, value, at(minute))
            : store.saveSummaries(open.database, athleteId, [value], at(minute)));
        expect(await rowsOf(athleteId)).toMatchObject([
          { name: 'as of 4', description: 'as of 4', detail_status: 'stored', laps: [{ lap_index: 1 }] },
        ]);
      }),
      { numRuns: 40 },
    );
  });
});
