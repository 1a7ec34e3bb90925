import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Athletes, ConnectionCut } from '#connections';
import { type ActivitySource, type Aspect, ok } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { type ActivityEvents } from './activity-events.js';
import { activityEvents, anActivity, atStrava, eventOf } from './activities.harness.js';
import { ActivityStore } from './activity-store.js';

const now = new Date('2026-11-18T12:00:00Z');

describe('webhook changes of activities', () => {
  let open: OpenDatabase;
  let athletes: Athletes;
  let events: ActivityEvents;
  /** The ids of the activities at Strava. */
  const atVendor = new Set<string>();
  const source: Partial<ActivitySource> = {
    events: 'each change',
    activity: (_, id) =>
      Promise.resolve(
        atVendor.has(id) ? ok(anActivity({ id })) : { kind: 'gone', reason: 'Strava has no such activity' },
      ),
  };
  beforeAll(async () => {
    open = await openTestDatabase();
    athletes = new Athletes(open.database);
    events = activityEvents(open.database, source);
  });
  afterAll(() => open.close());

  async function ownerOf(athleteId: string) {
    return { athleteId, generation: await athletes.generationOf(athleteId), connectedAt: '' };
  }
  type Owner = Awaited<ReturnType<typeof ownerOf>>;

  const disconnect = (athleteId: string) =>
    open.database.query(`update athlete set generation = nextval('athlete_generation') where id = $1`, [
      athleteId,
    ]);

  async function idsOf(athleteId: string): Promise<string[]> {
    const statement = 'select external_activity_id from activity where athlete_id = $1';
    const { rows } = await open.database.query<{ external_activity_id: string }>(statement, [athleteId]);
    return rows.map(({ external_activity_id }) => external_activity_id);
  }

  const handle = async (owner: Owner, aspect: Aspect, id: string) =>
    events.handle(owner, eventOf(aspect, id, await open.database.now()));
  const add = (owner: Owner, id: string) => {
    atVendor.add(id);
    return handle(owner, 'create', id);
  };
  const remove = (owner: Owner, id: string) => {
    atVendor.delete(id);
    return handle(owner, 'delete', id);
  };

  it('a delete event removes its activity and no other', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    await add(owner, '1');
    await add(owner, '2');
    await remove(owner, '1');
    expect(await idsOf(owner.athleteId)).toEqual(['2']);
  });

  it('events of a disconnected athlete neither add nor remove activities', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    await add(owner, '1');
    await disconnect(owner.athleteId);
    await expect(remove(owner, '1')).rejects.toThrow(ConnectionCut);
    await expect(add(owner, '2')).rejects.toThrow(ConnectionCut);
    expect(await idsOf(owner.athleteId)).toEqual(['1']);
  });

  it('a delete event removes its activity, also while an older list with that activity is being stored', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    let removed: Promise<unknown> | undefined;
    await athletes.inGeneration(owner.athleteId, owner.generation, async (sql) => {
      await new ActivityStore().saveSummaries(sql, atStrava(owner.athleteId), [anActivity({ id: '1' })], now);
      removed = remove(owner, '1');
      await sql.query('select pg_sleep(0.1)');
    });
    await removed;
    expect(await idsOf(owner.athleteId)).toEqual([]);
  });

  it('simultaneous delete events remove all their activities', async () => {
    const owner = await ownerOf(await newAthlete(open.database));
    const ids = ['1', '2', '3', '4'];
    for (const id of ids) await add(owner, id);
    await Promise.all(ids.map((id) => remove(owner, id)));
    expect(await idsOf(owner.athleteId)).toEqual([]);
  });
});
