import { type ServerResponse } from 'node:http';

/** The outcome of one pass of the operators' loop. */
interface News {
  /** The text of the events of this pass; empty if nothing has changed. */
  readonly changes: string;
  /** The text of the newest overview, or of the event that there is none. */
  readonly state: string | undefined;
}

/**
 * One operator's stream. A client that reads too slowly misses changes and gets `missed` in their place, so a stream holds at most the events
 * of one pass in memory. If it has taken nothing from one ping to the next, it is dropped.
 */
export class OperatorStream {
  private sentState: string | undefined;
  private hasMissed = false;
  private isBehind = false;

  constructor(
    private readonly to: ServerResponse,
    readonly assertAllowed: () => Promise<void>,
    private readonly missed: string,
  ) {
    to.write('retry: 1000\n\n');
  }

  send({ changes, state }: News): void {
    if (this.isOver) return;
    if (this.to.writableLength > 0) {
      this.hasMissed ||= changes !== '';
      return;
    }
    const isNew = state !== undefined && state !== this.sentState;
    const text = (this.hasMissed ? this.missed : changes) + (isNew ? state : '');
    this.hasMissed = false;
    if (isNew) this.sentState = state;
    if (text !== '') this.to.write(text);
  }

  ping(): void {
    if (this.isOver) return;
    if (this.to.writableLength === 0) {
      this.isBehind = false;
      this.to.write(': ping\n\n');
      return;
    }
    if (this.isBehind) this.to.destroy();
    this.isBehind = true;
  }

  end(): void {
    if (this.to.writableLength > 0) this.to.destroy();
    else this.to.end();
  }

  private get isOver(): boolean {
    return this.to.writableEnded || this.to.destroyed;
  }
}
