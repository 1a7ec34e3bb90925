import { Injectable } from '@nestjs/common';
import { Database, pagesOf } from '#platform';
import { type PersonalRecords } from './personal-records.js';

const PAGE = 100;

/** The athlete's issuer, subject and time of creation. This row is deleted last. */
@Injectable()
class AthleteRecords implements PersonalRecords {
  readonly name = 'account';
  readonly provider = null;

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const statement = 'select id, issuer, subject, created_at from athlete where id = $1';
    const { rows } = await this.database.query(statement, [athleteId]);
    if (rows.length > 0) yield rows;
  }
}

/** The receipts of the athlete's deletions. A receipt outlives the account, because it proves the deletion. */
@Injectable()
class ReceiptRecords implements PersonalRecords {
  readonly name = 'receipts';
  readonly provider = null;

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select id, coalesce(provider, 'account') as what, reason, requested_at, completed_at, deleted
      from receipt
      where athlete_id = $1 and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    return pagesOf(this.database, statement, { athleteId, by: 'id', size: PAGE });
  }
}

/** Records that are only exported: `Deletions` deletes the athlete's row itself, and receipts outlive the account. */
export const ownRecords = [AthleteRecords, ReceiptRecords];
