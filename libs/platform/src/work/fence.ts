import { Counter } from 'prom-client';
import { type Sql, type Statement } from '../database/database.js';
import { prepared } from '../database/load-sql.js';
import { startAtZero } from '../metrics/start-at-zero.js';

/** Counts writes of workers whose lease had ended. The fence did not match, so these writes changed nothing. */
export const fenceRejected = new Counter({
  name: 'fence_rejected_total',
  help: 'Writes that were refused because another worker had claimed the work, or it was cancelled',
  labelNames: ['kind'],
});

/**
 * The claim is over: another worker has the row, or it was cancelled. A write throws it within a transaction, so that all
 * of it is rolled back. The worker then ends the attempt and writes nothing more.
 */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
  constructor() {
    super('The work was cancelled, or another worker has claimed it');
  }
}

/** The number that a claim's writes must match. A bigint, so node-postgres returns a string. */
export interface Fenced {
  readonly fence: string;
}

/**
 * Answers of fenced writes, and the renewal of leases, for one table with the columns `leased_until timestamptz` and `fence bigint`:
 *
 * - A claim takes rows with `is_free(leased_until)`, raises `fence` and sets `leased_until = lease_end(ms)`. Both functions are in
 *   migration 0025; they judge by the database's clock.
 * - Each write of an attempt has `fence = …` in its condition. A write that ends the attempt sets `leased_until = null`.
 */
export class FencedRows {
  private readonly renewal: Statement;

  /** `key`: the columns that name a row. `kind`: the label of `fence_rejected_total`. */
  constructor(
    private readonly kind: string,
    table: string,
    ...key: readonly string[]
  ) {
    startAtZero(fenceRejected, [{ kind }]);
    this.renewal = prepared(
      `renew ${table}`,
      `
        update ${table}
        set leased_until = lease_end($2)
        where fence = $1
          and leased_until is not null
          and ${key.map((column, index) => `${column} = $${index + 3}`).join(' and ')}`,
    );
  }

  /** False: the claim is over. Not counted as a rejected write, since nothing was to be written. */
  async renew(
    sql: Sql,
    key: string | readonly string[],
    { fence }: Fenced,
    leaseMs: number,
  ): Promise<boolean> {
    const { count } = await sql.query(this.renewal, [fence, leaseMs, ...[key].flat()]);
    return count > 0;
  }

  /** True if the fence of the write matched; of `expected` fences, if at least one matched. Counts the fences that did not match. */
  accepted({ count }: { readonly count: number }, expected = 1): boolean {
    if (count < expected) fenceRejected.inc({ kind: this.kind }, expected - count);
    return count > 0;
  }

  /** Throws ClaimLost if the fence of a write did not match. */
  require(result: { readonly count: number }): void {
    if (!this.accepted(result)) throw new ClaimLost();
  }
}
