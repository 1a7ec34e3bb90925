import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Athletes } from '#connections';
import { createLogger, NO_ORIGIN } from '#platform';
import {
  type ActivitySource,
  type Aspect,
  type CallFailure,
  type DetailedActivity,
  ok,
  type Sources,
} from '#vendors';
import { done, type EventGroup } from '#webhooks';
import { ActivityEvents, Uploads } from './activity-events.js';
import { type ActivityStore, type SavedDetail } from './activity-store.js';

const ann = { athleteId: 'ann', generation: 1, connectedAt: '2026-11-18 12:00:00.123456+00' };
const at = (second: number) => new Date(1_794_900_000_000 + second * 1_000);
const logger = createLogger({ level: 'silent', process: 'test' });

const GONE: CallFailure = { kind: 'gone', reason: 'status 404' };
const OUTAGE: CallFailure = { kind: 'broken', because: 'outage', reason: 'status 503' };
const FORBIDDEN: CallFailure = { kind: 'refused', status: 403, reason: 'status 403' };

interface Setting {
  readonly events?: ActivitySource['events'];
  /** Failures of the vendor instead of its answers. */
  readonly activity?: CallFailure;
  readonly photos?: CallFailure;
  readonly saved?: Partial<SavedDetail> | null;
}

/** A handler with scripted answers of a vendor; records the calls to the vendor and the applied effects. */
function setting({ events = 'each change', activity, photos, saved = {} }: Setting = {}) {
  const applied: string[] = [];
  const calls: string[] = [];
  const source: Partial<ActivitySource> = {
    events,
    activity: (_, id) => {
      calls.push(`activity ${id}`);
      return Promise.resolve(activity ?? ok({ id } as DetailedActivity));
    },
    photos: (_, id) => {
      calls.push(`photos ${id}`);
      return Promise.resolve(photos ?? ok([]));
    },
  };
  const store: Pick<ActivityStore, 'saveDetail' | 'savePhotos' | 'remove'> = {
    saveDetail: (_, { athleteId }, { id }) => {
      applied.push(`${athleteId} changed ${id}`);
      const row = { id: 'row', photos_status: 'none', stream_fetch_status: 'pending' };
      return Promise.resolve(saved ? { ...row, ...saved } : undefined);
    },
    savePhotos: (_, id) => Promise.resolve(void applied.push(`photos of ${id}`)),
    remove: (_, { athleteId }, id) => Promise.resolve(void applied.push(`${athleteId} deleted ${id}`)),
  };
  const inGeneration = (_: string, __: number, work: (sql: unknown) => unknown) => work(undefined);
  const athletes = { inGeneration, aloneInGeneration: inGeneration } as unknown as Athletes;
  const uploads = new Uploads();
  uploads.register({
    uploaded: ({ externalActivityId }) =>
      Promise.resolve(void applied.push(`uploaded ${externalActivityId}`)),
  });
  const sources = { activities: () => source } as unknown as Sources;
  const handler = new ActivityEvents(sources, athletes, store as ActivityStore, uploads, logger);
  return { applied, calls, apply: (group: EventGroup) => handler.handle(ann, group) };
}

type Sent = readonly [Aspect, number];

/** A group of events, ordered by their time as the queue orders them. */
function about(events: readonly Sent[], attempts = 1): EventGroup {
  const order: Record<Aspect, number> = { create: 0, update: 1, delete: 2 };
  const waiting = [...events]
    .sort(([a, one], [b, other]) => one - other || order[a] - order[b])
    .map(([aspect, second], n) => ({ id: String(n), aspect, eventTime: at(second), attempts }));
  return {
    vendor: 'strava',
    ownerId: '134815',
    objectType: 'activity',
    objectId: '7',
    events: waiting,
    latest: waiting.at(-1)!,
    claimedAt: at(60),
    origin: NO_ORIGIN,
  };
}

describe('webhook events about activities', () => {
  it.each<[string, Sent[], string[]]>([
    ['a create event', [['create', 1]], ['ann changed 7', 'uploaded 7']],
    ['an update event', [['update', 2]], ['ann changed 7']],
    [
      'a create and an update event',
      [
        ['create', 1],
        ['update', 2],
      ],
      ['ann changed 7', 'uploaded 7'],
    ],
    [
      'a delete followed by a create',
      [
        ['delete', 1],
        ['create', 2],
      ],
      ['ann changed 7', 'uploaded 7'],
    ],
  ])('applies %s of an activity once, with one call', async (_, events, expected) => {
    const { apply, applied, calls } = setting();
    expect(await apply(about(events))).toEqual(done('applied'));
    expect([applied, calls]).toEqual([expected, ['activity 7']]);
  });

  it.each<[string, Sent[]]>([
    ['alone', [['delete', 5]]],
    [
      'in the same second as its create',
      [
        ['delete', 1],
        ['create', 1],
      ],
    ],
  ])('confirms the delete of an activity %s with one call to Strava', async (_, events) => {
    const { apply, applied, calls } = setting({ activity: GONE });
    expect(await apply(about(events))).toEqual(done('deleted'));
    expect([calls, applied]).toEqual([['activity 7'], ['ann deleted 7']]);
  });

  it('applies a delete event as an update if Strava still has the activity', async () => {
    const { apply, applied } = setting();
    expect(await apply(about([['delete', 5]]))).toEqual(done('applied'));
    expect(applied).toEqual(['ann changed 7']);
  });

  it.each<Aspect>(['create', 'update', 'delete'])(
    'answers an outage for a %s event, and changes nothing',
    async (aspect) => {
      const { apply, applied } = setting({ activity: OUTAGE });
      expect(await apply(about([[aspect, 5]]))).toEqual(OUTAGE);
      expect(applied).toEqual([]);
    },
  );

  it.each<Aspect>(['create', 'update'])(
    'ignores a %s event that is answered 404, since an event of the deletion follows',
    async (aspect) => {
      const { apply, applied } = setting({ activity: GONE });
      expect(await apply(about([[aspect, 5]]))).toEqual(done('ignored'));
      expect(applied).toEqual([]);
    },
  );

  it('waits until the tenth 404 for a new activity of a vendor without events of deletions, and then ignores its event', async () => {
    const { apply, applied } = setting({ events: 'uploads', activity: GONE });
    for (const attempts of [1, 9])
      expect(await apply(about([['create', 5]], attempts))).toEqual({ kind: 'failed', reason: GONE.reason });
    expect(await apply(about([['create', 5]], 10))).toEqual(done('ignored'));
    expect(applied).toEqual([]);
  });

  it('stores the photos that a changed activity has', async () => {
    const { apply, applied, calls } = setting({ saved: { photos_status: 'pending' } });
    expect(await apply(about([['update', 5]]))).toEqual(done('applied'));
    expect(calls).toEqual(['activity 7', 'photos 7']);
    expect(applied).toEqual(['ann changed 7', 'photos of row']);
  });

  it.each<[string, CallFailure, unknown]>([
    ['leaves photos that fail for the next import', OUTAGE, done('applied')],
    ['answers the refusal of photos', FORBIDDEN, FORBIDDEN],
  ])('%s', async (_, photos, answer) => {
    const { apply, applied } = setting({ photos, saved: { photos_status: 'pending' } });
    expect(await apply(about([['update', 5]]))).toEqual(answer);
    expect(applied).toEqual(['ann changed 7']);
  });

  it.each<[string, Setting]>([
    ['whose streams are stored', { saved: { stream_fetch_status: 'success' } }],
    ['that a later answer has changed', { saved: null }],
  ])('fetches no streams after a create event of an activity %s', async (_, change) => {
    const { apply, applied } = setting(change);
    expect(await apply(about([['create', 5]]))).toEqual(done('applied'));
    expect(applied).toEqual(['ann changed 7']);
  });

  it('applies the same effect for any order of an activity’s events (model)', async () => {
    const aspect = fc.constantFrom<Aspect>('create', 'update', 'delete');
    const history = fc.array(fc.tuple(aspect, fc.nat(5)), { minLength: 1, maxLength: 6 });
    const orders = history.chain((events) =>
      fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
    );
    await fc.assert(
      fc.asyncProperty(orders, fc.boolean(), async ([one, other], isGone) => {
        const results = [];
        for (const events of [one, other]) {
          const { apply, applied, calls } = setting(isGone ? { activity: GONE } : {});
          const outcome = await apply(about(events));
          expect(calls).toHaveLength(1);
          results.push([outcome, applied, calls]);
        }
        expect(results[0]).toEqual(results[1]);
      }),
    );
  });
});
