import { Injectable } from '@nestjs/common';
import { Database, pagesOf } from '#platform';
import { Budgets } from './budgets.js';

const PAGE = 500;

/** Exports the vendor calls that were made for the athlete. Deleting the account removes the athlete's id from these rows. */
@Injectable()
export class CallRecords {
  readonly name = 'vendor_calls';
  readonly provider = null;

  constructor(
    private readonly database: Database,
    private readonly budgets: Budgets,
  ) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    for (const { policy } of this.budgets.all()) {
      const { vendor } = policy;
      const statement = `
        select id, '${vendor}' as vendor, endpoint, class, status, requested_at
        from ${vendor}_api_requests
        where user_id = $1 and ($2::bigint is null or id > $2)
        order by id
        limit $3`;
      yield* pagesOf(this.database, statement, { athleteId, by: 'id', size: PAGE });
    }
  }
}
