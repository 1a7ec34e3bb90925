import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { ok, type SleepRecord, type SleepSource, type Sources } from '#vendors';
import { type WebhookInbox } from '#webhooks';
import { type HeldRecord, type HeldRecords } from '../native/held-records.js';
import { type NativeNights } from '../native/native-nights.js';
import { type Payload } from '../native/vendor-records.js';
import { type ReconciliationClaim } from './reconciliation-store.js';
import { SliceComparison } from './slice-comparison.js';

const CLAIM = {
  subject: 'ann',
  vendor_athlete_id: '7',
  claimed_at: new Date('2026-11-19T08:00:00Z'),
  connected_at: '2026-01-01 12:00:00.123456+00',
  begun_at: '2026-11-19 08:00:00.123456+00',
  until: '2026-11-20',
  is_history: false,
} as ReconciliationClaim;

const undated = (date: string, score: number): SleepRecord => ({
  id: date,
  revision: 0,
  nap: false,
  state: 'scored',
  date,
  durationMinutes: 420,
  updatedAt: null,
  qualityScore: score,
  document: { date, score },
});

const held = (date: string, score?: number, more: Partial<HeldRecord> = {}): HeldRecord => ({
  record_id: date,
  revision: 0,
  // Later than the claim: an event came during the reconciliation.
  captured_at: new Date('2026-11-19T09:00:00Z'),
  state: 'scored',
  quality_score: score ?? null,
  date,
  content: hash('md5', JSON.stringify({ date, score, source: 'polar', qualityScore: score })),
  is_of_dates: true,
  ...more,
});

/** Compares the listed records with ours. Returns the published nights and the ids that are fetched. */
async function compare(listed: readonly SleepRecord[], ours: readonly HeldRecord[], claim = CLAIM) {
  const published: Payload[] = [];
  const fetched: string[] = [];
  const source: Partial<SleepSource> = {
    namedBy: 'date',
    listedDays: 28,
    list: () => Promise.resolve(ok({ records: listed, unreadable: [] })),
  };
  const slices = new SliceComparison(
    { sleep: () => source } as unknown as Sources,
    {
      publish: (some: readonly Payload[]) => Promise.resolve(void published.push(...some)),
    } as unknown as NativeNights,
    { find: () => Promise.resolve(ours) } as unknown as HeldRecords,
    {
      add: (_: string, { objectId }: { objectId: string }) => Promise.resolve(void fetched.push(objectId)),
    } as unknown as WebhookInbox,
    createLogger({ level: 'silent', process: 'test' }),
  );
  expect(await slices.compare('polar', claim, '2026-10-01', new AbortController().signal)).toBeUndefined();
  return { published, fetched };
}

describe('SliceComparison of a vendor that does not date its changes', () => {
  it('publishes a night that is new or has another content, and not one that we have', async () => {
    const listed = [undated('2026-11-16', 70), undated('2026-11-17', 71), undated('2026-11-18', 72)];
    const { published } = await compare(listed, [held('2026-11-17', 71), held('2026-11-18', 60)]);
    expect(published.map(({ date, capturedAt }) => [date, capturedAt])).toEqual([
      ['2026-11-16', '2026-11-19T08:00:00.000Z'],
      ['2026-11-18', '2026-11-19T08:00:00.000Z'],
    ]);
  });

  it('publishes a night that comes back after its deletion', async () => {
    const { published } = await compare(
      [undated('2026-11-18', 72)],
      [held('2026-11-18', undefined, { state: 'deleted' })],
    );
    expect(published.map(({ date }) => date)).toEqual(['2026-11-18']);
  });

  it('fetches a missing night, but none that is older than the vendor’s list or the connection', async () => {
    const ours = ['2026-10-10', '2026-10-23', '2026-10-24', '2026-11-18'].map((date) => held(date));
    expect((await compare([], ours)).fetched).toEqual(['2026-10-24', '2026-11-18']);
    const again = { ...CLAIM, connected_at: '2026-11-15 12:00:00.123456+00' };
    expect((await compare([], ours, again)).fetched).toEqual(['2026-11-18']);
  });
});

it('SliceComparison publishes a record with a score that ours lacks, although the vendor dates both versions alike', async () => {
  const at = new Date('2026-11-18T06:00:00Z');
  const listed = (date: string, qualityScore: number | null, state: SleepRecord['state'] = 'scored') => ({
    ...undated(date, 0),
    ...{ updatedAt: at, qualityScore, state },
  });
  const ours = (date: string, score?: number, state: SleepRecord['state'] = 'scored') =>
    held(date, score, { captured_at: at, state });
  const { published } = await compare(
    [
      ...[listed('2026-11-12', 70), listed('2026-11-13', null), listed('2026-11-14', null, 'pending')],
      ...[listed('2026-11-15', 70), listed('2026-11-16', 71), listed('2026-11-17', null)],
    ],
    [
      // We have as much as the vendor, or more.
      ...[ours('2026-11-12', 70), ours('2026-11-13', 70), ours('2026-11-14')],
      ...[
        ours('2026-11-15'),
        ours('2026-11-16', undefined, 'pending'),
        ours('2026-11-17', undefined, 'pending'),
      ],
    ],
  );
  expect(published.map(({ date }) => date)).toEqual(['2026-11-15', '2026-11-16', '2026-11-17']);
});
