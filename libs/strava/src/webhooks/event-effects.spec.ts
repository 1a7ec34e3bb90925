import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { StravaNotFound, StravaOutage, StravaTokenRevoked } from '../strava.errors.js';
import { type DetailedActivity } from '../wire/activity.js';
import { type Aspect } from './event.js';
import { EventEffects, type Matter, type WaitingEvent } from './event-effects.js';

const OWNER = '134815';
const ann = { athleteId: 'ann', generation: 1, connectedAt: '2026-11-18 12:00:00.123456+00' };
const at = (second: number) => new Date(1_794_900_000_000 + second * 1_000);

/** What Strava would say, and what was told of it. */
function setting({
  activity,
  athlete,
  isBack = false,
}: { activity?: Error; athlete?: Error; isBack?: boolean } = {}) {
  const told: string[] = [];
  const tell = (what: string) => Promise.resolve(void told.push(what));
  const calls: string[] = [];
  const answer = <T>(name: string, error: Error | undefined, value: T) => {
    calls.push(name);
    return error ? Promise.reject(error) : Promise.resolve(value);
  };
  const effects = new EventEffects(
    {
      activity: (_, id) => answer(`activity ${id}`, activity, { id } as DetailedActivity),
      athlete: () => answer('athlete', athlete, { id: OWNER }),
    },
    { athleteOf: (id) => Promise.resolve(id === OWNER ? ann : undefined) },
    {
      activityChanged: ({ athleteId }, id, time, aspect) =>
        tell(`${athleteId} ${aspect} ${id} ${(time.getTime() - at(0).getTime()) / 1_000}`),
      activityDeleted: ({ athleteId }, id, time) =>
        tell(`${athleteId} deleted ${id} ${(time.getTime() - at(0).getTime()) / 1_000}`),
      deauthorized: async ({ athleteId, connectedAt }) => {
        if (!isBack) await tell(`${athleteId} deauthorized ${connectedAt}`);
        return !isBack;
      },
    },
  );
  return { effects, told, calls };
}

let ids = 0;
const waiting = (aspect: Aspect, second: number, updates: object = {}): WaitingEvent => ({
  id: String((ids += 1)),
  aspect,
  eventTime: at(second),
  raw: JSON.stringify({
    aspect_type: aspect,
    event_time: at(second).getTime() / 1_000,
    object_id: 7,
    object_type: 'activity',
    owner_id: Number(OWNER),
    subscription_id: 1,
    updates,
  }),
});

const about = (events: readonly WaitingEvent[], more: Partial<Matter> = {}): Matter => ({
  ownerId: OWNER,
  objectType: 'activity',
  objectId: '7',
  events,
  deletedAt: undefined,
  ...more,
});

describe('what is said of an activity', () => {
  it.each<[string, WaitingEvent[], string[]]>([
    ['is new', [waiting('create', 1)], ['ann create 7 1']],
    ['changed', [waiting('update', 2)], ['ann update 7 2']],
    ['became private', [waiting('update', 2, { private: 'true' })], ['ann update 7 2']],
    ['is new and changed', [waiting('create', 1), waiting('update', 2)], ['ann create 7 1']],
    ['changed often', [1, 2, 3, 4].map((n) => waiting('update', n)), ['ann update 7 4']],
    ['came in the wrong order', [waiting('update', 9), waiting('create', 1)], ['ann create 7 1']],
    ['was hidden and shown', [waiting('delete', 1), waiting('create', 2)], ['ann create 7 2']],
  ])('that it %s is told once, unasked', async (_, events, expected) => {
    const { effects, told, calls } = setting();
    expect(await effects.apply(about(events))).toBe('applied');
    expect([told, calls]).toEqual([expected, []]);
  });

  it.each<[string, WaitingEvent[]]>([
    ['at last', [waiting('create', 1), waiting('delete', 5)]],
    ['at last, though it came first', [waiting('delete', 5), waiting('create', 1), waiting('update', 3)]],
    ['in the very second of its making', [waiting('delete', 1), waiting('create', 1)]],
  ])('that it was deleted %s is asked for, and nothing else is fetched', async (_, events) => {
    const { effects, told, calls } = setting({ activity: new StravaNotFound() });
    expect(await effects.apply(about(events))).toBe('deleted');
    expect(calls).toEqual(['activity 7']);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('ann deleted 7');
  });

  it('that it was deleted is not believed while Strava has it', async () => {
    const { effects, told } = setting();
    expect(await effects.apply(about([waiting('delete', 5)]))).toBe('applied');
    expect(told).toEqual(['ann update 7 5']);
  });

  it('that it was deleted waits where Strava cannot say', async () => {
    const { effects, told } = setting({ activity: new StravaOutage('away') });
    await expect(effects.apply(about([waiting('delete', 5)]))).rejects.toThrow(StravaOutage);
    expect(told).toEqual([]);
  });

  it('before its confirmed deletion does not matter any more; after it does', async () => {
    const { effects, told, calls } = setting();
    const deletedAt = at(5);
    expect(await effects.apply(about([waiting('create', 1)], { deletedAt }))).toBe('superseded');
    expect(await effects.apply(about([waiting('update', 5)], { deletedAt }))).toBe('superseded');
    expect([told, calls]).toEqual([[], []]);
    expect(await effects.apply(about([waiting('create', 6)], { deletedAt }))).toBe('applied');
    expect(told).toEqual(['ann create 7 6']);
  });

  it('by somebody whom we do not know is nothing to us', async () => {
    const { effects, told, calls } = setting();
    expect(await effects.apply(about([waiting('create', 1)], { ownerId: '999' }))).toBe('ignored');
    expect([told, calls]).toEqual([[], []]);
  });

  it('leads to the same in whatever order it came', async () => {
    const aspect = fc.constantFrom<Aspect>('create', 'update', 'delete');
    const history = fc.array(fc.tuple(aspect, fc.nat(5)), { minLength: 1, maxLength: 6 });
    const orders = history.chain((events) =>
      fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
    );
    await fc.assert(
      fc.asyncProperty(orders, fc.boolean(), async ([one, other], isGone) => {
        const results = [];
        for (const events of [one, other]) {
          const { effects, told, calls } = setting(isGone ? { activity: new StravaNotFound() } : {});
          const outcome = await effects.apply(about(events.map(([kind, second]) => waiting(kind, second))));
          expect(calls.length).toBeLessThanOrEqual(1);
          results.push([outcome, told, calls]);
        }
        expect(results[0]).toEqual(results[1]);
      }),
    );
  });
});

describe('what is said of an athlete', () => {
  const goodbye = about([waiting('update', 1, { authorized: 'false' })], {
    objectType: 'athlete',
    objectId: OWNER,
  });

  it('that they left is believed when their token is refused', async () => {
    const { effects, told } = setting({ athlete: new StravaTokenRevoked('ann') });
    expect(await effects.apply(goodbye)).toBe('deauthorized');
    expect(told).toEqual([`ann deauthorized ${ann.connectedAt}`]);
  });

  it('that they left is over once they are back', async () => {
    const { effects, told } = setting({ athlete: new StravaTokenRevoked('ann'), isBack: true });
    expect(await effects.apply(goodbye)).toBe('superseded');
    expect(told).toEqual([]);
  });

  it('that they left is not believed while their token works', async () => {
    const { effects, told } = setting();
    expect(await effects.apply(goodbye)).toBe('ignored');
    expect(told).toEqual([]);
  });

  it('that they left waits where Strava cannot say', async () => {
    const { effects, told } = setting({ athlete: new StravaOutage('away') });
    await expect(effects.apply(goodbye)).rejects.toThrow(StravaOutage);
    expect(told).toEqual([]);
  });

  it('otherwise is nothing to us, and not asked about', async () => {
    const { effects, told, calls } = setting();
    const events = [waiting('update', 1, { authorized: 'true' }), waiting('update', 2, { weight: '70' })];
    expect(await effects.apply({ ...goodbye, events })).toBe('ignored');
    expect([told, calls]).toEqual([[], []]);
  });
});
