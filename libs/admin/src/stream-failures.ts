import { Inject, Injectable } from '@nestjs/common';
import { LOGGER, type Logger } from '#platform';
import { FailedFetches, type FailedFilter, type FailureGroup } from '#streams';
import { StreamResetOrders } from './stream-reset-orders.js';

/** An operator's view of failed stream fetches, and the reset of many. A worker resets them after the answer. */
@Injectable()
export class StreamFailures {
  constructor(
    private readonly failed: FailedFetches,
    private readonly orders: StreamResetOrders,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  byReason(error?: string): Promise<readonly FailureGroup[]> {
    return this.failed.byReason(error);
  }

  /** Orders a worker to reset all failed fetches that match the filter. Returns how many match now. */
  async reset(filter: FailedFilter, actor: string): Promise<number> {
    const matched = await this.orders.place(filter, actor);
    this.logger.info({ actor, action: 'streams.reset', matched }, 'reset of stream fetches requested');
    return matched;
  }
}
