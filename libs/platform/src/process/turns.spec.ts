import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns.js';

describe('work that takes turns', () => {
  /** `begin` submits work that lasts until `end`; `begun` lists the names of the work that has begun, in order. */
  function setUp(mostAtOnce: number) {
    const turns = new Turns(mostAtOnce);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const begin = (owner: string, name: string, signal?: AbortSignal) =>
      turns.run(
        owner,
        () => {
          begun.push(name);
          return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
        },
        signal,
      );
    const end = async (name: string) => {
      ends.get(name)?.();
      await eventLoopTurn();
    };
    return { turns, begun, begin, end };
  }

  it('Turns runs at most mostAtOnce pieces of work at a time, and at most one of each owner', async () => {
    const { begun, begin, end } = setUp(2);
    const all = [begin('a', 'a1'), begin('a', 'a2'), begin('b', 'b1'), begin('c', 'c1'), begin('a', 'a3')];
    await eventLoopTurn();
    expect(begun).toEqual(['a1', 'b1']);
    await end('b1');
    // a2 has waited longer than c1, but owner `a` has work under way.
    expect(begun).toEqual(['a1', 'b1', 'c1']);
    await end('a1');
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2']);
    for (const name of ['c1', 'a2', 'a3']) await end(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('Turns never begins work that is aborted before its turn, and finishes work that has begun', async () => {
    const { begun, begin, end } = setUp(1);
    const controller = new AbortController();
    const first = begin('a', 'a1', controller.signal);
    const abandoned = begin('b', 'b1', controller.signal);
    const last = begin('c', 'c1');
    await eventLoopTurn();
    controller.abort(new Error('gone'));
    await expect(abandoned).rejects.toThrow('gone');
    await end('a1');
    expect(await first).toBe('a1');
    await end('c1');
    expect(await last).toBe('c1');
    expect(begun).toEqual(['a1', 'c1']);
    await expect(begin('a', 'a2', controller.signal)).rejects.toThrow('gone');
  });

  it('Turns begins the next piece of work after a piece of work has failed', async () => {
    const turns = new Turns(1);
    await expect(turns.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await turns.run('a', () => Promise.resolve(1))).toBe(1);
  });
});
