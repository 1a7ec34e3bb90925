import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Athletes, ConnectionCut } from '#connections';
import { createLogger } from '#platform';
import { type DetailedActivity, type Owner, type StravaClient } from '#strava';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { anActivity } from './activities.harness.js';
import { ActivityStore } from './activity-store.js';
import { LiveChanges } from './live-changes.js';

const now = new Date('2026-11-18T12:00:00Z');

describe('what Strava said of an athlete', () => {
  let open: OpenDatabase;
  let athletes: Athletes;
  let changes: LiveChanges;
  beforeAll(async () => {
    open = await openTestDatabase();
    athletes = new Athletes(open.database);
    const logger = createLogger({ level: 'silent', process: 'test' });
    const strava = {} as StravaClient;
    const clock = { nowMs: () => now.getTime() };
    changes = new LiveChanges(strava, athletes, new ActivityStore(), open.database, clock, logger);
  });
  afterAll(() => open.close());

  async function ownerOf(athleteId: string): Promise<Owner> {
    return { athleteId, generation: await athletes.generationOf(athleteId), connectedAt: '' };
  }

  const disconnect = (athleteId: string) =>
    open.database.query(`update athlete set generation = nextval('athlete_generation') where id = $1`, [
      athleteId,
    ]);

  async function idsOf(athleteId: string): Promise<string[]> {
    const statement = 'select external_activity_id from activity where athlete_id = $1';
    const { rows } = await open.database.query<{ external_activity_id: string }>(statement, [athleteId]);
    return rows.map(({ external_activity_id }) => external_activity_id);
  }

  const add = async (owner: Owner, detail: DetailedActivity) =>
    changes.activityChanged(owner, detail.id, now, 'create', { askedAt: now, detail });

  it('removes an activity that is gone', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    await add(owner, anActivity({ id: '1' }));
    await add(owner, anActivity({ id: '2' }));
    await changes.activityDeleted(owner, '1', now);
    expect(await idsOf(owner.athleteId)).toEqual(['2']);
  });

  it('neither adds nor removes anything once they have disconnected', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    await add(owner, anActivity({ id: '1' }));
    await disconnect(owner.athleteId);
    await expect(changes.activityDeleted(owner, '1', now)).rejects.toThrow(ConnectionCut);
    await expect(add(owner, anActivity({ id: '2' }))).rejects.toThrow(ConnectionCut);
    expect(await idsOf(owner.athleteId)).toEqual(['1']);
  });

  it('removes an activity also where a page listed before is being stored', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    let removed: Promise<void> | undefined;
    await athletes.inGeneration(owner.athleteId, owner.generation, async (sql) => {
      await new ActivityStore().saveSummaries(sql, owner.athleteId, [anActivity({ id: '1' })], now);
      removed = changes.activityDeleted(owner, '1', now);
      await sql.query('select pg_sleep(0.1)');
    });
    await removed;
    expect(await idsOf(owner.athleteId)).toEqual([]);
  });

  it('removes several at the same moment', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    const ids = ['1', '2', '3', '4'];
    for (const id of ids) await add(owner, anActivity({ id }));
    await Promise.all(ids.map((id) => changes.activityDeleted(owner, id, now)));
    expect(await idsOf(owner.athleteId)).toEqual([]);
  });
});
