import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { Thread } from './thread.js';

// Counts its requests: a thread that was started again begins at 1.
const PROGRAM = `
  import { parentPort } from 'node:worker_threads';
  let count = 0;
  parentPort.on('message', (what) => {
    count += 1;
    if (what === 'end') process.exit(1);
    if (what === 'throw') throw new Error('broken');
    if (what === 'for ever') for (;;);
    parentPort.postMessage({ what, count });
  });`;
const file = new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`);

describe('a thread that answers requests', () => {
  const threads: Thread<string, { what: string; count: number }>[] = [];
  const start = (bounds: { longestMs?: number; idleMs?: number } = {}) => {
    const options = { file, name: 'test', mostHeapMb: 64, longestMs: 60_000, ...bounds };
    const thread = new Thread<string, { what: string; count: number }>(options);
    threads.push(thread);
    return thread;
  };
  afterEach(() => Promise.all(threads.splice(0).map((thread) => thread.end())));

  it('a Thread answers requests one after the other and keeps its state', async () => {
    const thread = start();
    expect(await thread.ask('a')).toEqual({ what: 'a', count: 1 });
    expect(await thread.ask('b')).toEqual({ what: 'b', count: 2 });
  });

  it.each(['end', 'throw'])(
    'a Thread rejects the request during which it ends (%s), and answers the next request',
    async (failure) => {
      const thread = start();
      await thread.ask('a');
      await expect(thread.ask(failure)).rejects.toThrow('test: the thread');
      expect(await thread.ask('b')).toEqual({ what: 'b', count: 1 });
    },
  );

  it('a Thread ends if its request takes too long, and answers the next request', async () => {
    const thread = start({ longestMs: 2_000 });
    await expect(thread.ask('for ever')).rejects.toThrow('longer than 2 s');
    expect(await thread.ask('b')).toEqual({ what: 'b', count: 1 });
  });

  it('a Thread ends if its request is aborted, and answers the next request', async () => {
    const thread = start();
    const abort = new AbortController();
    const endless = thread.ask('for ever', abort.signal);
    abort.abort(new Error('gone'));
    await expect(endless).rejects.toThrow('gone');
    await expect(thread.ask('a', abort.signal)).rejects.toThrow('gone');
    expect(await thread.ask('b')).toEqual({ what: 'b', count: 1 });
  });

  it('a Thread ends if it is idle for a while, and answers the next request', async () => {
    const thread = start({ idleMs: 1 });
    expect((await thread.ask('a')).count).toBe(1);
    await eventually('another thread answers', async () => (await thread.ask('b')).count === 1);
  });

  it('a Thread answers a request that arrives while it ends', async () => {
    const thread = start();
    await thread.ask('a');
    const ended = thread.end();
    expect(await thread.ask('b')).toEqual({ what: 'b', count: 1 });
    await ended;
  });
});
