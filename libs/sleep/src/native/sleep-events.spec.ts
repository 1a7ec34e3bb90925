import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Database, NO_ORIGIN } from '#platform';
import {
  type Aspect,
  type CallOutcome,
  ok,
  type SleepRecord,
  type SleepSource,
  type Sources,
} from '#vendors';
import { done, type EventGroup } from '#webhooks';
import { type HeldRecord, type HeldRecords } from './held-records.js';
import { type NativeNights } from './native-nights.js';
import { SleepEvents } from './sleep-events.js';
import { type Payload } from './vendor-records.js';

const ann = { athleteId: 'ann', generation: 1, connectedAt: '2026-11-18 12:00:00.123456+00' };
const CLAIMED_AT = new Date('2026-11-19T08:00:00Z');
const GONE: CallOutcome<never> = { kind: 'gone', reason: 'status 404' };

interface Sent {
  readonly aspect?: Aspect;
  readonly attempts?: number;
  readonly objectType?: 'sleep' | 'sleep_score';
  readonly objectId?: string;
}

function about({
  aspect = 'update',
  attempts = 1,
  objectType = 'sleep',
  objectId = 'a',
}: Sent = {}): EventGroup {
  const latest = { id: '1', aspect, attempts, eventTime: new Date('2026-11-18T06:30:00Z') };
  const object = { vendor: 'oura', ownerId: '7', objectType, objectId } as const;
  return { ...object, events: [latest], latest, claimedAt: CLAIMED_AT, origin: NO_ORIGIN };
}

const record = (id: string): SleepRecord => ({
  id,
  revision: 1,
  nap: false,
  state: 'scored',
  date: '2026-11-18',
  durationMinutes: 420,
  updatedAt: new Date('2026-11-18T06:00:00Z'),
  qualityScore: 80,
  document: {},
});

/** A handler with a scripted answer of the vendor; records the calls and the published nights. */
function setting(
  answer: CallOutcome<readonly SleepRecord[]>,
  subject: string | null = 'user',
  source: Partial<SleepSource> = {},
  ours: readonly HeldRecord[] = [],
) {
  const calls: string[] = [];
  const published: string[] = [];
  const payloads: Payload[] = [];
  const sources = {
    sleep: () => ({
      ...source,
      recordsOf: (_: unknown, object: { about: string; id: string }) => {
        calls.push(`${object.about} ${object.id}`);
        return Promise.resolve(answer);
      },
    }),
  } as unknown as Sources;
  const nights: Pick<NativeNights, 'publish'> = {
    publish: (some: readonly Payload[], cameAt, connectedAt) => {
      expect([cameAt, connectedAt]).toEqual([CLAIMED_AT, ann.connectedAt]);
      payloads.push(...some);
      for (const { userId, record: one } of some) published.push(`${userId} ${one?.id} ${one?.state}`);
      return Promise.resolve();
    },
  };
  const database = { query: () => Promise.resolve({ rows: subject === null ? [] : [{ subject }] }) };
  const held: Pick<HeldRecords, 'find'> = { find: () => Promise.resolve(ours) };
  const events = new SleepEvents(
    sources,
    database as unknown as Database,
    nights as NativeNights,
    held as HeldRecords,
  );
  return { calls, published, payloads, handle: (sent?: Sent) => events.handle(ann, about(sent)) };
}

describe('webhook events about sleep', () => {
  it('publishes the record of an event about a sleep', async () => {
    const { handle, calls, published } = setting(ok([record('a')]));
    expect(await handle()).toEqual(done('applied'));
    expect([calls, published]).toEqual([['sleep a'], ['user a scored']]);
  });

  it('publishes all sleeps of the day after an event about its score, and none after the score’s deletion', async () => {
    const { handle, calls, published } = setting(ok([record('a'), record('b')]));
    expect(await handle({ objectType: 'sleep_score' })).toEqual(done('applied'));
    expect([calls, published]).toEqual([['score a'], ['user a scored', 'user b scored']]);
    expect(await handle({ objectType: 'sleep_score', aspect: 'delete' })).toEqual(done('deleted'));
    expect([calls.length, published.length]).toEqual([1, 2]);
  });

  it('publishes the deletion of a sleep without a call to the vendor', async () => {
    const { handle, calls, published } = setting(GONE);
    expect(await handle({ aspect: 'delete' })).toEqual(done('deleted'));
    expect([calls, published]).toEqual([[], ['user a deleted']]);
  });

  it('believes that a sleep is deleted at the second 404, and not at the first', async () => {
    const { handle, published } = setting(GONE);
    expect(await handle({ attempts: 1 })).toEqual({ kind: 'failed', reason: 'status 404' });
    expect(published).toEqual([]);
    expect(await handle({ attempts: 2 })).toEqual(done('deleted'));
    expect(published).toEqual(['user a deleted']);
  });

  it('answers the failure of the call to the vendor, and publishes nothing', async () => {
    const limit = { kind: 'notNow', because: 'limit', retryAfterMs: 1, reason: 'full' } as const;
    const { handle, published } = setting(limit);
    expect(await handle()).toEqual(limit);
    expect(published).toEqual([]);
  });

  it('ignores events of a deleted athlete without a call', async () => {
    const { handle, calls } = setting(ok([record('a')]), null);
    expect(await handle()).toEqual(done('ignored'));
    expect(calls).toEqual([]);
  });

  describe('of a vendor that names a night by its date and does not date its changes', () => {
    const source: Partial<SleepSource> = { namedBy: 'date', listedDays: 28 };
    const objectId = '2026-11-20';

    it('dates a night by the claim of its event', async () => {
      const { handle, payloads } = setting(ok([{ ...record(objectId), updatedAt: null }]), 'user', source);
      expect(await handle({ objectId })).toEqual(done('applied'));
      expect(payloads[0]?.capturedAt).toBe(CLAIMED_AT.toISOString());
    });

    it('publishes a night again only if its content differs from ours', async () => {
      const night = { ...record(objectId), revision: 0, updatedAt: null };
      const first = setting(ok([night]), 'user', source);
      await first.handle({ objectId });
      const ours = (content: string): HeldRecord => ({
        record_id: objectId,
        revision: 0,
        captured_at: CLAIMED_AT,
        state: 'scored',
        quality_score: 80,
        date: objectId,
        content,
        is_of_dates: true,
      });
      const same = hash('md5', JSON.stringify(first.payloads[0]?.raw));
      for (const [content, times] of [
        [same, 0],
        ['other', 1],
      ] as const) {
        const { handle, published } = setting(ok([night]), 'user', source, [ours(content)]);
        expect(await handle({ objectId })).toEqual(done('applied'));
        expect(published).toHaveLength(times);
      }
    });

    it('requests a night until the tenth 404, and then deletes it so that a later record brings it back', async () => {
      const { handle, payloads } = setting(GONE, 'user', source);
      expect(await handle({ objectId, attempts: 9 })).toEqual({ kind: 'failed', reason: 'status 404' });
      expect(payloads).toEqual([]);
      expect(await handle({ objectId, attempts: 10 })).toEqual(done('deleted'));
      const deleted = { id: objectId, state: 'deleted', revision: 0 };
      expect(payloads).toMatchObject([
        { date: objectId, capturedAt: CLAIMED_AT.toISOString(), record: deleted },
      ]);
    });

    it('ignores the first 404 for a night that the vendor no longer lists', async () => {
      const { handle, published } = setting(GONE, 'user', source);
      expect(await handle({ objectId: '2026-10-01', attempts: 1 })).toEqual(done('ignored'));
      expect(published).toEqual([]);
    });

    it.each(['2026-11-17', '2026-11-18', '2026-11-19'])(
      'waits until the tenth 404 for the night of %s around the connection, and then ignores it without a deletion',
      async (early) => {
        const { handle, published } = setting(GONE, 'user', source);
        for (const attempts of [1, 9])
          expect(await handle({ objectId: early, attempts })).toEqual({
            kind: 'failed',
            reason: 'status 404',
          });
        expect(await handle({ objectId: early, attempts: 10 })).toEqual(done('ignored'));
        expect(published).toEqual([]);
      },
    );
  });
});
