import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { Jobs, Runs } from '#processing';
import { type Database, timeScale } from '#platform';
import { ClaimWindow } from '../libs/processing/src/worker/claim-window.js';
import { StreamFetches } from '../libs/streams/src/lifecycle/stream-fetches.js';
import { verify } from './harness.js';
import { success } from './jobs-rates.js';
import { newSample } from './jobs-sample.js';
import { activities } from './streams-claims.js';

const OWNER = 'worker';
const LEASE_MS = 30_000;
// These values are the worker's.
const MOST = 16;
const LOOK_EVERYWHERE_EACH_MS = 5_000;

/** A database whose claims are measured. */
export interface ClaimSide {
  readonly url: string;
  readonly admin: pg.Client;
  /** One session. */
  readonly database: Database;
  readonly close: () => Promise<void>;
}

type Sides = readonly [ClaimSide, ClaimSide];

/** The times of `count` claims of streams at each side, in ms. The sides take turns. */
export async function claimStreams(sides: Sides, count: number): Promise<[number[], number[]]> {
  const works = await Promise.all(
    sides.map(async ({ admin, database }) => {
      const fetches = new StreamFetches(database, timeScale(1));
      const athleteId = randomUUID();
      await activities(admin, count, 'pending', athleteId);
      await settle(admin);
      return async () => {
        const [due] = await fetches.due({ athleteId, provider: 'strava' }, 1);
        const begunAt = performance.now();
        const claim = due && (await fetches.claim(due.id));
        const ms = performance.now() - begunAt;
        verify('streams claimed', claim ? 1 : 0, 1);
        return ms;
      };
    }),
  );
  return inTurn(works, count);
}

/** The times of `count` claims of jobs at each side, in ms. Each job is enqueued, claimed, started and completed. */
export async function claimJobs(sides: Sides, count: number, eachMs = 0): Promise<[number[], number[]]> {
  const works = await Promise.all(
    sides.map(async ({ admin, database }) => {
      const [jobs, runs] = [new Jobs(database), new Runs(database)];
      const { athleteId, activityIds } = await newSample(admin, count);
      await settle(admin);
      const window = new ClaimWindow(
        (most, sinceMs) => runs.claim(OWNER, most, LEASE_MS, sinceMs),
        LOOK_EVERYWHERE_EACH_MS,
      );
      const request = { athleteId, kind: 'auto_poll', requestedBy: 'bench', force: true } as const;
      return async (n: number) => {
        await jobs.enqueue({ ...request, activityIds: [activityIds[n] ?? ''] });
        const begunAt = performance.now();
        const claims = await window.take(MOST);
        const ms = performance.now() - begunAt;
        verify('jobs claimed', claims.length, 1);
        await runs.start(OWNER, claims);
        await runs.complete(OWNER, claims.map(success));
        return ms;
      };
    }),
  );
  return inTurn(works, count, eachMs);
}

/** The rows that a measurement needs are inserted before it; autovacuum must not find them during it. */
async function settle(admin: pg.Client): Promise<void> {
  await admin.query('truncate change_outbox');
  await admin.query('vacuum analyze activity, stream_count_change');
}

async function inTurn(
  works: ReadonlyArray<(n: number) => Promise<number>>,
  count: number,
  eachMs = 0,
): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  const begunAt = performance.now();
  for (let n = 0; n < count; n += 1) {
    for (const [side, work] of works.entries()) times[side as 0 | 1].push(await work(n));
    const restMs = begunAt + (n + 1) * eachMs - performance.now();
    if (restMs > 0) await pause(restMs);
  }
  return times;
}
