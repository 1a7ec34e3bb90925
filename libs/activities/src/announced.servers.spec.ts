import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { beginUnannouncedDeletion, Changes } from '#platform';
import { type Sources } from '#vendors';
import { announced } from '../../../test/harness/announced.js';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { anActivity, atStrava } from './activities.harness.js';
import { Activities } from './activities.js';
import { ActivityStore } from './activity-store.js';

const ASKED = new Date('2026-11-18T12:00:00Z');
const LATER = new Date('2026-11-18T13:00:00Z');

describe('the changes of activities that are announced', () => {
  let open: OpenDatabase;
  let athleteId: string;
  let seen = '0';
  const store = new ActivityStore();
  beforeAll(async () => (open = await openTestDatabase()));
  beforeEach(async () => (athleteId = await newAthlete(open.database)));
  afterAll(() => open.close());

  const told = async () => (await announced(open.database, athleteId)).map(({ type }) => type);
  /** The changes since the last call, with the items that the log has. */
  const logged = async () => {
    await new Changes(open.database).sequence();
    const { rows } = await open.database.query<{ seq: string }>(
      'select * from change where athlete_id = $1 and seq > $2 order by seq',
      [athleteId, seen],
    );
    seen = rows.at(-1)?.seq ?? seen;
    return rows;
  };
  const save = (change = {}, askedAt = ASKED) =>
    store.saveSummaries(open.database, atStrava(athleteId), [anActivity(change)], askedAt);
  const listed = async () => {
    const { items } = await new Activities(open.database, {} as Sources).list(athleteId, { limit: 10 });
    return JSON.parse(JSON.stringify(items)) as Array<{ id: string }>;
  };

  it('a new activity is announced as the API lists it, with odd characters and absent values', async () => {
    await save({
      name: '“Läufe” \\ " 🏃 \u2028',
      timezone: null,
      averageHeartrate: null,
      distanceM: 0.1 + 0.2,
      startTime: new Date('2026-11-18T06:00:00.007Z'),
    });
    const [item] = await listed();
    expect(await announced(open.database, athleteId)).toEqual([
      { type: 'activity.created', subject_id: item?.id, data: item },
    ]);
  });

  it('the same list again announces nothing, and another name one update', async () => {
    await save();
    await told();
    await save({}, LATER);
    expect(await told()).toEqual([]);
    await save({ name: 'Evening Run' }, LATER);
    const [item] = await listed();
    expect(await announced(open.database, athleteId)).toEqual([
      { type: 'activity.updated', subject_id: item?.id, data: item },
    ]);
  });

  it('a detail is announced as an update, and a failed fetch of the detail is not announced', async () => {
    await save();
    await told();
    const [{ id } = { id: '' }] = await listed();
    await store.failed(open.database, id, 'detail', 'an outage', [1, 2]);
    expect(await told()).toEqual([]);
    await store.saveDetail(open.database, atStrava(athleteId), anActivity(), LATER);
    expect(await told()).toEqual(['activity.updated']);
  });

  it.each([
    ['success', 'streams.ready'],
    ['unavailable', 'streams.unavailable'],
    ['failed', 'streams.failed'],
  ])('streams that become %s are announced once as %s', async (status, type) => {
    await save();
    await told();
    const change = 'update activity set stream_fetch_status = $2 where athlete_id = $1';
    await open.database.query(
      "update activity set stream_fetch_status = 'fetching', stream_fetch_fence = 1, stream_fetch_attempted_at = now() where athlete_id = $1",
      [athleteId],
    );
    expect(await told()).toEqual([]);
    await open.database.query(change, [athleteId, status]);
    await open.database.query(change, [athleteId, status]);
    const [item] = await listed();
    expect(await announced(open.database, athleteId)).toEqual([{ type, subject_id: item?.id, data: item }]);
  });

  it('an activity that the vendor deleted is announced, and its return has a higher revision', async () => {
    await save();
    const revisions = async () =>
      (
        await open.database.query<{ revision: string }>(
          'select revision from change_outbox where athlete_id = $1 order by revision',
          [athleteId],
        )
      ).rows.map(({ revision }) => Number(revision));
    await store.remove(open.database, atStrava(athleteId), anActivity().id);
    await save({}, new Date(Date.now() + 60_000));
    const all = await revisions();
    expect(all).toHaveLength(3);
    expect(new Set(all).size).toBe(3);
    expect(await told()).toEqual(['activity.created', 'activity.deleted', 'activity.created']);
  });

  it('the deletion of an athlete’s data announces none of its activities', async () => {
    await save();
    await told();
    await open.database.transaction(async (sql) => {
      await beginUnannouncedDeletion(sql, 'account');
      await sql.query("update activity set photos = '[]', name = '' where athlete_id = $1", [athleteId]);
      await sql.query('delete from activity where athlete_id = $1', [athleteId]);
    });
    expect(await told()).toEqual([]);
  });

  const connectTwoVendors = () =>
    open.database.query(
      `insert into connection (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       select $1, vendor, $2, '{}', '', '', 1, now() from unnest(array['strava', 'polar']) as vendor`,
      [athleteId, athleteId],
    );

  it('an activity that another vendor has, too, names the other activity, which is announced again when the first one comes and when it goes', async () => {
    await connectTwoVendors();
    await save();
    await told();
    const polar = { athleteId, provider: 'polar' } as const;
    await store.saveSummaries(open.database, polar, [anActivity({ id: 'p' })], ASKED);
    const items = (await listed()) as Array<{ id: string; provider: string; same_as: string[] }>;
    const [ofStrava, ofPolar] = ['strava', 'polar'].map((vendor) =>
      items.find(({ provider }) => provider === vendor),
    );
    expect(ofPolar?.same_as).toEqual([ofStrava?.id]);
    expect(await logged()).toMatchObject([
      { type: 'activity.created', data: ofPolar },
      { type: 'activity.updated', data: ofStrava },
    ]);
    await store.remove(open.database, polar, 'p');
    const alone = { type: 'activity.updated', data: { ...ofStrava, same_as: [] } };
    expect(await logged()).toMatchObject([{ type: 'activity.deleted', subject_id: ofPolar?.id }, alone]);
    await store.saveSummaries(open.database, polar, [anActivity({ id: 'q' })], new Date());
    await logged();
    await open.database.transaction(async (sql) => {
      await beginUnannouncedDeletion(sql, 'vendor');
      await sql.query("delete from activity where athlete_id = $1 and provider = 'polar'", [athleteId]);
    });
    expect(await logged()).toMatchObject([alone]);
  });

  it.each([
    ['start', { startTime: new Date(anActivity().startTime.getTime() + 61_000) }],
    ['duration', { elapsedTimeS: anActivity().elapsedTimeS * 2 }],
  ])(
    'an update that moves the %s of an activity away from its twin, or back to it, announces the twin as well',
    async (_, moved) => {
      await connectTwoVendors();
      const polar = { athleteId, provider: 'polar' } as const;
      await save();
      await store.saveSummaries(open.database, polar, [anActivity({ id: 'p' })], ASKED);
      await logged();
      const items = (await listed()) as Array<{ id: string; provider: string }>;
      const [ofStrava, ofPolar] = ['strava', 'polar'].map(
        (vendor) => items.find(({ provider }) => provider === vendor)?.id,
      );

      await save(moved, LATER);
      expect(await logged()).toMatchObject([
        { type: 'activity.updated', subject_id: ofStrava, data: { same_as: [] } },
        { type: 'activity.updated', subject_id: ofPolar, data: { same_as: [] } },
      ]);
      await save({}, LATER);
      expect(await logged()).toMatchObject([
        { type: 'activity.updated', subject_id: ofStrava, data: { same_as: [ofPolar] } },
        { type: 'activity.updated', subject_id: ofPolar, data: { same_as: [ofStrava] } },
      ]);
    },
  );

  it('an update that leaves an activity near its twin announces no twin', async () => {
    await connectTwoVendors();
    await save();
    await store.saveSummaries(
      open.database,
      { athleteId, provider: 'polar' },
      [anActivity({ id: 'p' })],
      ASKED,
    );
    await logged();
    const startTime = new Date(anActivity().startTime.getTime() + 59_000);
    await save({ startTime, name: 'Evening Run' }, LATER);
    expect(await logged()).toMatchObject([
      { type: 'activity.updated', data: { provider: 'strava', name: 'Evening Run' } },
    ]);
  });
});
