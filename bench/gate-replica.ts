// A replica for the gate's benchmark. For each message over IPC it sends `requests` identical requests to its coalescer at once.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { createLogger } from '#platform';
import { Coalescer, subscriberConnection, reliabilityConnection } from '#reliability';

interface Order {
  readonly intent: string;
  readonly requests: number;
  readonly workMs: number;
}

export interface Told {
  readonly calls: number;
  readonly answered: number;
  readonly slowestMs: number;
}

const config = { url: process.env.REDIS_URL ?? '', keyPrefix: process.env.REDIS_KEY_PREFIX ?? '' };
const logger = createLogger({ level: 'warn', process: 'bench' });
const redis = reliabilityConnection(config, logger);
const subscriber = subscriberConnection(config, logger);
await Promise.all([once(redis, 'ready'), once(subscriber, 'ready')]);
const coalescer = new Coalescer(redis, subscriber, logger);

process.on('message', ({ intent, requests, workMs }: Order) => {
  void shareAll(intent, requests, workMs).then((told) => process.send?.(told));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function shareAll(intent: string, requests: number, workMs: number): Promise<Told> {
  let calls = 0;
  let slowestMs = 0;
  const ask = { scope: 'bench', client: 'tv', intent, supersedes: true, deadlineMs: 4_000 };
  const one = async () => {
    const askedAt = performance.now();
    await coalescer.share(ask, async () => {
      calls += 1;
      await pause(workMs);
      return { sources: [{ url: 'https://video.example/1.mp4' }] };
    });
    slowestMs = Math.max(slowestMs, performance.now() - askedAt);
  };
  const answers = await Promise.allSettled(Array.from({ length: requests }, one));
  return { calls, answered: answers.filter(({ status }) => status === 'fulfilled').length, slowestMs };
}
