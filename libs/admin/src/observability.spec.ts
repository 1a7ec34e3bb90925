import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Backfill } from '#backfill';
import { DependencyUnavailable, timeScale } from '#platform';
import { type Budgets } from '#rate-limit';
import { type StreamCounts } from '#streams';
import { type Attention } from './attention.js';
import { type KnownEtas } from './known-etas.js';
import { Observability } from './observability.js';

const READS = {
  bucket: 'read',
  used: 0,
  limit: 100,
  remaining: 100,
  resetsAt: new Date(0),
  classes: [],
};
const USAGE = {
  refusedShare: 0,
  counters: ['15min', 'day'].map((window) => ({ ...READS, window })),
};

describe('Observability', () => {
  const now = jest.spyOn(performance, 'now');
  beforeEach(() => void now.mockReturnValue(0));
  afterAll(() => now.mockRestore());

  /** `overviews` counts the reads of Postgres. The stuck fetches of a view are the number of the read that it comes from. */
  function observability(scale = timeScale(1)) {
    const asked = { overviews: 0, fails: false };
    const overview = () => {
      asked.overviews += 1;
      if (asked.fails) return Promise.reject(new DependencyUnavailable('postgres'));
      return Promise.resolve({ byStatus: {}, byRetries: new Map(), stuck: asked.overviews });
    };
    const parts = {
      budgets: { of: () => ({ usage: () => Promise.resolve(USAGE) }) },
      streams: { overview, byAthlete: () => Promise.resolve([]) },
      etas: { read: () => Promise.resolve(new Map()) },
      backfills: { isPaused: () => Promise.resolve(false) },
      attention: { read: () => Promise.resolve({}) },
    };
    const read = new Observability(
      parts.budgets as unknown as Budgets,
      parts.streams as unknown as StreamCounts,
      parts.etas as unknown as KnownEtas,
      parts.backfills as unknown as Backfill,
      parts.attention as unknown as Attention,
      scale,
    );
    return { asked, stuck: async () => (await read.read()).stuck_failed };
  }

  it('Observability reads the state once a second, for any number of operators', async () => {
    const { asked, stuck } = observability();
    expect(await Promise.all([stuck(), stuck(), stuck()])).toEqual([1, 1, 1]);
    now.mockReturnValue(999);
    expect(await stuck()).toBe(1);
    expect(asked.overviews).toBe(1);
    now.mockReturnValue(1_000);
    expect(await stuck()).toBe(2);
  });

  it('Observability keeps a view for 250 ms at a high TIME_SCALE', async () => {
    const { stuck } = observability(timeScale(900));
    expect(await stuck()).toBe(1);
    now.mockReturnValue(249);
    expect(await stuck()).toBe(1);
    now.mockReturnValue(250);
    expect(await stuck()).toBe(2);
  });

  it('Observability keeps no failure: the next operator causes another read', async () => {
    const { asked, stuck } = observability();
    asked.fails = true;
    await expect(stuck()).rejects.toThrow(DependencyUnavailable);
    asked.fails = false;
    expect(await stuck()).toBe(2);
  });
});
