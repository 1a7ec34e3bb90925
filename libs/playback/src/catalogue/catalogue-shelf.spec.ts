import { describe, expect, it } from '@jest/globals';
import { Clock } from '#platform';
import { type Broker, type Catalogue, NO_BROKER, refused } from '../broker/broker.js';
import { CatalogueShelf } from './catalogue-shelf.js';

class ManualClock extends Clock {
  ms = 1_000_000;
  override nowMs(): number {
    return this.ms;
  }
}

const catalogue = (...names: string[]): Catalogue => ({
  kind: 'catalogue',
  series: names.map((name) => ({ id: name, name, episodes: [] })),
});

function setup() {
  const clock = new ManualClock();
  const waiting: Array<(answer: Catalogue) => void> = [];
  const broker: Broker = {
    ...NO_BROKER,
    catalogue: () => new Promise((resolve) => waiting.push(resolve)),
  };
  const shelf = new CatalogueShelf(broker, clock);
  return {
    shelf,
    clock,
    calls: () => waiting.length,
    /** The newest call is answered, and what comes of that has happened. */
    answer: async (answer: Catalogue) => {
      waiting.at(-1)?.(answer);
      await new Promise(setImmediate);
    },
  };
}

describe('the shelf', () => {
  it('asks once for all who wait, and not again within a minute', async () => {
    const { shelf, clock, calls, answer } = setup();
    const readers = [shelf.read(), shelf.read(), shelf.read()];
    await answer(catalogue('a'));
    for (const read of readers) expect(await read).toEqual(catalogue('a'));
    clock.ms += 59_999;
    expect(await shelf.read()).toEqual(catalogue('a'));
    expect(calls()).toBe(1);
  });

  it('shows the old one while a new one is fetched', async () => {
    const { shelf, clock, calls, answer } = setup();
    void shelf.read();
    await answer(catalogue('old'));
    clock.ms += 60_000;
    expect(await shelf.read()).toEqual(catalogue('old'));
    expect(calls()).toBe(2);
    await answer(catalogue('new'));
    expect(await shelf.read()).toEqual(catalogue('new'));
  });

  it('shows the old one for a day where the broker is away, and asks every five seconds', async () => {
    const { shelf, clock, calls, answer } = setup();
    void shelf.read();
    await answer(catalogue('old'));
    clock.ms += 60_000;
    void shelf.read();
    await answer(refused('broker_error'));
    clock.ms += 4_999;
    expect(await shelf.read()).toEqual(catalogue('old'));
    expect(calls()).toBe(2);
    clock.ms += 1;
    expect(await shelf.read()).toEqual(catalogue('old'));
    expect(calls()).toBe(3);
    await answer(refused('broker_error'));
    clock.ms += 24 * 3_600_000;
    const read = shelf.read();
    await answer(refused('dependency_timeout'));
    expect(await read).toEqual(refused('dependency_timeout'));
  });

  it('keeps no failure', async () => {
    const { shelf, answer } = setup();
    const failing = shelf.read();
    await answer(refused('broker_error'));
    expect(await failing).toEqual(refused('broker_error'));
    const read = shelf.read();
    await answer(catalogue('a'));
    expect(await read).toEqual(catalogue('a'));
  });
});
