import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Sql } from '#platform';
import { type Sources } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { modelRuns } from '../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { anActivity as activity, atStrava } from './activities.harness.js';
import { Activities } from './activities.js';
import { type ActivityOwner, ActivityStore } from './activity-store.js';

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
    input_revision: string;
  }
  async function rowsOf(athleteId: string): Promise<Row[]> {
    const { rows } = await open.database.query<Row>('select * from activity where athlete_id = $1', [
      athleteId,
    ]);
    return rows;
  }

  it('an activity id above 2^53 is stored exactly', async () => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], at(1));
    expect((await rowsOf(athleteId))[0]?.external_activity_id).toBe('9007199254740993');
  });

  it('the page after an activity from the last second of 1969 begins behind it', async () => {
    const athleteId = await anAthlete();
    const starts = ['1970-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '1900-01-01T00:00:00Z'];
    const history = starts.map((start, n) => activity({ id: `${n}`, startTime: new Date(start) }));
    await store.saveSummaries(open.database, atStrava(athleteId), history, at(1));
    const activities = new Activities(open.database, {} as Sources);
    const listed: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await activities.list(athleteId, { limit: 1, cursor });
      listed.push(...page.items.map(({ external_activity_id }) => external_activity_id ?? ''));
      cursor = page.next_cursor;
    }
    expect(listed).toEqual(['0', '1', '2']);
  });

  it('a summary that comes several times makes one row, also if it comes twice in one page', async () => {
    const athleteId = await anAthlete();
    for (const minute of [1, 2])
      await store.saveSummaries(
        open.database,
        atStrava(athleteId),
        [activity(), activity({ name: 'Renamed' })],
        at(minute),
      );
    expect(await rowsOf(athleteId)).toMatchObject([{ name: 'Renamed', detail_status: 'pending' }]);
  });

  it('a vendor answer that was requested earlier than the stored answer changes nothing', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(
      open.database,
      atStrava(athleteId),
      activity({ name: 'new', description: 'new' }),
      at(2),
    );
    await store.saveDetail(
      open.database,
      atStrava(athleteId),
      activity({ name: 'old', description: 'old' }),
      at(1),
    );
    expect(await rowsOf(athleteId)).toMatchObject([
      { name: 'new', description: 'new', detail_status: 'stored' },
    ]);
  });

  it('the first detail is stored although it was requested before the summary', async () => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, atStrava(athleteId), [activity({ name: 'new' })], at(2));
    await store.saveDetail(open.database, atStrava(athleteId), activity({ name: 'old' }), at(1));
    expect(await rowsOf(athleteId)).toMatchObject([{ name: 'new', detail_status: 'stored' }]);
  });

  it('a crop makes a detail due again, and a new name does not', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(open.database, atStrava(athleteId), activity(), at(1));
    await store.saveSummaries(open.database, atStrava(athleteId), [activity({ name: 'Renamed' })], at(2));
    expect(await rowsOf(athleteId)).toMatchObject([{ name: 'Renamed', detail_status: 'stored' }]);
    await store.saveSummaries(open.database, atStrava(athleteId), [activity({ distanceM: 9_000 })], at(3));
    expect(await rowsOf(athleteId)).toMatchObject([{ detail_status: 'pending', laps: [{ lap_index: 1 }] }]);
  });

  it.each([
    ['the sport', { sportType: 'TrailRun' }, '1'],
    ['the distance', { distanceM: 9_000 }, '1'],
    ['the moving time', { movingTimeS: 2_000 }, '1'],
    ['the elapsed time', { elapsedTimeS: 9_000 }, '1'],
    ['the climb', { elevationGainM: 900 }, '1'],
    ['the name', { name: 'Renamed' }, '0'],
    ['the last digit of the distance', { distanceM: activity().distanceM + 0.4 }, '0'],
  ])('a change of %s raises input_revision only if processors use that value', async (_, edit, revision) => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], at(1));
    await store.saveSummaries(open.database, atStrava(athleteId), [activity(edit)], at(2));
    await store.saveSummaries(open.database, atStrava(athleteId), [activity(edit)], at(3));
    expect((await rowsOf(athleteId))[0]?.input_revision).toBe(revision);
  });

  it('the photos of an activity are due if there are some, and again if there are more', async () => {
    const athleteId = await anAthlete();
    const photosStatus = async () => (await rowsOf(athleteId))[0]?.photos_status;
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], at(1));
    expect(await photosStatus()).toBe('none');
    const detail = activity({ totalPhotoCount: 1 });
    const saved = await store.saveDetail(open.database, atStrava(athleteId), detail, at(2));
    expect(saved).toMatchObject({ photos_status: 'pending', stream_fetch_status: 'pending' });
    await store.savePhotos(open.database, saved?.id ?? '', []);
    await store.saveSummaries(open.database, atStrava(athleteId), [activity({ totalPhotoCount: 1 })], at(3));
    expect(await photosStatus()).toBe('stored');
    await store.saveSummaries(open.database, atStrava(athleteId), [activity({ totalPhotoCount: 2 })], at(4));
    expect(await photosStatus()).toBe('pending');
  });

  it('an answer requested before the activity was deleted is ignored, and an answer requested later is stored', async () => {
    const athleteId = await anAthlete();
    const before = await open.database.now();
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], before);
    await store.remove(open.database, atStrava(athleteId), activity().id);
    await store.saveDetail(open.database, atStrava(athleteId), activity(), before);
    expect(await rowsOf(athleteId)).toEqual([]);
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], await open.database.now());
    expect(await rowsOf(athleteId)).toHaveLength(1);
  });

  it('a detail does not become due again if list and detail differ only in the last digits', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(open.database, atStrava(athleteId), activity({ distanceM: 10_000.4 }), at(1));
    const rounded = { distanceM: 10_000.04, movingTimeS: 2_999, elapsedTimeS: 3_101 };
    await store.saveSummaries(open.database, atStrava(athleteId), [activity(rounded)], at(2));
    expect(await rowsOf(athleteId)).toMatchObject([{ detail_status: 'stored' }]);
  });

  it('a detail is stored although a list that was requested later was stored earlier', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(open.database, atStrava(athleteId), activity({ description: 'old' }), at(1));
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], at(3));
    await store.saveDetail(open.database, atStrava(athleteId), activity({ description: 'new' }), at(2));
    expect(await rowsOf(athleteId)).toMatchObject([{ description: 'new', detail_status: 'stored' }]);
  });

  it('a detail stays due after a crop if the stored detail was requested before the crop was seen', async () => {
    const athleteId = await anAthlete();
    await store.saveDetail(open.database, atStrava(athleteId), activity(), at(1));
    await store.saveSummaries(open.database, atStrava(athleteId), [activity({ distanceM: 9_000 })], at(3));
    await store.saveDetail(open.database, atStrava(athleteId), activity(), at(2));
    expect(await rowsOf(athleteId)).toMatchObject([{ detail_status: 'pending' }]);
    await store.saveDetail(open.database, atStrava(athleteId), activity({ distanceM: 9_000 }), at(4));
    expect(await rowsOf(athleteId)).toMatchObject([{ detail_status: 'stored' }]);
  });

  it('an activity is set aside at the third failure, after two pauses, and is then skipped', async () => {
    const athleteId = await anAthlete();
    await store.saveSummaries(open.database, atStrava(athleteId), [activity()], at(1));
    const filter = { ...atStrava(athleteId), since: null, except: [] };
    const [{ id }] = (
      await open.database.query<{ id: string }>('select id from activity where athlete_id = $1', [athleteId])
    ).rows as [{ id: string }];
    const fail = () => store.failed(open.database, id, 'detail', 'http 500', [60_000, 300_000]);
    const due = () => store.nextPending(open.database, 'detail', filter);
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
  });

  it('answers about an activity lead to the same row in any order, also if repeated (model)', async () => {
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
            ? store.saveDetail(open.database, atStrava(athleteId), value, at(minute))
            : store.saveSummaries(open.database, atStrava(athleteId), [value], at(minute)));
        expect(await rowsOf(athleteId)).toMatchObject([
          { name: 'as of 4', description: 'as of 4', detail_status: 'stored', laps: [{ lap_index: 1 }] },
        ]);
      }),
      modelRuns(40),
    );
  });

  it('two vendors’ activities with equal ids are two rows, and each vendor changes and removes its own', async () => {
    const athleteId = await anAthlete();
    const other = { athleteId, provider: 'oura' } as const;
    const sql = open.database;
    await store.saveSummaries(sql, atStrava(athleteId), [activity({ name: 'theirs' })], at(1));
    await store.saveDetail(sql, other, activity({ name: 'ours' }), at(1));
    const stored = async () =>
      (
        await sql.query<{ provider: string; name: string; detail_status: string }>(
          'select provider, name, detail_status from activity where athlete_id = $1 order by provider',
          [athleteId],
        )
      ).rows;
    expect(await stored()).toEqual([
      { provider: 'oura', name: 'ours', detail_status: 'stored' },
      { provider: 'strava', name: 'theirs', detail_status: 'pending' },
    ]);
    const next = (owner: ActivityOwner) =>
      store.nextPending(sql, 'detail', { ...owner, since: null, except: [] });
    expect(await next(other)).toBeUndefined();
    expect(await next(atStrava(athleteId))).toBeDefined();
    await store.remove(sql, other, activity().id);
    await store.saveSummaries(sql, other, [activity()], at(1));
    expect((await stored()).map(({ provider }) => provider)).toEqual(['strava']);
  });

  it('streams of a vendor without streams are unavailable from the start', async () => {
    const athleteId = await anAthlete();
    for (const provider of ['strava', 'oura'] as const)
      await store.saveSummaries(open.database, { athleteId, provider }, [activity()], at(1));
    const { rows } = await open.database.query(
      'select provider, stream_fetch_status from activity where athlete_id = $1 order by provider',
      [athleteId],
    );
    expect(rows).toEqual([
      { provider: 'oura', stream_fetch_status: 'unavailable' },
      { provider: 'strava', stream_fetch_status: 'pending' },
    ]);
  });

  it('a page of 200 activities with details is stored in two statements, and a repeated activity gets its last detail', async () => {
    const athleteId = await anAthlete();
    const details = Array.from({ length: 200 }, (_, n) =>
      activity({ id: `${n}`, description: `text ${n}`, laps: [{ lap_index: n }] }),
    );
    const all = [activity({ id: '7', description: 'older' }), ...details];
    let statements = 0;
    const sql: Sql = {
      query: (...query) => {
        statements += 1;
        return open.database.query(...query);
      },
    };
    await store.savePage(sql, atStrava(athleteId), { activities: all, details: all }, null, at(1));
    expect(statements).toBe(2);
    const stored = (await rowsOf(athleteId)).map(({ external_activity_id: id, description, laps }) => ({
      id,
      description,
      laps,
    }));
    const byId = (one: { id: string }, other: { id: string }) => Number(one.id) - Number(other.id);
    expect(stored.sort(byId)).toEqual(
      details.map(({ id, description, laps }) => ({ id, description, laps })),
    );
  });
});
