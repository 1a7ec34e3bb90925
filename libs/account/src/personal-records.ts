import { Injectable } from '@nestjs/common';
import { Registration, type Sql } from '#platform';

/** One kind of record about an athlete. The lib that owns the table implements its reading and deleting. */
export interface PersonalRecords {
  /** The name in the archive and in the receipt. */
  readonly name: string;
  /**
   * The vendor that the data comes from. `any` means data of every vendor; `deleteSome` then deletes only the data of `accounts` or of
   * `provider`. Null means the athlete's own data, which is deleted only with the account.
   */
  readonly provider: string | null;
  /**
   * Yields pages of about a megabyte, so that neither side holds a whole history in memory. A single larger record is a page of its own. A
   * record may be a buffer with its JSON as stored: that takes a tenth of the time of parsing the JSON and stringifying it again.
   */
  read(athleteId: string): AsyncIterable<readonly (object | Buffer)[]>;
  /**
   * Deletes some records and returns how many; 0 means that none are left. The method is absent if the records are only exported, or if
   * another deletion cascades to them. `provider`: the vendor whose data is deleted; null: all vendors, with the account.
   */
  deleteSome?(
    sql: Sql,
    athleteId: string,
    accounts: Readonly<Record<string, string>>,
    provider: string | null,
  ): Promise<number>;
  /** True while a call to the vendor may still begin, although the connections have ended. A deletion waits until it is false. */
  hasOpenCalls?(athleteId: string, provider: string | null): Promise<boolean>;
}

/** A deletion whose rows in Postgres are already deleted. */
export interface Departure {
  readonly id: string;
  readonly athlete_id: string;
  /** The athlete's user id in sleep events; null if the athlete had no row. */
  readonly subject: string | null;
  /** Null: the whole account. */
  readonly provider: string | null;
  /** The vendors' ids of the accounts that ended. */
  readonly accounts: Readonly<Record<string, string>>;
  readonly rows_deleted_at: Date;
}

/**
 * Erases data outside of Postgres and publishes notices of the deletion. A receipt is completed only after all `Remains` have done this.
 */
export interface Remains {
  /** The name in the receipt. */
  readonly name: string;
  /** Handles all departures in one pass. Rejects if a server is away. The caller may repeat it at any time. */
  erase(
    departures: readonly Departure[],
    count: (departure: Departure, deleted: number) => Promise<void>,
  ): Promise<void>;
}

/** The kinds of data about an athlete. They lie in all libs, and their order matters, so each app registers its lists. */
@Injectable()
export class AccountBindings {
  /** In the order of export and deletion. */
  readonly records = new Registration<readonly PersonalRecords[]>('list of personal records');
  /** Required by the worker, which deletes. */
  readonly remains = new Registration<readonly Remains[]>('list of remains');
}
