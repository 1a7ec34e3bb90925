import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Gather } from './gather.js';

describe('questions of one turn', () => {
  const gather = () => {
    const put: string[][] = [];
    const asked = new Gather<string, string>(
      (questions) => {
        put.push([...questions]);
        if (questions.includes('b-bad')) return Promise.reject(new Error('no'));
        return Promise.resolve(questions.map((question) => `${question}!`));
      },
      { areAlike: (one, other) => one[0] === other[0] },
    );
    return { put, asked };
  };

  it('go together if they are alike, and each gets its own answer', async () => {
    const { put, asked } = gather();
    const answers = await Promise.all(['a1', 'b1', 'a2'].map((question) => asked.ask(question)));
    expect(answers).toEqual(['a1!', 'b1!', 'a2!']);
    expect(put).toEqual([['a1', 'a2'], ['b1']]);
  });

  it('also those that a promise of the same turn asks', async () => {
    const { put, asked } = gather();
    const later = Promise.resolve().then(() => asked.ask('a2'));
    await Promise.all([asked.ask('a1'), later]);
    await setImmediate();
    await asked.ask('a3');
    expect(put).toEqual([['a1', 'a2'], ['a3']]);
  });

  it('fail with their like only', async () => {
    const { asked } = gather();
    const [a, b, bad] = await Promise.allSettled(
      ['a1', 'b1', 'b-bad'].map((question) => asked.ask(question)),
    );
    expect([a?.status, b?.status, bad?.status]).toEqual(['fulfilled', 'rejected', 'rejected']);
  });

  it('wait and grow while as many as allowed are under way, and go on after a failure', async () => {
    const put: string[][] = [];
    const ends: Array<(error?: Error) => void> = [];
    const asked = new Gather<string, string>(
      (questions) => {
        put.push([...questions]);
        return new Promise((resolve, reject) =>
          ends.push((error) => (error ? reject(error) : resolve(questions))),
        );
      },
      { turnEnd: 'poll', mostAtOnce: 1 },
    );
    const first = asked.ask('a1');
    await setImmediate();
    const others = [asked.ask('a2'), asked.ask('a3')];
    await setImmediate();
    others.push(asked.ask('a4'));
    await setImmediate();
    expect(put).toEqual([['a1']]);
    ends[0]?.(new Error('no'));
    await expect(first).rejects.toThrow('no');
    expect(put).toEqual([['a1'], ['a2', 'a3', 'a4']]);
    ends[1]?.();
    expect(await Promise.all(others)).toEqual(['a2', 'a3', 'a4']);
  });
});
