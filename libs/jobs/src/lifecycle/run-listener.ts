import { type Sql } from '#platform';

export const RUN_LISTENER = Symbol('run listener');

/** What else is to be written when runs succeed: in the transaction that ends them, so never without it and never lost. */
export interface RunListener {
  /** False: nothing follows, and no transaction is needed. */
  readonly isOn: boolean;
  succeeded(sql: Sql, runIds: readonly string[]): Promise<void>;
}
