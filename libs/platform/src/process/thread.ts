import { Worker } from 'node:worker_threads';

interface ThreadOptions {
  /** A program that answers each message with one message. */
  readonly file: URL;
  readonly name: string;
  /** Without a limit, one huge request would exhaust the process's memory. */
  readonly mostHeapMb: number;
  readonly longestMs: number;
  /** A thread that gets no request for this long is ended, which frees its memory. By default the thread stays. */
  readonly idleMs?: number;
}

/**
 * A thread for work that would block the event loop. It starts with the first request. If a request takes too long or is aborted, the
 * thread is ended, because nothing else stops a computation. The next request starts a new thread.
 *
 * A thread answers one request at a time: a caller sends the next request only after the answer.
 */
export class Thread<Request, Answer> {
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(private readonly options: ThreadOptions) {}

  async ask(request: Request, signal?: AbortSignal): Promise<Answer> {
    signal?.throwIfAborted();
    clearTimeout(this.idle);
    const worker = (this.worker ??= this.start());
    const { longestMs, name } = this.options;
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => giveUp(new Error(`${name}: the request took longer than ${longestMs / 1_000} s`)),
        longestMs,
      );
      const end = () => {
        clearTimeout(timer);
        worker.off('message', onAnswer).off('error', onError).off('exit', onExit);
        signal?.removeEventListener('abort', onAbort);
      };
      const giveUp = (error: Error) => {
        end();
        if (this.worker === worker) this.worker = undefined;
        void worker.terminate();
        reject(error);
      };
      const onAnswer = (answer: Answer) => {
        end();
        this.rest();
        resolve(answer);
      };
      const onError = (cause: Error) => giveUp(new Error(`${name}: the thread failed`, { cause }));
      const onExit = () => giveUp(new Error(`${name}: the thread has ended`));
      const onAbort = () => giveUp(signal?.reason as Error);
      worker.on('message', onAnswer).on('error', onError).on('exit', onExit);
      signal?.addEventListener('abort', onAbort, { once: true });
      worker.postMessage(request);
    });
  }

  async end(): Promise<void> {
    clearTimeout(this.idle);
    const { worker } = this;
    // A request that comes while this thread ends starts another thread.
    this.worker = undefined;
    await worker?.terminate();
  }

  private rest(): void {
    if (this.options.idleMs === undefined) return;
    this.idle = setTimeout(() => void this.end(), this.options.idleMs);
    this.idle.unref();
  }

  private start(): Worker {
    const { file, name, mostHeapMb } = this.options;
    const worker = new Worker(file, { name, resourceLimits: { maxOldGenerationSizeMb: mostHeapMb } });
    // If a thread ends between two requests, the next request starts a new thread. Without a listener, its `error` event would end the
    // process.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = undefined;
    });
    // The thread does not keep the process alive.
    worker.unref();
    return worker;
  }
}
