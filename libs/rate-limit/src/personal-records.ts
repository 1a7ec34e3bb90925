import { Injectable } from '@nestjs/common';
import { Database, pagesOf } from '#platform';
import { Budgets } from './budgets.js';
import { LONGEST_GUARD_MS } from './windows.js';

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

  /**
   * True while a call that was permitted before may still begin: its permit may be fresh, and it was neither answered nor given back. A call of
   * a process that was killed is open for two seconds.
   */
  async hasOpenCalls(athleteId: string, provider: string | null): Promise<boolean> {
    for (const { policy } of this.budgets.all()) {
      if (provider !== null && provider !== policy.vendor) continue;
      const statement = `
        select
        from ${policy.vendor}_api_requests
        where user_id = $1
          and status is null
          and requested_at > clock_timestamp() - $2 * interval '1 millisecond'
        limit 1`;
      const { count } = await this.database.query(statement, [athleteId, LONGEST_GUARD_MS]);
      if (count > 0) return true;
    }
    return false;
  }

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
