import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger, DependencyUnavailable } from '#platform';
import { type Jobs } from '../lifecycle/jobs.js';
import { JobGauge } from './job-gauge.js';

const silent = createLogger({ level: 'silent', process: 'test' });

describe('runtime_jobs', () => {
  const now = jest.spyOn(performance, 'now');
  beforeEach(() => void now.mockReturnValue(0));
  afterAll(() => now.mockRestore());

  /** `answer` makes the counts. Its calls are statements to Postgres. */
  function gauge(answer: () => Promise<ReadonlyMap<string, number>>) {
    const counted = { times: 0, answer };
    const countByStatus = () => {
      counted.times += 1;
      return counted.answer();
    };
    new JobGauge({ countByStatus } as unknown as Jobs, silent).onApplicationBootstrap();
    return counted;
  }
  const scraped = async () => {
    const { values = [] } = (await register.getSingleMetric('runtime_jobs')?.get()) ?? {};
    return values.find(({ labels }) => labels['status'] === 'queued')?.value;
  };
  const queued = (number: number) => () => Promise.resolve(new Map([['queued', number]]));

  it('runtime_jobs counts the rows at most every 15 s, however often the process is scraped', async () => {
    const counted = gauge(queued(1));
    expect(await Promise.all([scraped(), scraped()])).toEqual([1, 1]);
    counted.answer = queued(2);
    now.mockReturnValue(14_999);
    expect(await scraped()).toBe(1);
    expect(counted.times).toBe(1);
    now.mockReturnValue(15_000);
    expect(await scraped()).toBe(2);
    expect(counted.times).toBe(2);
  });

  it('runtime_jobs is absent after a failed count, and counts again at the next scrape', async () => {
    const counted = gauge(() => Promise.reject(new DependencyUnavailable('postgres')));
    expect(await scraped()).toBeUndefined();
    counted.answer = queued(3);
    expect(await scraped()).toBe(3);
  });
});
