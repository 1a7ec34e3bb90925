import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Thread, Turns } from '#platform';
import { cutBody } from './answer.js';
import { type Cut, type ThreadAnswer, type ThreadRequest } from './cut.js';

const MOST_AT_ONCE = 2;
// The gzipped size of 90 minutes of eleven channels. Cutting them takes 6 ms, less than the start of a thread.
const SHORT_BYTES = 100_000;

const cuts = new Counter({
  name: 'stream_cuts_total',
  help: 'Parts of recordings (`channels`, `points`) that were computed, or begun and given up since the reader left',
  labelNames: ['result'] as const,
});

const THREAD_FILE = new URL('./cut-thread.js', import.meta.url);

/** A cut of an activity's recording for one reader. */
export interface CutRequest {
  readonly athleteId: string;
  readonly cut: Cut;
  /** Aborted when the reader has left or was answered with a timeout. */
  readonly signal?: AbortSignal | undefined;
}

interface StoredBody {
  /** Equal for equal bodies. */
  readonly key: string;
  /** Gzipped. */
  readonly body: Buffer;
}

interface CutThread {
  readonly thread: Thread<ThreadRequest, ThreadAnswer>;
  isBusy: boolean;
  key: string;
}

/**
 * Makes cuts of recordings, two at a time in a process and one at a time for an athlete. Without these limits a client could
 * request 100,000 different cuts of a day's recording, each of 60 ms or more. Recordings over 100 kB (gzipped) are cut in a thread.
 *
 * If the reader leaves before the turn, nothing is computed. If the reader leaves later, the cut ends after the present step. The
 * thread is kept: a new thread takes longer to start than a step, and would parse the recording again.
 */
@Injectable()
export class Cutter implements OnApplicationShutdown {
  private readonly turns = new Turns(MOST_AT_ONCE);
  private readonly threads: readonly CutThread[];

  constructor() {
    this.threads = Array.from({ length: MOST_AT_ONCE }, () => ({
      thread: new Thread({
        file: THREAD_FILE,
        name: 'parts of recordings',
        // Ten times the heap that a day's recording takes.
        mostHeapMb: 512,
        longestMs: 5_000,
        idleMs: 30_000,
      }),
      isBusy: false,
      key: '',
    }));
  }

  /** Runs `work` in the athlete's turn, so that its memory use is limited too. Rejects if the reader leaves before the turn. */
  run<T>({ athleteId, signal }: CutRequest, work: () => Promise<T>): Promise<T> {
    return this.turns.run(athleteId, work, signal);
  }

  /** Call this only within a turn. */
  async cut(stored: StoredBody, { cut, signal }: CutRequest): Promise<Buffer> {
    signal?.throwIfAborted();
    const isShort = stored.body.length <= SHORT_BYTES;
    const bytes = isShort ? cutBody(stored.body, cut) : await this.cutInThread(stored, cut, signal);
    cuts.inc({ result: 'made' });
    return bytes;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.threads.map(({ thread }) => thread.end()));
  }

  private async cutInThread(stored: StoredBody, cut: Cut, signal?: AbortSignal): Promise<Buffer> {
    const { key } = stored;
    const free = this.threads.filter(({ isBusy }) => !isBusy);
    const own = free.find((one) => one.key === key) ?? free[0];
    if (!own) throw new Error('more running turns than threads');
    own.isBusy = true;
    own.key = key;
    const hasLeft = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const onAbort = () => void Atomics.store(hasLeft, 0, 1);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const answer = await own.thread.ask({ ...stored, cut, hasLeft });
      if (!('error' in answer)) return Buffer.from(answer.body);
      if (signal?.aborted) cuts.inc({ result: 'given_up' });
      signal?.throwIfAborted();
      throw new Error(`cannot cut the recording: ${answer.error}`);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      own.isBusy = false;
    }
  }
}
