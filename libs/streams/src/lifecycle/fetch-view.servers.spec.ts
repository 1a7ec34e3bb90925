import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { aStored, connect, FETCHED_AT, type Given, newActivity } from '../streams.harness.js';
import { FetchViews } from './fetch-view.js';
import { STALE_AFTER_MS } from './retry-policy.js';
import { StreamFetches } from './stream-fetches.js';

const MINUTE_MS = 60_000;

describe('the fetch of one activity, as operators see it', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athlete: string;
  let views: FetchViews;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    athlete = await newAthlete(sql);
    await connect(sql, athlete, 'needs_reauth');
    views = new FetchViews(sql, timeScale(1));
  });
  afterAll(() => open.close());
  const viewOf = async (given: Given) => views.find(await newActivity(sql, athlete, given));

  it('a pending fetch is due now and has all its attempts', async () => {
    const view = await viewOf({ status: 'pending' });
    expect(view).toMatchObject({
      athlete_id: athlete,
      provider: 'strava',
      connection_status: 'needs_reauth',
      stream: { status: 'pending', attempts_left: 3, is_due: true, next_attempt_at: null, stored: null },
    });
  });

  it('a failed fetch says when the next attempt comes, and that none comes after the third', async () => {
    const failed = { status: 'failed', error: 'answered 500', attempted: '10 seconds' } as const;
    const { stream } = await viewOf({ ...failed, retries: 1 });
    expect(stream).toMatchObject({ error: 'answered 500', attempts_left: 2, is_due: false });
    expect(stream.next_attempt_at!.getTime() - stream.attempted_at!.getTime()).toBe(MINUTE_MS);
    expect((await viewOf({ ...failed, retries: 3 })).stream).toMatchObject({
      attempts_left: 0,
      next_attempt_at: null,
      is_due: false,
    });
  });

  it('a fetch under way says from when on its worker counts as dead', async () => {
    const { stream } = await viewOf({ status: 'fetching' });
    expect(stream.given_up_at!.getTime() - stream.attempted_at!.getTime()).toBe(STALE_AFTER_MS);
    expect(stream).toMatchObject({ next_attempt_at: null, is_due: false });
  });

  it('a deferred fetch is due at the time of its deferral', async () => {
    const { stream } = await viewOf({ status: 'deferred', deferredFor: '15 minutes' });
    expect(stream.next_attempt_at).toEqual(stream.deferred_until);
  });

  it('stored streams are shown with their points and channels, also while new ones are fetched', async () => {
    const id = await newActivity(sql, athlete);
    const fetches = new StreamFetches(sql, timeScale(1));
    await fetches.succeed((await fetches.claim(id))!, 'strava', FETCHED_AT, await aStored(id));
    await fetches.reset(id);
    expect((await views.find(id)).stream).toMatchObject({
      status: 'pending',
      stored: { point_count: 2, channels: ['time', 'watts'], fetched_at: FETCHED_AT },
    });
  });

  it('throws NotFound for an unknown activity', () =>
    expect(views.find(randomUUID())).rejects.toThrow(NotFound));
});
