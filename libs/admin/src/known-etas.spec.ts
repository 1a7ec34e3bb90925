import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { type BackfillForecast } from '#backfill';
import { createLogger, DependencyUnavailable, timeScale } from '#platform';
import { KnownEtas } from './known-etas.js';

type Etas = ReadonlyMap<string, Date>;

const FIRST: Etas = new Map([['ann', new Date(1)]]);
const SECOND: Etas = new Map([['ann', new Date(2)]]);
const silent = createLogger({ level: 'silent', process: 'test' });

describe('KnownEtas', () => {
  const now = jest.spyOn(performance, 'now');
  afterAll(() => now.mockRestore());

  /** `answer` makes the forecasts. Each is known for the shortest time of a sweep, 250 ms. */
  function knownEtas(answer: () => Promise<Etas>) {
    const forecast = { begun: 0, answer };
    const etas = () => {
      forecast.begun += 1;
      return forecast.answer();
    };
    const known = new KnownEtas({ etas } as unknown as BackfillForecast, timeScale(1e9), silent);
    return { forecast, known };
  }

  it('KnownEtas makes one forecast for all callers that request it while it is made', async () => {
    const { forecast, known } = knownEtas(() => Promise.resolve(FIRST));
    expect(await Promise.all([known.read(), known.read()])).toEqual([FIRST, FIRST]);
    expect(await known.read()).toBe(FIRST);
    expect(forecast.begun).toBe(1);
  });

  it('KnownEtas returns the previous forecast while a new one is made, and the new one afterwards', async () => {
    now.mockReturnValue(0);
    const { forecast, known } = knownEtas(() => Promise.resolve(FIRST));
    await known.read();
    let end = (_: Etas): void => undefined;
    forecast.answer = () => new Promise((resolve) => (end = resolve));
    now.mockReturnValue(300);
    expect(await known.read()).toBe(FIRST);
    expect(await known.read()).toBe(FIRST);
    expect(forecast.begun).toBe(2);
    end(SECOND);
    await new Promise(setImmediate);
    expect(await known.read()).toBe(SECOND);
  });

  it('KnownEtas returns the previous forecast after a failure, and fails once that forecast is too old', async () => {
    now.mockReturnValue(0);
    const { forecast, known } = knownEtas(() => Promise.resolve(FIRST));
    await known.read();
    forecast.answer = () => Promise.reject(new DependencyUnavailable('postgres'));
    now.mockReturnValue(300);
    expect(await known.read()).toBe(FIRST);
    now.mockReturnValue(600);
    await expect(known.read()).rejects.toThrow(DependencyUnavailable);
  });
});
