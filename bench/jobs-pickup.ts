import type pg from 'pg';
import { Jobs } from '#processing';
import { timeScale } from '#platform';
import { workerSettings } from '../libs/processing/src/worker/worker-settings.js';
import { openPool } from '../test/harness/test-database.js';
import { type Finding, percentile } from './results.js';
import { workerOn } from './jobs-contenders.js';
import { clear, newSample } from './jobs-sample.js';

const TIMED = 1_000;
const WARM_UP = 50;

/** Measures the time from the enqueueing call to the start of the processor. The jobs run one after the other on an idle worker. */
export async function pickupFindings(
  databaseUrl: string,
  admin: pg.Client,
): Promise<{ findings: Finding[]; raw: unknown }> {
  const { athleteId, activityIds } = await newSample(admin, TIMED + WARM_UP);
  await clear(admin);
  const mine = await openPool(databaseUrl);
  const theirs = await openPool(databaseUrl);
  let onBegun: () => void = () => undefined;
  const worker = workerOn(theirs.database, databaseUrl, workerSettings(timeScale(1)).concurrency, () =>
    onBegun(),
  );
  worker.start();
  const jobs = new Jobs(mine.database);
  const times: number[] = [];
  for (const activityId of activityIds) {
    const begun = new Promise<number>((resolve) => (onBegun = () => resolve(performance.now())));
    const askedAt = performance.now();
    await jobs.enqueue({ athleteId, activityIds: [activityId], kind: 'auto_poll', requestedBy: 'bench' });
    times.push((await begun) - askedAt);
    await ended(admin, activityId);
  }
  await worker.stop();
  await Promise.all([mine.close(), theirs.close()]);
  const timed = times.slice(WARM_UP);
  const [p50, p99] = [percentile(timed, 0.5), percentile(timed, 0.99)];
  const findings = [
    {
      what: 'pickup of an idle worker, p50',
      measured: `${p50.toFixed(2)} ms`,
      goal: '≤ 3 ms',
      met: p50 <= 3,
    },
    {
      what: 'pickup of an idle worker, p99',
      measured: `${p99.toFixed(2)} ms`,
      goal: '≤ 15 ms',
      met: p99 <= 15,
    },
  ];
  return { findings, raw: timed };
}

/** Waits until the job is stored as succeeded, so that the worker is idle for the next job. */
async function ended(admin: pg.Client, activityId: string): Promise<void> {
  for (;;) {
    const { rowCount } = await admin.query(
      `select 1 from jobs where activity_id = $1 and status = 'succeeded'`,
      [activityId],
    );
    if (rowCount) return;
  }
}
