import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, type Page } from 'playwright-core';
import { migrateUp } from '#platform';
import { startBrowser } from '../test/harness/browser.js';
import { JWT_SECRET, tokenFor } from '../test/harness/environment.js';
import { queryPool } from '../test/harness/query-pool.js';
import { fill } from './growth-rows.js';
import { processorSeconds, report, residentMegabytes, startChild } from './harness.js';
import { type Finding, median } from './results.js';

// The console in a browser, against an api with 1,000 athletes, of whom one has 10,000 activities.
const ATHLETES = 1_000;
const ACTIVITIES = 10_000;
const ROWS = 10_000;
const LOADS = 7;
const OPERATORS = 5;
const LIVE_MS = 60_000;
const SCROLL_PX = 2_500;
const MOST_KILOBYTES = 180;
const MOST_USABLE_MS = 1_000;
const LONGEST_TASK_MS = 50;
const MOST_ROWS = 100;
const MOST_OF_A_CORE = 0.01;
const SETTLED_MS = 15_000;

const databaseUrl = process.env.DATABASE_URL ?? '';
await migrateUp(databaseUrl);
const { readerId: athleteId } = await fill(databaseUrl, { activities: ROWS, athletes: ATHLETES, changes: 0 });
const sql = queryPool(databaseUrl);
await addHistory();
const api = await startChild('dist/apps/api/src/main.js', {
  PORT: '0',
  JWT_SECRET,
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
});
const pid = api.process.pid ?? 0;
await pause(SETTLED_MS);
const atRestMegabytes = residentMegabytes(pid);
const browser = await startBrowser();

const first = await firstView(browser);
const activities = await scrolled(browser, `/athletes/${athleteId}/activities`, ACTIVITIES);
const athletes = await scrolled(browser, '/athletes', ATHLETES);
const live = await liveCost(browser);
await browser.close();
await api.stop();
await sql.end();

await report({
  name: 'console',
  findings: [
    goal('scripts of the first view, gzip', first.kilobytes, MOST_KILOBYTES, 'kB'),
    goal(`overview usable, median of ${LOADS} first visits`, first.usableMs, MOST_USABLE_MS, 'ms'),
    goal('longest task, scrolling 10,000 activities', activities.longestTaskMs, LONGEST_TASK_MS, 'ms'),
    goal('most rows in the document', activities.mostRows, MOST_ROWS, ''),
    goal('longest task, scrolling 1,000 athletes', athletes.longestTaskMs, LONGEST_TASK_MS, 'ms'),
    goal('most rows in the document, athletes', athletes.mostRows, MOST_ROWS, ''),
    goal('share of a core, 5 operators, a change a second', live.share * 100, MOST_OF_A_CORE * 100, '%'),
    {
      what: 'api at rest, before its first request',
      measured: `${atRestMegabytes.toFixed(0)} MB`,
      goal: 'told',
      met: true,
    },
  ],
  raw: { first, activities, athletes, live, atRestMegabytes },
});

function goal(what: string, measured: number, most: number, unit: string): Finding {
  const shown = `${Number(measured.toFixed(2))} ${unit}`.trim();
  return { what, measured: shown, goal: `≤ ${most} ${unit}`.trim(), met: measured <= most };
}

/** `fill` gives each athlete ten activities; this one gets all the others. */
async function addHistory(): Promise<void> {
  await sql.query(
    `insert into activity (
       provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, detail_status, detail_stored_at, stream_fetch_status,
       first_seen_at, last_seen_at
     )
     select 'strava', $1, 'long-' || n, 'Morning run ' || n, case n % 5 when 0 then 'Ride' else 'Run' end,
       now() - n * interval '9 hours', 8000 + n % 4000, 2700 + n % 900, 2900, 90, false, false, 0, now(), 'stored', now(),
       'success', now(), now()
     from generate_series(1, $2::int) n`,
    [athleteId, ACTIVITIES],
  );
  await sql.query('analyze');
}

async function signedIn(of: Browser): Promise<Page> {
  const context = await of.newContext({ viewport: { width: 1280, height: 850 } });
  const page = await context.newPage();
  const authorization = `Bearer ${await tokenFor(`operator-${randomUUID()}`, { role: 'admin' })}`;
  const answer = await fetch(`${api.url}/v1/session/codes`, { method: 'POST', headers: { authorization } });
  const { code } = (await answer.json()) as { code: string };
  await page.goto(`${api.url}/console/account#code=${code}`);
  await page.getByRole('heading', { name: 'Account' }).waitFor();
  return page;
}

/** Each visit has an empty cache. Usable means that the limits of the vendors are drawn. */
async function firstView(of: Browser): Promise<{ kilobytes: number; usableMs: number; all: number[] }> {
  const all: number[] = [];
  let bytes = 0;
  for (let load = 0; load < LOADS; load += 1) {
    const page = await signedIn(of);
    const session = await page.context().newCDPSession(page);
    await session.send('Network.clearBrowserCache');
    const begunAt = performance.now();
    await page.goto(`${api.url}/console/overview`, { waitUntil: 'commit' });
    await page.getByRole('region', { name: 'Vendor limits' }).waitFor();
    all.push(performance.now() - begunAt);
    await page.waitForLoadState('networkidle').catch(() => undefined);
    const scripts = await page.evaluate<string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))",
    );
    bytes = scripts.reduce((sum, url) => sum + statSync(`dist${new URL(url).pathname}.gz`).size, 0);
    await page.context().close();
  }
  return { kilobytes: bytes / 1_000, usableMs: median(all), all };
}

interface Scrolled {
  /** By processor time, which other programs of the machine do not lengthen. */
  readonly longestTaskMs: number;
  readonly mostRows: number;
}

/** Scrolls a list to its end, as a wheel does. The pages of the list are loaded meanwhile. */
async function scrolled(of: Browser, path: string, rows: number): Promise<Scrolled> {
  const page = await signedIn(of);
  await page.goto(`${api.url}/console${path}`);
  await page.getByRole('grid').waitFor();
  // The tasks of the first view belong to it.
  await pause(1_000);
  await page.evaluate('window.mostRows = 0');
  await of.startTracing(page, { categories: ['toplevel', '__metadata'] });
  for (;;) {
    const isAtEnd = await page.evaluate<boolean>(`new Promise((resolve) => requestAnimationFrame(() => {
      const list = document.querySelector('.table-scroll');
      list.scrollBy(0, ${SCROLL_PX});
      window.mostRows = Math.max(window.mostRows, document.querySelectorAll('tbody tr').length);
      const count = Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount'));
      resolve(count > ${rows} && list.scrollTop + list.clientHeight >= list.scrollHeight - 1);
    }))`);
    if (isAtEnd) break;
    await pause(16);
  }
  const trace = JSON.parse((await of.stopTracing()).toString()) as Trace;
  const mostRows = await page.evaluate<number>('window.mostRows');
  await page.context().close();
  return { longestTaskMs: longestTaskOf(trace), mostRows };
}

interface Trace {
  readonly traceEvents: ReadonlyArray<{
    readonly name: string;
    readonly pid: number;
    readonly tid: number;
    /** Processor time in microseconds. */
    readonly tdur?: number;
    readonly args?: { readonly name?: string };
  }>;
}

/** The longest task of the pages' main threads. */
function longestTaskOf({ traceEvents }: Trace): number {
  const threadOf = ({ pid: process, tid }: { pid: number; tid: number }) => `${process} ${tid}`;
  const isMain = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(threadOf),
  );
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && isMain.has(threadOf(event)));
  if (tasks.length === 0) throw new Error('the trace has no tasks');
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
}

/** The processor time of the api while operators look at the overview and an activity changes each second, less that without operators. */
async function liveCost(of: Browser): Promise<{ share: number; alone: number; watched: number }> {
  const alone = await busyShare();
  const pages: Page[] = [];
  for (let n = 0; n < OPERATORS; n += 1) {
    const page = await signedIn(of);
    await page.goto(`${api.url}/console/overview`);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    pages.push(page);
  }
  await pause(SETTLED_MS);
  const watched = await busyShare();
  for (const page of pages) await page.context().close();
  return { share: watched - alone, alone, watched };
}

async function busyShare(): Promise<number> {
  const before = processorSeconds(pid);
  const begunAt = performance.now();
  for (let second = 0; performance.now() - begunAt < LIVE_MS; second += 1) {
    await sql.query(
      `update activity set name = 'Morning run, ' || $2::int where athlete_id = $1 and external_activity_id = 'long-1'`,
      [athleteId, second],
    );
    await pause(1_000);
  }
  return (processorSeconds(pid) - before) / ((performance.now() - begunAt) / 1_000);
}
