import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { PushWorld, subjectsOf } from '../push.harness.js';
import { type Page, type PageQuery } from './change-feed.js';
import { LongPoll, MOST_POLLS } from './long-poll.js';
import { MOST_OF_ATHLETE } from './places.js';

const LONG_MS = 60_000;

let world: PushWorld;
let poll: LongPoll;
beforeAll(async () => (world = await PushWorld.start()));
beforeEach(async () => {
  await world.reset();
  poll = new LongPoll(world.feed, world.tail);
});
afterAll(() => world.stop());

const athlete = randomUUID();
const other = randomUUID();
/** By default it begins with the oldest change. */
const read = (
  query: Partial<PageQuery> = {},
  { ms = LONG_MS, signal = new AbortController().signal } = {},
): Promise<Page> =>
  poll.read(
    { athleteId: athlete, types: undefined, after: undefined, limit: 10, ...query },
    { owner: { name: query.athleteId ?? athlete }, ms, signal },
  );

describe('a long poll of changes', () => {
  it('a long poll ends as soon as a change of its athlete and types is committed, and not for others', async () => {
    let isOver = false;
    const waiting = read({ types: ['sleep.stored'] }).finally(() => (isOver = true));
    const everyone = read({ athleteId: undefined });
    await world.change(other, 'of another athlete');
    expect(subjectsOf(await everyone)).toEqual(['of another athlete']);
    const next = read();
    await world.change(athlete, 'of another type', { type: 'sleep.removed' });
    expect(subjectsOf(await next)).toEqual(['of another type']);
    expect(isOver).toBe(false);
    await world.change(athlete, 'wanted');
    expect(subjectsOf(await waiting)).toEqual(['wanted']);
  });

  it('a long poll answers at once if there is a change already, and with an empty page and a cursor after its time', async () => {
    const after = await world.feed.head();
    await world.change(other, 'elsewhere');
    const empty = await read({ after }, { ms: 50 });
    expect(empty).toEqual({ items: [], next: await world.feed.head(), hasMore: false });
    await world.change(athlete, 'there');
    expect(subjectsOf(await read({ after: empty.next }))).toEqual(['there']);
  });

  it('a long poll misses no change that is committed while the reader begins to wait', async () => {
    for (let n = 0; n < 50; n += 1) {
      const waiting = read({ after: await world.feed.head() });
      await world.change(athlete, `${n}`);
      expect(subjectsOf(await waiting)).toHaveLength(1);
    }
  });

  it('a further long poll of the same athlete is refused with Retry-After, and one whose reader leaves frees its place at once', async () => {
    const clients = Array.from({ length: MOST_OF_ATHLETE }, () => new AbortController());
    const after = await world.feed.head();
    const waiting = clients.map(({ signal }) => read({ after }, { signal }));
    await eventually('all wait', () => poll.waiting === MOST_OF_ATHLETE);
    await expect(read({ after })).rejects.toMatchObject({ code: 'TOO_MANY_READERS', retryAfterSeconds: 5 });
    clients[0]!.abort();
    expect((await waiting[0]!).items).toEqual([]);
    expect((await read({ after }, { ms: 1 })).items).toEqual([]);
    for (const client of clients) client.abort();
    await Promise.all(waiting);
  });

  it('long polls beyond the places of the process are refused, and all places are free when the process stops', async () => {
    const after = await world.feed.head();
    const outcomes = new Map<string, number>();
    const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const flood = Array.from({ length: MOST_POLLS + 100 }, () =>
      read({ after, athleteId: randomUUID() }, { ms: 600_000 }).then(
        () => count('answered'),
        ({ code }: { code: string }) => count(code),
      ),
    );
    await eventually('a hundred are refused', () => outcomes.get('TOO_MANY_READERS') === 100, 120_000);
    expect(poll.waiting).toBe(MOST_POLLS);
    poll.beforeApplicationShutdown();
    await Promise.all(flood);
    expect(outcomes.get('answered')).toBe(MOST_POLLS);
    expect(poll.waiting).toBe(0);
  }, 240_000);

  it('a long poll ends when the process stops', async () => {
    const waiting = read();
    poll.beforeApplicationShutdown();
    expect((await waiting).items).toEqual([]);
    expect((await read()).items).toEqual([]);
  });
});
