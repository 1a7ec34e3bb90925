import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Listeners, LOGGER, type Logger } from '#platform';
import { type ActivityOwner } from '../activity-store.js';

interface ImportListener {
  /** All summaries of the athlete's history at the vendor are stored. */
  summariesListed(owner: ActivityOwner): Promise<unknown>;
}

/** Notifies another lib in this process. A notice is lost if the process dies, so each listener also has a sweep. */
@Injectable()
export class ImportNews extends Listeners<ImportListener> implements OnApplicationBootstrap {
  constructor(@Inject(LOGGER) logger: Logger) {
    super('listener to imports', logger);
  }

  onApplicationBootstrap(): void {
    this.assertAny();
  }

  summariesListed(owner: ActivityOwner): Promise<void> {
    return this.callAll((listener) => listener.summariesListed(owner));
  }
}
