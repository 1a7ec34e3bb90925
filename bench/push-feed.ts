import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { tokenFor } from '../test/harness/environment.js';
import { startChild } from './harness.js';
import { type Finding, percentile } from './results.js';
import { type ChangeLog, comparison, type Pair } from './push-log.js';

const CHANGES = 50_000;
const PAGE = 500;
const ROUNDS = 5;
const POLLS = 500;
const GOAL = 20_000;

interface Page {
  readonly items: ReadonlyArray<{ readonly id: string }>;
  readonly next_cursor: string;
}

interface Reader {
  /** The cursor before the changes that are read. */
  readonly start: string;
  page(after: string): Promise<Page>;
  stop(): Promise<void>;
}

/** A backend with a service key reads 50,000 changes page by page, several times, and then polls at the head. */
export async function measureFeed(logs: Pair<ChangeLog>): Promise<{ findings: Finding[]; raw: unknown }> {
  const readers = [await openReader(logs[0]), await openReader(logs[1])] as const;
  for (const reader of readers) await follow(reader);
  const pages: Pair<number[]> = [[], []];
  let wrong = 0;
  const heads = ['', ''];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const side of [0, 1] as const) {
      const { ms, ids, head } = await follow(readers[side]);
      pages[side].push(...ms);
      wrong += Math.abs(CHANGES - new Set(ids).size) + ids.length - new Set(ids).size;
      heads[side] = head;
    }
  const polls: Pair<number[]> = [[], []];
  for (let n = 0; n < POLLS; n += 1)
    for (const side of [0, 1] as const) {
      const begunAtMs = performance.now();
      await readers[side].page(heads[side] ?? '');
      polls[side].push(performance.now() - begunAtMs);
    }
  for (const reader of readers) await reader.stop();

  const rates = pages.map((ms) => (ms.length * PAGE * 1_000) / ms.reduce((sum, one) => sum + one, 0));
  const perSecond = Math.min(...rates);
  const compared = (what: string, [fresh, old]: Pair<number[]>, share: number) =>
    comparison(`${what}, p${share * 100}`, [percentile(fresh, share), percentile(old, share)]);
  return {
    findings: [
      {
        what: `GET /v1/changes, pages of ${PAGE}, with or without old changes`,
        measured: `≥ ${perSecond.toFixed(0)} changes/s`,
        goal: `≥ ${GOAL.toLocaleString('en')}/s`,
        met: perSecond >= GOAL,
      },
      told(compared(`page of ${PAGE}`, pages, 0.5)),
      compared(`page of ${PAGE}`, pages, 0.99),
      told(compared('poll at the head', polls, 0.5)),
      compared('poll at the head', polls, 0.99),
      { what: 'changes missed or read twice', measured: String(wrong), goal: '0', met: wrong === 0 },
    ],
    raw: { rates, pages: quantiles(pages), polls: quantiles(polls) },
  };
}

const told = (finding: Finding): Finding => ({ ...finding, goal: '', met: true });

/** Starts an api on the log, and appends the changes. */
async function openReader(log: ChangeLog): Promise<Reader> {
  const api = await startChild('dist/apps/api/src/main.js', log.env, ['--max-semi-space-size=8']);
  const pool = new Pool(api.url, { connections: 1 });
  const authorization = `Bearer ${await serviceKey(api.url)}`;
  const page = async (after: string) => {
    const path = `/v1/changes?limit=${PAGE}&after=${after}`;
    const answer = await pool.request({ path, method: 'GET', headers: { authorization } });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`GET /v1/changes: ${answer.statusCode} ${text}`);
    return JSON.parse(text) as Page;
  };
  const { next_cursor: start } = await page('latest');
  await log.append(CHANGES);
  return { start, page, stop: () => Promise.all([pool.close(), api.stop()]).then(() => undefined) };
}

async function serviceKey(api: string): Promise<string> {
  const answer = await fetch(`${api}/admin/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await tokenFor(randomUUID(), { role: 'admin' })}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name: 'bench', scopes: ['events'] }),
  });
  return ((await answer.json()) as { key: string }).key;
}

/** Reads to the head. The time of a page includes its JSON.parse, as a client's would. */
async function follow(reader: Reader): Promise<{ ms: number[]; ids: string[]; head: string }> {
  const ms: number[] = [];
  const ids: string[] = [];
  let after = reader.start;
  for (let n = 0; n < CHANGES / PAGE; n += 1) {
    const begunAtMs = performance.now();
    const { items, next_cursor } = await reader.page(after);
    ms.push(performance.now() - begunAtMs);
    ids.push(...items.map(({ id }) => id));
    after = next_cursor;
  }
  return { ms, ids, head: after };
}

const quantiles = (sides: Pair<number[]>) =>
  sides.map((ms) => ({ p50: percentile(ms, 0.5), p95: percentile(ms, 0.95), p99: percentile(ms, 0.99) }));
