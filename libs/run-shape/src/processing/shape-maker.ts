import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Thread } from '#platform';
import { type RunShape } from '../run-shape.js';
import { type ShapeOutcome, type ShapeRequest } from './shape-thread.js';

/** Computes shapes in a thread, one at a time. A shape fails if it takes more than 5 s. The shape maker does not retry. */
@Injectable()
export class ShapeMaker implements OnApplicationShutdown {
  private readonly thread = new Thread<ShapeRequest, ShapeOutcome>({
    file: new URL('./shape-thread.js', import.meta.url),
    name: 'run shapes',
    // The longest recording takes a tenth of this heap.
    mostHeapMb: 512,
    // The longest recording takes a tenth of this time. Up to 15 requests wait behind one, and 16 × 5 s is less than a run's deadline.
    longestMs: 5_000,
  });

  private last: Promise<unknown> = Promise.resolve();

  async make(request: ShapeRequest, signal: AbortSignal): Promise<RunShape> {
    const before = this.last;
    const made = before.then(() => this.thread.ask(request, signal));
    this.last = made.catch(() => undefined);
    const answer = await made;
    if ('error' in answer) throw new Error(`The shape could not be made: ${answer.error}`);
    return answer.shape;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.end();
  }
}
