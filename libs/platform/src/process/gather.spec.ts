import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Gather } from './gather.js';

describe('questions of one turn', () => {
  const gather = () => {
    const put: string[][] = [];
    const asked = new Gather<string, string>(
      (one, other) => one[0] === other[0],
      (questions) => {
        put.push([...questions]);
        if (questions.includes('b-bad')) return Promise.reject(new Error('no'));
        return Promise.resolve(questions.map((question) => `${question}!`));
      },
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
});
