import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Gather } from './gather.js';

describe('Gather', () => {
  const gather = () => {
    const sent: string[][] = [];
    const gathered = new Gather<string, string>(
      (requests) => {
        sent.push([...requests]);
        if (requests.includes('b-bad')) return Promise.reject(new Error('no'));
        return Promise.resolve(requests.map((request) => `${request}!`));
      },
      { areAlike: (one, other) => one[0] === other[0] },
    );
    return { sent, gathered };
  };

  it('Gather sends requests of one turn in one batch if they are alike, and returns to each request its own answer', async () => {
    const { sent, gathered } = gather();
    const answers = await Promise.all(['a1', 'b1', 'a2'].map((request) => gathered.submit(request)));
    expect(answers).toEqual(['a1!', 'b1!', 'a2!']);
    expect(sent).toEqual([['a1', 'a2'], ['b1']]);
  });

  it('Gather adds a request to the batch if a promise callback of the same event-loop turn submits it', async () => {
    const { sent, gathered } = gather();
    const later = Promise.resolve().then(() => gathered.submit('a2'));
    await Promise.all([gathered.submit('a1'), later]);
    await setImmediate();
    await gathered.submit('a3');
    expect(sent).toEqual([['a1', 'a2'], ['a3']]);
  });

  it('Gather rejects only the requests of the failed batch', async () => {
    const { gathered } = gather();
    const [a, b, bad] = await Promise.allSettled(
      ['a1', 'b1', 'b-bad'].map((request) => gathered.submit(request)),
    );
    expect([a?.status, b?.status, bad?.status]).toEqual(['fulfilled', 'rejected', 'rejected']);
  });

  it('Gather collects requests in one larger batch while mostAtOnce batches are under way, also if such a batch fails', async () => {
    const sent: string[][] = [];
    const ends: Array<(error?: Error) => void> = [];
    const gathered = new Gather<string, string>(
      (requests) => {
        sent.push([...requests]);
        return new Promise((resolve, reject) =>
          ends.push((error) => (error ? reject(error) : resolve(requests))),
        );
      },
      { turnEnd: 'poll', mostAtOnce: 1 },
    );
    const first = gathered.submit('a1');
    await setImmediate();
    const others = [gathered.submit('a2'), gathered.submit('a3')];
    await setImmediate();
    others.push(gathered.submit('a4'));
    await setImmediate();
    expect(sent).toEqual([['a1']]);
    ends[0]?.(new Error('no'));
    await expect(first).rejects.toThrow('no');
    expect(sent).toEqual([['a1'], ['a2', 'a3', 'a4']]);
    ends[1]?.();
    expect(await Promise.all(others)).toEqual(['a2', 'a3', 'a4']);
  });
});
