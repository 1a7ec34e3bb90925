import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { beginning } from './import-cursor.js';
import { type ImportStatus, type ImportType, type Turn } from './import-job.js';
import { ImportJobs } from './import-jobs.js';

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

  async function begun(type: ImportType = 'full'): Promise<{ athleteId: string; turn: Turn }> {
    const athleteId = await anAthlete();
    const { job } = await jobs.createOrFind(athleteId, type, null);
    return { athleteId, turn: (await jobs.claim(job.id, 0, LEASE_MS)) as Turn };
  }

  it('has one unfinished import per athlete and type, whoever asks at once', async () => {
    const athleteId = await anAthlete();
    const asked = Array.from({ length: 8 }, () => jobs.createOrFind(athleteId, 'full', null));
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect((await jobs.createOrFind(athleteId, 'incremental', null)).isNew).toBe(true);
  });

  it('gives a turn to one of many workers', async () => {
    const athleteId = await anAthlete();
    const { job } = await jobs.createOrFind(athleteId, 'full', null);
    const turns = await Promise.all(Array.from({ length: 8 }, () => jobs.claim(job.id, 0, LEASE_MS)));
    expect(turns.filter((turn) => turn)).toHaveLength(1);
  });

  it('lets one import of an athlete run at a time', async () => {
    const athleteId = await anAthlete();
    const full = await jobs.createOrFind(athleteId, 'full', null);
    const incremental = await jobs.createOrFind(athleteId, 'incremental', null);
    const ids = [full.job.id, incremental.job.id];
    const turns = await Promise.all(ids.map((id) => jobs.claim(id, 0, LEASE_MS)));
    const running = turns.filter((turn) => turn !== undefined);
    expect(running).toHaveLength(1);
    await jobs.finish(open.database, running[0] as Turn, { status: 'completed' });
    const second = await Promise.all(ids.map((id) => jobs.claim(id, 0, LEASE_MS)));
    expect(second.filter((turn) => turn)).toHaveLength(1);
  });

  it('refuses everything of a turn that is over', async () => {
    const { athleteId, turn } = await begun();
    await expireLease(turn.id);
    const next = await jobs.claim(turn.id, turn.turn, LEASE_MS);
    expect(next?.turn).toBe(turn.turn + 1);
    expect(await jobs.renew(turn, LEASE_MS)).toBe(false);
    expect(await jobs.moveOn(open.database, turn, beginning)).toBe(false);
    expect(
      await jobs.suspend(turn, { status: 'queued', forMs: 0, error: null, failures: 0, accidents: 0 }),
    ).toBeUndefined();
    expect(await jobs.finish(open.database, turn, { status: 'completed' })).toBe(false);
    expect(await statusOf(athleteId, turn.id)).toBe('started');
    expect(await jobs.renew(next as Turn, LEASE_MS)).toBe(true);
  });

  it('does not wake one that waits for its window, and does once the window is there', async () => {
    const { turn } = await begun();
    await jobs.suspend(turn, {
      status: 'rate_limited',
      forMs: 60_000,
      error: null,
      failures: 0,
      accidents: 0,
    });
    expect(await jobs.claim(turn.id, turn.turn, LEASE_MS)).toBeUndefined();
    expect((await jobs.due(100)).map(({ id }) => id)).not.toContain(turn.id);
    await open.database.query('update import_jobs set retry_after = now() where id = $1', [turn.id]);
    expect((await jobs.due(100)).map(({ id }) => id)).toContain(turn.id);
    expect(await jobs.claim(turn.id, turn.turn, LEASE_MS)).toBeDefined();
  });

  it('begins an incremental import some days before the last complete sync', async () => {
    const athleteId = await anAthlete();
    await open.database.query('insert into strava_sync (athlete_id, last_strava_sync_at) values ($1, $2)', [
      athleteId,
      '2026-11-10T08:00:00Z',
    ]);
    const { job } = await jobs.createOrFind(athleteId, 'incremental', null);
    expect(job.since?.toISOString()).toBe('2026-11-07T08:00:00.000Z');
    expect((await jobs.createOrFind(athleteId, 'full', null)).job.since).toBeNull();
  });

  it('cancels what is unfinished, and nothing else', async () => {
    const { athleteId, turn } = await begun();
    expect(await jobs.cancel(await anAthlete(), turn.id)).toBe(false);
    expect(await jobs.cancel(athleteId, turn.id)).toBe(true);
    expect(await jobs.cancel(athleteId, turn.id)).toBe(false);
    expect(await jobs.moveOn(open.database, turn, beginning)).toBe(false);
  });

  // Each row: what may be done in a state, and what state it leads to. Everything else changes nothing.
  const TRANSITIONS: Record<ImportStatus, Partial<Record<Deed, ImportStatus>>> = {
    queued: { claim: 'started', cancel: 'cancelled' },
    started: {
      moveOn: 'started',
      handBack: 'started',
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

  const DEEDS = [
    'claim',
    'moveOn',
    'handBack',
    'limit',
    'pause',
    'complete',
    'fail',
    'cancel',
    'expire',
  ] as const;
  type Deed = (typeof DEEDS)[number];

  it('goes only the ways that are drawn, whoever does what in whatever order', async () => {
    const deeds = fc.array(fc.tuple(fc.constantFrom(...DEEDS), fc.nat(2)), { minLength: 1, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(deeds, async (history) => {
        const athleteId = await anAthlete();
        const { job } = await jobs.createOrFind(athleteId, 'full', null);
        let status: ImportStatus = 'queued';
        let isLeased = false;
        let current = 0;
        // Three workers, each with the turn it last got, which may be over.
        const held: Array<Turn | undefined> = [];
        for (const [deed, worker] of history) {
          const turn = held[worker] ?? { ...job, failures: 0, accidents: 0, turn: -1, generation: 0 };
          const isCurrent = turn.turn === current;
          await perform(deed, worker);
          if (deed === 'expire') isLeased = false;
          else if (deed === 'claim') {
            if (status !== 'started' ? TRANSITIONS[status].claim : !isLeased) {
              status = 'started';
              isLeased = true;
              current += 1;
            }
          } else if (deed === 'cancel' || isCurrent) {
            const next: ImportStatus | undefined = TRANSITIONS[status][deed];
            if (next && deed === 'cancel') current += 1;
            if (next && deed !== 'moveOn') isLeased = false;
            status = next ?? status;
          }
          expect(await statusOf(athleteId, job.id)).toBe(status);
          expect(held[worker]?.turn ?? 0).toBeLessThanOrEqual(current);

          async function perform(what: Deed, by: number): Promise<void> {
            const suspension = { forMs: 0, error: null, failures: 0, accidents: 0 };
            switch (what) {
              case 'claim':
                held[by] = (await jobs.claim(job.id, current, LEASE_MS)) ?? held[by];
                return;
              case 'moveOn':
                await jobs.moveOn(open.database, turn, beginning);
                return;
              case 'handBack':
                return jobs.handBack(turn);
              case 'limit':
                await jobs.suspend(turn, { status: 'rate_limited', ...suspension });
                return;
              case 'pause':
                await jobs.suspend(turn, { status: 'queued', ...suspension });
                return;
              case 'complete':
                await jobs.finish(open.database, turn, { status: 'completed' });
                return;
              case 'fail':
                await jobs.finish(open.database, turn, { status: 'failed', error: 'x' });
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
      { numRuns: 60 },
    );
  });
});
