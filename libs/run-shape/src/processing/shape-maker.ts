import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type RunShape } from '../run-shape.js';
import { type ShapeAnswer, type ShapeRequest } from './shape-request.js';

const THREAD = new URL('./shape-thread.js', import.meta.url);
// Ten times what the longest recording takes. Without a bound one that is a bomb would end the process, not only its run.
const MOST_HEAP_MB = 512;
// Ten times what the longest recording takes. Fifteen may wait behind it, and all of them together have less than their deadline.
const LONGEST_MS = 5_000;

/** Shapes, made one at a time in a thread that is started with the first and ended where one takes too long. */
@Injectable()
export class ShapeMaker implements OnApplicationShutdown {
  private thread: Worker | undefined;
  private last: Promise<unknown> = Promise.resolve();

  async make(request: ShapeRequest, signal: AbortSignal): Promise<RunShape> {
    const before = this.last;
    const made = before.then(() => this.ask(request, signal));
    this.last = made.catch(() => undefined);
    const answer = await made;
    if ('error' in answer) throw new Error(`The shape could not be made: ${answer.error}`);
    return answer.shape;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread?.terminate();
  }

  private ask(request: ShapeRequest, signal: AbortSignal): Promise<ShapeAnswer> {
    signal.throwIfAborted();
    const thread = (this.thread ??= this.start());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => giveUp(new Error(`It took longer than ${LONGEST_MS / 1_000} s`)),
        LONGEST_MS,
      );
      const end = () => {
        clearTimeout(timer);
        thread.off('message', onAnswer).off('error', onError).off('exit', onExit);
        signal.removeEventListener('abort', onAbort);
      };
      const giveUp = (error: Error) => {
        end();
        if (this.thread === thread) this.thread = undefined;
        // Nothing else ends a computation.
        void thread.terminate();
        reject(error);
      };
      const onAnswer = (answer: ShapeAnswer) => {
        end();
        resolve(answer);
      };
      const onError = (cause: Error) => giveUp(new Error('The shape could not be made', { cause }));
      const onExit = () => giveUp(new Error('The thread that makes shapes has ended'));
      const onAbort = () => giveUp(signal.reason as Error);
      thread.on('message', onAnswer).on('error', onError).on('exit', onExit);
      signal.addEventListener('abort', onAbort, { once: true });
      thread.postMessage(request);
    });
  }

  private start(): Worker {
    const thread = new Worker(THREAD, {
      name: 'run shapes',
      resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB },
    });
    // One that ends while nobody waits is simply started again. An error without a listener would end the process.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.thread === thread) this.thread = undefined;
    });
    // The process does not live for its sake.
    thread.unref();
    return thread;
  }
}
