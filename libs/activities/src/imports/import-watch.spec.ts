import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Subscription } from 'rxjs';
import { TooManyFollowers } from './import-errors.js';
import { type ImportView } from './import-view.js';
import { ImportWatch } from './import-watch.js';
import { type Imports } from './imports.js';

const running = { id: 'one', status: 'started' } as ImportView;
const completed = { id: 'one', status: 'completed' } as ImportView;

describe('following an import', () => {
  let watch: ImportWatch;
  let answer: () => Promise<ImportView>;
  beforeEach(() => {
    jest.useFakeTimers();
    answer = () => Promise.resolve(running);
    watch = new ImportWatch({ look: () => answer() } as unknown as Imports);
  });
  afterEach(() => {
    watch.beforeApplicationShutdown();
    jest.useRealTimers();
  });

  /** What has been told, and how it ended. */
  function follow(athleteId: string, first = running) {
    const told: Array<string | undefined> = [];
    const followed: { told: typeof told; end?: unknown; subscription?: Subscription } = { told };
    followed.subscription = watch.follow(athleteId, 'one', first).subscribe({
      next: (view) => told.push(view?.status),
      error: (error: unknown) => (followed.end = error),
      complete: () => (followed.end = 'completed'),
    });
    return followed;
  }

  const times = (count: number, athleteId = 'ann') => Array.from({ length: count }, () => follow(athleteId));

  it('tells each change once, the end included', async () => {
    const { told } = follow('ann');
    await jest.advanceTimersByTimeAsync(1_000);
    answer = () => Promise.resolve(completed);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(told).toEqual(['started', 'completed']);
  });

  it('is refused to a sixth of one athlete at once, and to no other athlete', () => {
    const five = times(5);
    expect(follow('ann').end).toBeInstanceOf(TooManyFollowers);
    expect(five.map(({ end }) => end)).toEqual(five.map(() => undefined));
    expect(follow('ben').end).toBeUndefined();
  });

  it.each<[string, (followed: ReturnType<typeof follow>) => unknown]>([
    ['left', ({ subscription }) => subscription?.unsubscribe()],
    ['was told the end', () => (answer = () => Promise.resolve(completed))],
    ['was told of a failure', () => (answer = () => Promise.reject(new Error('away')))],
  ])('is open to another once one %s', async (_, leave) => {
    leave(times(5)[0]!);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(follow('ann').end).toBeUndefined();
  });

  it('gives no place to what has ended already, or is never listened to', () => {
    for (let time = 0; time < 10; time += 1) watch.follow('ann', 'one', running);
    for (let time = 0; time < 10; time += 1) expect(follow('ann', completed).end).toBe('completed');
  });
});
