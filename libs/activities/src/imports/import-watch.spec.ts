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
    watch = new ImportWatch({ read: () => answer() } as unknown as Imports);
  });
  afterEach(() => {
    watch.beforeApplicationShutdown();
    jest.useRealTimers();
  });

  /** The emitted statuses, and how the subscription ended. */
  function follow(athleteId: string, first = running) {
    const emitted: Array<string | undefined> = [];
    const followed: { emitted: typeof emitted; end?: unknown; subscription?: Subscription } = { emitted };
    followed.subscription = watch.follow(athleteId, 'one', first).subscribe({
      next: (view) => emitted.push(view?.status),
      error: (error: unknown) => (followed.end = error),
      complete: () => (followed.end = 'completed'),
    });
    return followed;
  }

  const times = (count: number, athleteId = 'ann') => Array.from({ length: count }, () => follow(athleteId));

  it('follow emits each change of an import once, also the end', async () => {
    const { emitted } = follow('ann');
    await jest.advanceTimersByTimeAsync(1_000);
    answer = () => Promise.resolve(completed);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(emitted).toEqual(['started', 'completed']);
  });

  it('follow refuses the sixth simultaneous follower of an athlete, and accepts a follower of another athlete', () => {
    const five = times(5);
    expect(follow('ann').end).toBeInstanceOf(TooManyFollowers);
    expect(five.map(({ end }) => end)).toEqual(five.map(() => undefined));
    expect(follow('ben').end).toBeUndefined();
  });

  it.each<[string, (followed: ReturnType<typeof follow>) => unknown]>([
    ['unsubscribes', ({ subscription }) => subscription?.unsubscribe()],
    ['gets the end of the import', () => (answer = () => Promise.resolve(completed))],
    ['gets an error', () => (answer = () => Promise.reject(new Error('away')))],
  ])('follow accepts another follower of an import after one follower %s', async (_, leave) => {
    leave(times(5)[0]!);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(follow('ann').end).toBeUndefined();
  });

  it('a follower takes no place if the import has ended, or without a subscription', () => {
    for (let time = 0; time < 10; time += 1) watch.follow('ann', 'one', running);
    for (let time = 0; time < 10; time += 1) expect(follow('ann', completed).end).toBe('completed');
  });
});
