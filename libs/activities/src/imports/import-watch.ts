import { setMaxListeners } from 'node:events';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Observable } from 'rxjs';
import { type ImportStatus, isUnfinished } from './import-job.js';
import { TooManyFollowers } from './import-errors.js';
import { Imports } from './imports.js';
import { type ImportView } from './import-view.js';

const READ_EVERY_MS = 500;
// Proxies cut silent connections.
const HEARTBEAT_MS = 15_000;
// Each follower reads the database twice a second. A person has a few windows open, not hundreds.
const MOST_FOLLOWERS = 5;

/** Follows an import until its end: emits each change once. Changes within half a second may be emitted as one. */
@Injectable()
export class ImportWatch implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly followers = new Map<string, number>();

  constructor(private readonly imports: Imports) {
    // One listener for each follower.
    setMaxListeners(0, this.stopping.signal);
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Emits null as a heartbeat. Each subscription takes one of the athlete's five places; the sixth fails with TooManyFollowers. */
  follow(athleteId: string, id: string, first: ImportView): Observable<ImportView | null> {
    return new Observable((subscriber) => {
      if (!this.takePlace(athleteId)) return subscriber.error(new TooManyFollowers(MOST_FOLLOWERS));
      subscriber.add(() => this.leavePlace(athleteId));
      let emitted = '';
      let timer: NodeJS.Timeout | undefined;
      const emit = (view: ImportView) => {
        const text = JSON.stringify(view);
        if (text !== emitted) subscriber.next(view);
        emitted = text;
        if (!isUnfinished(view.status as ImportStatus)) return subscriber.complete();
        timer = setTimeout(() => void read(), READ_EVERY_MS);
      };
      const read = async () => {
        try {
          const view = await this.imports.read(athleteId, id);
          if (!subscriber.closed) emit(view);
        } catch (error) {
          subscriber.error(error);
        }
      };
      const end = () => subscriber.complete();
      if (this.stopping.signal.aborted) return end();
      this.stopping.signal.addEventListener('abort', end);
      const heartbeat = setInterval(() => subscriber.next(null), HEARTBEAT_MS);
      emit(first);
      return () => {
        clearTimeout(timer);
        clearInterval(heartbeat);
        this.stopping.signal.removeEventListener('abort', end);
      };
    });
  }

  private takePlace(athleteId: string): boolean {
    const taken = this.followers.get(athleteId) ?? 0;
    if (taken >= MOST_FOLLOWERS) return false;
    this.followers.set(athleteId, taken + 1);
    return true;
  }

  private leavePlace(athleteId: string): void {
    const left = (this.followers.get(athleteId) ?? 0) - 1;
    if (left > 0) this.followers.set(athleteId, left);
    else this.followers.delete(athleteId);
  }
}
