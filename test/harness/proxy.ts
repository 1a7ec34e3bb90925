import { once } from 'node:events';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';

type Direction = 'to the server' | 'to the client';

interface Shape {
  readonly latencyMs?: number;
  readonly bytesPerSecond?: number;
}

// From the folder of the checkout, because the compiled tests of `npm run chaos` have no copy of this file.
const THREAD = resolve('test/harness/proxy-thread.mjs');
// A command takes the thread less than a millisecond. A thread that takes longer than this has ended.
const COMMAND_MS = 10_000;
/** The counts that both threads see, by their places in the shared memory. */
const PLACES = { commands: 0, connections: 1, swallowed: 2, cutAnswers: 3 };

/**
 * A TCP proxy in front of a server, for failures of the network:
 * - `cut` resets connections and refuses new ones. `freeze` keeps connections open and passes no data.
 * - `heal` ends `cut`, `freeze`, `shape` and `mute`. It breaks the present connections; new connections work.
 * - `forget` freezes the present connections for good, and new ones work: a half-open link, as behind a router that has lost its table.
 * - `shape` delays each chunk, or passes on so many bytes a second.
 * - `mute` drops all bytes in one direction; those in the other direction still pass.
 * - `swallow` drops the bytes of a client from the first chunk on that contains the given text. The server's data still passes.
 * - `cutAfter` passes on a client's chunk that contains the given text, and breaks the connection when the server answers it: the client
 *   does not learn whether its statement was executed. Once per call.
 *
 * The connections are in a thread of their own, because the bytes would otherwise wait for the event loop of the test, longer than some
 * time-outs of the product. Each method returns once the thread has carried it out.
 */
export class Proxy {
  private constructor(
    private target: URL,
    private readonly port: number,
    private readonly thread: Worker,
    private readonly counts: Int32Array,
  ) {}

  static async before(target: string): Promise<Proxy> {
    const counts = new Int32Array(
      new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * Object.keys(PLACES).length),
    );
    const thread = new Worker(THREAD, { workerData: { target, counts, places: PLACES } });
    const [port] = (await once(thread, 'message')) as [number];
    return new Proxy(new URL(target), port, thread, counts);
  }

  /** The target's URL with the port of this proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String(this.port);
    return url.toString();
  }

  /** The number of connections that clients have opened, refused ones included. */
  get connectionCount(): number {
    return Atomics.load(this.counts, PLACES.connections);
  }

  /** The number of chunks that `swallow` has dropped. */
  get swallowed(): number {
    return Atomics.load(this.counts, PLACES.swallowed);
  }

  /** The number of answers that `cutAfter` has kept from clients. */
  get cutAnswers(): number {
    return Atomics.load(this.counts, PLACES.cutAnswers);
  }

  cut(): void {
    this.command('cut');
  }

  freeze(): void {
    this.command('freeze');
  }

  /** Accepts `count` more connections, and freezes later ones. */
  freezeAfter(count: number): void {
    this.command('freezeAfter', count);
  }

  /** Breaks all connections and connects new ones to another server, as after a fail-over. */
  moveTo(target: string): void {
    this.target = new URL(target);
    this.command('moveTo', target);
  }

  forget(): void {
    this.command('forget');
  }

  shape(shape: Shape): void {
    this.command('shape', shape);
  }

  mute(direction: Direction): void {
    this.command('mute', direction);
  }

  swallow(text: string): void {
    this.command('swallow', text);
  }

  cutAfter(text: string): void {
    this.command('cutAfter', text);
  }

  heal(): void {
    this.command('heal');
  }

  async close(): Promise<void> {
    await this.thread.terminate();
  }

  private command(command: string, ...parameters: unknown[]): void {
    const before = Atomics.load(this.counts, PLACES.commands);
    this.thread.postMessage({ command, parameters });
    if (Atomics.wait(this.counts, PLACES.commands, before, COMMAND_MS) === 'timed-out')
      throw new Error(`the proxy did not carry out ${command} within ${COMMAND_MS} ms`);
  }
}
