import { register } from 'prom-client';
import {
  Changes,
  createLogger,
  type RedisClient,
  type Database,
  OperatorActions,
  type Sweeps,
  timeScale,
} from '#platform';
import { Ledger } from '#rate-limit';
import { type ProductConfig } from '#vendors';
import { atStrava } from '../libs/activities/src/activities.harness.js';
import { ImportGauge } from '../libs/activities/src/imports/import-gauge.js';
import { ImportJobs } from '../libs/activities/src/imports/import-jobs.js';
import { HistoryRows } from '../libs/activities/src/reconcile/history-rows.js';
import { Retention } from '../libs/activities/src/retention.js';
import { ConnectionGauges } from '../libs/connections/src/connection-gauges.js';
import { JobList } from '../libs/processing/src/lifecycle/job-list.js';
import { Jobs } from '../libs/processing/src/lifecycle/jobs.js';
import { Runs } from '../libs/processing/src/lifecycle/runs.js';
import { ConfigSnapshots } from '../libs/processing/src/settings/config-snapshots.js';
import { JobGauge } from '../libs/processing/src/worker/job-gauge.js';
import { ChangeNews } from '../libs/push/src/change-news.js';
import { ChangeFeed } from '../libs/push/src/feed/change-feed.js';
import { ChangeRetention } from '../libs/push/src/relay/change-retention.js';
import { RelayGauges } from '../libs/push/src/relay/relay-metrics.js';
import { NightRetention } from '../libs/sleep/src/records/night-retention.js';
import { ReconciliationStore } from '../libs/sleep/src/reconcile/reconciliation-store.js';
import { StreamCounts } from '../libs/streams/src/counts/stream-counts.js';
import { StreamGauges } from '../libs/streams/src/counts/gauges.js';
import { SettledStreams } from '../libs/streams/src/lifecycle/settled-streams.js';
import { StreamFetches } from '../libs/streams/src/lifecycle/stream-fetches.js';
import { EventQueue, purgeEvents } from '../libs/webhooks/src/event-queue.js';
import { floodOf } from '../libs/webhooks/src/events.harness.js';
import { InboxGauges } from '../libs/webhooks/src/inbox-gauges.js';
import { deletionOf } from './growth-deletion.js';
import { type Filled } from './growth-rows.js';

const DAY_MS = 86_400_000;
const LEASE_MS = 30_000;
const PAGE = 50;

/** A piece of work, measured at each size. */
export interface Work {
  readonly group: string;
  readonly what: string;
  /** Not measured; runs before each measurement. */
  readonly before?: () => Promise<unknown>;
  readonly run: (n: number) => Promise<unknown>;
}

type NamedRuns = Readonly<Record<string, Work['run']>>;

export const logger = createLogger({ level: 'silent', process: 'bench' });
// Sweeps that never run: the benchmark runs the work itself.
const idle = { every: () => undefined } as unknown as Sweeps;

/** The statements of the workers. They run on one session. `redis` wakes the readers of changes. */
export async function statements(
  sql: Database,
  redis: RedisClient,
  filled: Filled,
  changes: number,
): Promise<Work[]> {
  const owners = Array.from({ length: 100 }, (_, n) => n + 1);
  await floodOf(sql, { owners, each: 10 });
  const groups: Record<string, NamedRuns> = {
    processing: processing(sql, filled),
    'streams and imports': fetching(sql, filled),
    'log of changes': await log(sql, redis, filled, changes),
    'sweeps and clean-up': sweeps(sql),
    gauges: gauges(sql),
    'one athlete leaves': { 'delete all rows of an athlete': deletionOf(sql, filled.leaverId) },
  };
  return Object.entries(groups).flatMap(([group, runs]) =>
    Object.entries(runs).map(([what, run]) => ({ group, what, run })),
  );
}

function processing(sql: Database, { readerId, activityIds }: Filled): NamedRuns {
  const [jobs, runs, list] = [new Jobs(sql), new Runs(sql), new JobList(sql)];
  const settled = new SettledStreams();
  const activityAt = (n: number) => activityIds[n % activityIds.length] as string;
  const request = {
    athleteId: readerId,
    kind: 'manual_activity',
    requestedBy: 'bench',
    force: true,
  } as const;
  return {
    'request a job': (n) => jobs.enqueue({ ...request, activityIds: [activityAt(n)] }),
    'claim a job': () => runs.claim('bench', 1, LEASE_MS),
    'state of an activity': (n) => jobs.stateOf(readerId, activityAt(n)),
    'expired leases': () => runs.requeueExpired(),
    'how many wait': () => jobs.countWaiting(200),
    'discovery, nothing new': () => settled.find(sql, 200),
    'operators: a page of jobs': () => list.page({ limit: PAGE }),
    'operators: a page of failed jobs': () => list.page({ status: 'failed_permanent', limit: PAGE }),
  };
}

function fetching(sql: Database, { readerId, pendingIds }: Filled): NamedRuns {
  const fetches = new StreamFetches(sql, timeScale(1));
  const [counts, imports, ledger] = [new StreamCounts(sql), new ImportJobs(sql), new Ledger(sql, 'strava')];
  const entry = { userId: readerId, endpoint: 'streams', class: 'backfill', windowId: 1, dayId: 1 } as const;
  return {
    'due streams of an athlete': () => fetches.due(atStrava(readerId), 5),
    'claim streams': (n) => fetches.claim(pendingIds[n % pendingIds.length] ?? readerId),
    'stale claims': () => fetches.cleanUp(10 * 60_000),
    'fold the counts': () => counts.fold(),
    'counts of 1,000 athletes': () => counts.byAthlete(1_000),
    'due imports': () => imports.due(100),
    'begin and cancel an import': async () => {
      const { job } = await imports.createOrFind(atStrava(readerId), 'incremental', null);
      await imports.cancel(readerId, job.id);
    },
    'record a call': () => ledger.record(entry, 0),
    'count the calls, for a rebuild': () =>
      ledger.counts([1], [1], { nowMs: Date.now(), longestClosedMs: DAY_MS }, sql),
  };
}

async function log(
  sql: Database,
  redis: RedisClient,
  { readerId }: Filled,
  changes: number,
): Promise<NamedRuns> {
  const config = { redis: { url: process.env.REDIS_URL ?? '', keyPrefix: '' } };
  const log = new Changes(sql);
  const feed = new ChangeFeed(sql, new ChangeNews(log, config, redis, logger));
  const ofAll = { athleteId: undefined, types: undefined, limit: PAGE };
  const ofReader = { ...ofAll, athleteId: readerId };
  const [oldest, middle, head] = [
    undefined,
    await placeAt(sql, Math.floor(changes / 2)),
    await placeAt(sql, changes),
  ];
  const data = { name: 'Morning run' };
  const change = { type: 'import.completed', athleteId: readerId, subjectId: 'bench', data } as const;
  return {
    'a page, from the oldest': () => feed.page({ ...ofAll, after: oldest }),
    'a page, from the middle': () => feed.page({ ...ofAll, after: middle }),
    'a page of an athlete, from the middle': () => feed.page({ ...ofReader, after: middle }),
    'poll at the head': () => feed.page({ ...ofAll, after: head }),
    'commit a change and give it its place': async () => {
      await sql.transaction((inside) => log.record(inside, change));
      await log.sequence();
    },
  };
}

async function placeAt(sql: Database, seq: number) {
  const { rows } = await sql.query<{ id: string }>('select id from change where seq = $1', [seq]);
  return { seq, mark: rows[0]?.id.slice(0, 8) ?? '' };
}

function sweeps(sql: Database): NamedRuns {
  const scale = timeScale(1);
  const config = {
    vendors: { strava: { retentionDays: 30 } },
    changes: { retentionDays: 365 },
    // The oldest night is of 100,000 days ago.
    sleep: { historyDays: 90, retentionDays: 200_000 },
  } as unknown as ProductConfig;
  const [jobs, imports, fetches] = [new Jobs(sql), new ImportJobs(sql), new StreamFetches(sql, scale)];
  const histories = new HistoryRows(sql, scale);
  const nights = new ReconciliationStore(sql);
  return {
    'athletes with due streams': () => fetches.athletesWithDue(),
    'calls left of all athletes, for every ETA': () => new StreamCounts(sql).callsLeft('strava'),
    'new connections without an import': () => imports.neverImported(100, DAY_MS),
    'all connections without an import': () => imports.neverImported(100),
    'history to reconcile, none due': () => histories.claim('strava', 'each change', LEASE_MS),
    'nights to reconcile, none due': () => nights.claim('oura', { leaseMs: LEASE_MS, historyDays: 90 }),
    'claim a webhook event': () => new EventQueue('strava', sql).claim(LEASE_MS),
    'retention of activities, nothing due': () => new Retention(sql, idle, config, scale, logger).runOnce(),
    'retention of nights, nothing due': () => new NightRetention(sql, idle, config, logger).runOnce(),
    'retention of changes, nothing due': () => new ChangeRetention(sql, idle, config, scale).runOnce(),
    'purge of jobs, nothing due': () => jobs.purge(30 * DAY_MS),
    'purge of imports, nothing due': () => imports.purge(90 * DAY_MS),
    'purge of events, nothing due': () => purgeEvents(sql, 7 * DAY_MS),
    'purge of calls, nothing due': () => new Ledger(sql, 'strava').purge(8 * DAY_MS),
    'purge of operators’ actions, nothing due': () => new OperatorActions(sql).purge(365 * DAY_MS),
    'purge of settings, nothing due': () => new ConfigSnapshots(sql).purge(365 * DAY_MS),
  };
}

/** Each gauge as a scrape reads it. A new instance has no answer in its cache. */
function gauges(sql: Database): NamedRuns {
  const [jobs, imports] = [new Jobs(sql), new ImportJobs(sql)];
  const scraped = (names: string[], make: () => { onApplicationBootstrap(): void }) => async () => {
    make().onApplicationBootstrap();
    await Promise.all(names.map(async (name) => register.getSingleMetric(name)?.get()));
  };
  return {
    runtime_jobs: scraped(['runtime_jobs'], () => new JobGauge(jobs, logger)),
    import_jobs: scraped(['import_jobs'], () => new ImportGauge(imports, logger)),
    'stream_fetch_*': scraped(
      ['stream_fetch_activities', 'stream_fetch_failed_by_retry', 'stream_fetch_stuck_failed'],
      () => new StreamGauges(new StreamCounts(sql), idle, logger),
    ),
    'oauth_*': scraped(
      ['oauth_tokens_ending', 'oauth_connections_needing_reauth'],
      () => new ConnectionGauges(sql, logger),
    ),
    'webhook_inbox_*': scraped(
      ['webhook_inbox_waiting', 'webhook_inbox_overdue_seconds'],
      () => new InboxGauges(sql, logger),
    ),
    'changes_waiting, …_oldest_waiting_seconds': scraped(
      ['changes_waiting', 'changes_oldest_waiting_seconds'],
      () => new RelayGauges(sql, logger),
    ),
  };
}
