import { type Sql } from '#platform';

/** One kind of record that we hold about an athlete. Whoever owns the table says how it is read and how it is deleted. */
export interface PersonalRecords {
  /** As the archive and the receipt name them. */
  readonly name: string;
  /** Whose data it is; null: the athlete's own, which goes with the account only. */
  readonly provider: string | null;
  /** In pages, so that neither side holds a whole history in memory. */
  read(athleteId: string): AsyncIterable<readonly object[]>;
  /** Deletes some; answers how many, 0 once there are none left. Absent where they go with something else. */
  deleteSome?(sql: Sql, athleteId: string, accounts: Readonly<Record<string, string>>): Promise<number>;
}

export const PERSONAL_RECORDS = Symbol('personal records');
