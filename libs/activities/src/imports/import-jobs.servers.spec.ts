import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { modelRuns } from '../../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { beginning } from './import-cursor.js';
import { type ImportStatus, type ImportType, type ImportClaim } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { anActivity, atStrava } from '../activities.harness.js';
import { ActivityStore } from '../activity-store.js';

const LEASE_MS = 60_000;

describe('the rows of imports', () => {
  let open: OpenDatabase;
  let jobs: ImportJobs;
  beforeAll(async () => {
    open = await openTestDatabase();
    jobs = new ImportJobs(open.database);
  });
  afterAll(() => open.close());

  const anAthlete = () => newAthlete(open.database);

  const statusOf = async (athleteId: string, id: string) => (await jobs.find(athleteId, id))?.status;
  const expireLease = (id: string) =>
    open.database.query(`update import_jobs set leased_until = now() - interval '1 second' where id = $1`, [
      id,
    ]);

  async function begun(type: ImportType = 'full'): Promise<{ athleteId: string; claim: ImportClaim }> {
    const athleteId = await anAthlete();
    const { job } = await jobs.createOrFind(atStrava(athleteId), type, null);
    return { athleteId, claim: (await jobs.claim(job.id, '0', LEASE_MS)) as ImportClaim };
  }

  it('an athlete’s imports from two vendors are two, and run at the same time', async () => {
    const athleteId = await anAthlete();
    const owners = [atStrava(athleteId), { athleteId, provider: 'oura' }] as const;
    const claims = [];
    for (const owner of owners) {
      const { job, isNew } = await jobs.createOrFind(owner, 'full', null);
      expect([job.provider, isNew]).toEqual([owner.provider, true]);
      expect((await jobs.due(1_000)).map(({ id }) => id)).toContain(job.id);
      claims.push(await jobs.claim(job.id, '0', LEASE_MS));
    }
    expect(claims.map((claim) => claim?.provider)).toEqual(['strava', 'oura']);
  });

  it('an import counts the activities and the calls of its vendor only', async () => {
    const { athleteId, claim } = await begun();
    await new ActivityStore().saveSummaries(
      open.database,
      { athleteId, provider: 'oura' },
      [anActivity({ id: '1' })],
      new Date(0),
    );
    expect((await jobs.scope(open.database, claim)).total).toBe(0);
    expect((await jobs.pendingCalls('strava')).get(athleteId)).toBeUndefined();
    await jobs.createOrFind({ athleteId, provider: 'oura' }, 'full', null);
    expect((await jobs.pendingCalls('oura')).get(athleteId)).toBe(1);
  });

  it('simultaneous requests create one unfinished import per athlete and type', async () => {
    const athleteId = await anAthlete();
    const asked = Array.from({ length: 8 }, () => jobs.createOrFind(atStrava(athleteId), 'full', null));
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect((await jobs.createOrFind(atStrava(athleteId), 'incremental', null)).isNew).toBe(true);
  });

  it('only one of many workers that claim an import gets the claim', async () => {
    const athleteId = await anAthlete();
    const { job } = await jobs.createOrFind(atStrava(athleteId), 'full', null);
    const claims = await Promise.all(Array.from({ length: 8 }, () => jobs.claim(job.id, '0', LEASE_MS)));
    expect(claims.filter((claim) => claim)).toHaveLength(1);
  });

  it('imports of one athlete run one at a time', async () => {
    const athleteId = await anAthlete();
    const full = await jobs.createOrFind(atStrava(athleteId), 'full', null);
    const incremental = await jobs.createOrFind(atStrava(athleteId), 'incremental', null);
    const ids = [full.job.id, incremental.job.id];
    const claims = await Promise.all(ids.map((id) => jobs.claim(id, '0', LEASE_MS)));
    const running = claims.filter((claim) => claim !== undefined);
    expect(running).toHaveLength(1);
    await jobs.finish(open.database, running[0] as ImportClaim, { status: 'completed' });
    const second = await Promise.all(ids.map((id) => jobs.claim(id, '0', LEASE_MS)));
    expect(second.filter((claim) => claim)).toHaveLength(1);
  });

  it('all writes of a worker whose claim of an import is over are rejected', async () => {
    const { athleteId, claim } = await begun();
    await expireLease(claim.id);
    const next = await jobs.claim(claim.id, claim.fence, LEASE_MS);
    expect(next?.fence).toBe(`${Number(claim.fence) + 1}`);
    expect(await jobs.renew(claim, LEASE_MS)).toBe(false);
    expect(await jobs.moveOn(open.database, claim, beginning)).toBe(false);
    expect(
      await jobs.suspend(open.database, claim, {
        status: 'queued',
        forMs: 0,
        error: null,
        failures: 0,
        accidents: 0,
      }),
    ).toBeUndefined();
    expect(await jobs.finish(open.database, claim, { status: 'completed' })).toBeUndefined();
    expect(await statusOf(athleteId, claim.id)).toBe('started');
    expect(await jobs.renew(next as ImportClaim, LEASE_MS)).toBe(true);
  });

  it('an import is not claimed before its retry_after, and is claimed then', async () => {
    const { claim } = await begun();
    await jobs.suspend(open.database, claim, {
      status: 'rate_limited',
      forMs: 60_000,
      error: null,
      failures: 0,
      accidents: 0,
    });
    expect(await jobs.claim(claim.id, claim.fence, LEASE_MS)).toBeUndefined();
    expect((await jobs.due(100)).map(({ id }) => id)).not.toContain(claim.id);
    await open.database.query('update import_jobs set retry_after = now() where id = $1', [claim.id]);
    expect((await jobs.due(100)).map(({ id }) => id)).toContain(claim.id);
    expect(await jobs.claim(claim.id, claim.fence, LEASE_MS)).toBeDefined();
  });

  it('an incremental import begins three days before the last complete sync', async () => {
    const athleteId = await anAthlete();
    await open.database.query(
      `insert into activity_sync (athlete_id, provider, last_sync_at) values ($1, 'strava', $2)`,
      [athleteId, '2026-11-10T08:00:00Z'],
    );
    const { job } = await jobs.createOrFind(atStrava(athleteId), 'incremental', null);
    expect(job.since?.toISOString()).toBe('2026-11-07T08:00:00.000Z');
    expect((await jobs.createOrFind(atStrava(athleteId), 'full', null)).job.since).toBeNull();
    await jobs.cancel(athleteId, job.id);
    const whole = { isListedWhole: true };
    expect((await jobs.createOrFind(atStrava(athleteId), 'incremental', null, whole)).job.since).toBeNull();
  });

  it('cancel ends an unfinished import once, and no import of another athlete', async () => {
    const { athleteId, claim } = await begun();
    expect(await jobs.cancel(await anAthlete(), claim.id)).toBeUndefined();
    expect(await jobs.cancel(athleteId, claim.id)).toMatchObject({ id: claim.id, status: 'cancelled' });
    expect(await jobs.cancel(athleteId, claim.id)).toBeUndefined();
    expect(await jobs.moveOn(open.database, claim, beginning)).toBe(false);
  });

  // Each row: the actions that a state allows, and the state that follows. All other actions change nothing.
  const TRANSITIONS: Record<ImportStatus, Partial<Record<Action, ImportStatus>>> = {
    queued: { claim: 'started', cancel: 'cancelled' },
    started: {
      moveOn: 'started',
      release: 'started',
      limit: 'rate_limited',
      pause: 'queued',
      complete: 'completed',
      fail: 'failed',
      cancel: 'cancelled',
    },
    rate_limited: { claim: 'started', cancel: 'cancelled' },
    completed: {},
    failed: {},
    cancelled: {},
  };

  const ACTIONS = [
    'claim',
    'moveOn',
    'release',
    'limit',
    'pause',
    'complete',
    'fail',
    'cancel',
    'expire',
  ] as const;
  type Action = (typeof ACTIONS)[number];

  it('an import makes only the listed transitions, for any actions of three workers in any order (model)', async () => {
    const actions = fc.array(fc.tuple(fc.constantFrom(...ACTIONS), fc.nat(2)), {
      minLength: 1,
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(actions, async (history) => {
        const athleteId = await anAthlete();
        const { job } = await jobs.createOrFind(atStrava(athleteId), 'full', null);
        let status: ImportStatus = 'queued';
        let isLeased = false;
        let current = 0;
        // Three workers, each with its last claim, which may be over.
        const held: Array<ImportClaim | undefined> = [];
        for (const [action, worker] of history) {
          const claim = held[worker] ?? {
            ...job,
            failures: 0,
            accidents: 0,
            fence: '-1',
            generation: 0,
            provider: 'strava',
            scopes: [],
          };
          const isCurrent = claim.fence === `${current}`;
          await perform(action, worker);
          if (action === 'expire') isLeased = false;
          else if (action === 'claim') {
            if (status !== 'started' ? TRANSITIONS[status].claim : !isLeased) {
              status = 'started';
              isLeased = true;
              current += 1;
            }
          } else if (action === 'cancel' || isCurrent) {
            const next: ImportStatus | undefined = TRANSITIONS[status][action];
            if (next && action === 'cancel') current += 1;
            if (next && action !== 'moveOn') isLeased = false;
            status = next ?? status;
          }
          expect(await statusOf(athleteId, job.id)).toBe(status);
          expect(Number(held[worker]?.fence ?? 0)).toBeLessThanOrEqual(current);

          async function perform(named: Action, by: number): Promise<void> {
            const suspension = { forMs: 0, error: null, failures: 0, accidents: 0 };
            switch (named) {
              case 'claim':
                held[by] = (await jobs.claim(job.id, `${current}`, LEASE_MS)) ?? held[by];
                return;
              case 'moveOn':
                await jobs.moveOn(open.database, claim, beginning);
                return;
              case 'release':
                await jobs.release(claim);
                return;
              case 'limit':
                await jobs.suspend(open.database, claim, { status: 'rate_limited', ...suspension });
                return;
              case 'pause':
                await jobs.suspend(open.database, claim, { status: 'queued', ...suspension });
                return;
              case 'complete':
                await jobs.finish(open.database, claim, { status: 'completed' });
                return;
              case 'fail':
                await jobs.finish(open.database, claim, { status: 'failed', error: 'x' });
                return;
              case 'cancel':
                await jobs.cancel(athleteId, job.id);
                return;
              case 'expire':
                await expireLease(job.id);
            }
          }
        }
      }),
      modelRuns(60),
    );
  });
});
