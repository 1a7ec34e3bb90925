import { setMaxListeners } from 'node:events';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Observable } from 'rxjs';
import { type ImportStatus, isUnfinished } from './import-job.js';
import { TooManyFollowers } from './import-errors.js';
import { Imports } from './imports.js';
import { type ImportView } from './import-view.js';

const LOOK_AGAIN_MS = 500;
// Proxies cut what is silent for long.
const HEARTBEAT_MS = 15_000;
// Each looks into the database twice a second. A person has a few windows open, not hundreds.
const MOST_FOLLOWERS = 5;

/** An import as it goes on: each change once, the end included. */
@Injectable()
export class ImportWatch implements BeforeApplicationShutdown {
  private readonly ending = new AbortController();
  private readonly followers = new Map<string, number>();

  constructor(private readonly imports: Imports) {
    // One for each who follows.
    setMaxListeners(0, this.ending.signal);
  }

  beforeApplicationShutdown(): void {
    this.ending.abort();
  }

  /** Null: a sign of life. Whoever follows has a place from the subscription to its end, and there are five for an athlete. */
  follow(athleteId: string, id: string, first: ImportView): Observable<ImportView | null> {
    return new Observable((subscriber) => {
      if (!this.takePlace(athleteId)) return subscriber.error(new TooManyFollowers(MOST_FOLLOWERS));
      subscriber.add(() => this.leavePlace(athleteId));
      let told = '';
      let timer: NodeJS.Timeout | undefined;
      const tell = (view: ImportView) => {
        const text = JSON.stringify(view);
        if (text !== told) subscriber.next(view);
        told = text;
        if (!isUnfinished(view.status as ImportStatus)) return subscriber.complete();
        timer = setTimeout(() => void look(), LOOK_AGAIN_MS);
      };
      const look = async () => {
        try {
          const view = await this.imports.look(athleteId, id);
          if (!subscriber.closed) tell(view);
        } catch (error) {
          subscriber.error(error);
        }
      };
      const end = () => subscriber.complete();
      if (this.ending.signal.aborted) return end();
      this.ending.signal.addEventListener('abort', end);
      const heartbeat = setInterval(() => subscriber.next(null), HEARTBEAT_MS);
      tell(first);
      return () => {
        clearTimeout(timer);
        clearInterval(heartbeat);
        this.ending.signal.removeEventListener('abort', end);
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
