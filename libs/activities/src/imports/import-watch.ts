import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Observable } from 'rxjs';
import { type ImportStatus, isUnfinished } from './import-job.js';
import { Imports } from './imports.js';
import { type ImportView } from './import-view.js';

const LOOK_AGAIN_MS = 500;

/** An import as it goes on: each change once, the end included. */
@Injectable()
export class ImportWatch implements BeforeApplicationShutdown {
  private readonly ending = new AbortController();

  constructor(private readonly imports: Imports) {}

  beforeApplicationShutdown(): void {
    this.ending.abort();
  }

  follow(athleteId: string, id: string, first: ImportView): Observable<ImportView> {
    return new Observable((subscriber) => {
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
      this.ending.signal.addEventListener('abort', end);
      tell(first);
      return () => {
        clearTimeout(timer);
        this.ending.signal.removeEventListener('abort', end);
      };
    });
  }
}
