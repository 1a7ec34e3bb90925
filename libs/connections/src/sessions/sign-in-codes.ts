import { Injectable } from '@nestjs/common';
import { Database, inBatches, loadSql, type Person, Unauthenticated } from '#platform';
import { newSecret, sha256 } from '../connect/oauth-flows.js';

const createCode = loadSql(import.meta.url, '../sql/create-sign-in-code.sql');
const purgeCodes = loadSql(import.meta.url, '../sql/purge-sign-in-codes.sql');

const VALID_SECONDS = 3_600;
const PURGE_BATCH = 1_000;

/**
 * Codes that sign in once, within an hour, as the person who made them (`Sessions.beginByCode`). So a link can sign in without a token in
 * its URL. Only the hash of a code is stored.
 */
@Injectable()
export class SignInCodes {
  constructor(private readonly database: Database) {}

  /** Throws Unauthenticated if the account was deleted meanwhile. */
  async create({
    athleteId,
    role,
    account,
    expiresAtMs,
  }: Person): Promise<{ readonly code: string; readonly expiresAt: Date }> {
    const code = newSecret();
    const values = [sha256(code), athleteId, role, account, expiresAtMs / 1_000, VALID_SECONDS];
    const { rows } = await this.database.query<{ expires_at: Date }>(createCode, values);
    if (!rows[0]) throw new Unauthenticated('The account was deleted');
    return { code, expiresAt: rows[0].expires_at };
  }

  /** Deletes the codes that have expired, and returns their number. */
  purge(): Promise<number> {
    return inBatches(PURGE_BATCH, async (limit) => (await this.database.query(purgeCodes, [limit])).count);
  }
}
