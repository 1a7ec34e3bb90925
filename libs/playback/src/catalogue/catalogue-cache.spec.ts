import { describe, expect, it, jest } from '@jest/globals';
import { type Broker, type Catalogue, NO_BROKER, refused } from '../broker/broker.js';
import { CatalogueCache } from './catalogue-cache.js';

const catalogue = (...names: string[]): Catalogue => ({
  kind: 'catalogue',
  series: names.map((name) => ({ id: name, name, episodes: [] })),
});

function setup() {
  const clock = { ms: 1_000 };
  const waiting: Array<(answer: Catalogue) => void> = [];
  const broker: Broker = {
    ...NO_BROKER,
    catalogue: () => new Promise((resolve) => waiting.push(resolve)),
  };
  const cache = new CatalogueCache(broker, () => clock.ms);
  return {
    cache,
    clock,
    calls: () => waiting.length,
    /** Answers the newest call, and waits until the answer has been handled. */
    answer: async (answer: Catalogue) => {
      waiting.at(-1)?.(answer);
      await new Promise(setImmediate);
    },
  };
}

describe('the catalogue cache', () => {
  it('the catalogue cache knows the episodes of its catalogue, and makes no call for an unknown episode', async () => {
    const { cache, calls, answer } = setup();
    const episodes = [{ id: 'e1', title: 'One', season: 1, episode: 1 }];
    const hasEpisode = cache.hasEpisode('e1');
    await answer({ kind: 'catalogue', series: [{ id: 's1', name: 'Hills', episodes }] });
    expect(await hasEpisode).toBe(true);
    for (const id of ['e2', 's1', '']) expect(await cache.hasEpisode(id)).toBe(false);
    expect(calls()).toBe(1);
  });

  it('hasEpisode returns the broker’s refusal if no catalogue is cached', async () => {
    const { cache, answer } = setup();
    const hasEpisode = cache.hasEpisode('e1');
    await answer(refused('dependency_timeout'));
    expect(await hasEpisode).toEqual(refused('dependency_timeout'));
  });

  it('fetches the catalogue once for simultaneous readers, and not again within a minute', async () => {
    const { cache, clock, calls, answer } = setup();
    const readers = [cache.read(), cache.read(), cache.read()];
    await answer(catalogue('a'));
    for (const read of readers) expect(await read).toEqual(catalogue('a'));
    clock.ms += 59_999;
    expect(await cache.read()).toEqual(catalogue('a'));
    expect(calls()).toBe(1);
  });

  it('answers the old catalogue while a new one is fetched', async () => {
    const { cache, clock, calls, answer } = setup();
    void cache.read();
    await answer(catalogue('old'));
    clock.ms += 60_000;
    expect(await cache.read()).toEqual(catalogue('old'));
    expect(calls()).toBe(2);
    await answer(catalogue('new'));
    expect(await cache.read()).toEqual(catalogue('new'));
  });

  it('answers the old catalogue for a day while the broker is away, and calls the broker every five seconds', async () => {
    const { cache, clock, calls, answer } = setup();
    void cache.read();
    await answer(catalogue('old'));
    clock.ms += 60_000;
    void cache.read();
    await answer(refused('broker_error'));
    clock.ms += 4_999;
    expect(await cache.read()).toEqual(catalogue('old'));
    expect(calls()).toBe(2);
    clock.ms += 1;
    expect(await cache.read()).toEqual(catalogue('old'));
    expect(calls()).toBe(3);
    await answer(refused('broker_error'));
    clock.ms += 24 * 3_600_000;
    const read = cache.read();
    await answer(refused('dependency_timeout'));
    expect(await read).toEqual(refused('dependency_timeout'));
  });

  it.each([
    ['back', -24 * 3_600_000],
    ['ahead', 24 * 3_600_000],
  ])(
    'a catalogue is neither fresher nor older because the process’s clock was set %s by a day',
    async (_, byMs) => {
      const waiting: Array<(answer: Catalogue) => void> = [];
      const cache = new CatalogueCache({
        ...NO_BROKER,
        catalogue: () => new Promise((resolve) => waiting.push(resolve)),
      });
      const first = cache.read();
      waiting[0]?.(catalogue('a'));
      await first;
      const wrong = Date.now() + byMs;
      const spy = jest.spyOn(Date, 'now').mockReturnValue(wrong);
      try {
        expect(await cache.read()).toEqual(catalogue('a'));
        expect(waiting).toHaveLength(1);
      } finally {
        spy.mockRestore();
      }
    },
  );

  it('the catalogue cache does not cache a refusal of the broker', async () => {
    const { cache, answer } = setup();
    const failing = cache.read();
    await answer(refused('broker_error'));
    expect(await failing).toEqual(refused('broker_error'));
    const read = cache.read();
    await answer(catalogue('a'));
    expect(await read).toEqual(catalogue('a'));
  });
});
