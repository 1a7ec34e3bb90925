import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';
import { type Vendor } from '../contract/sleep-normalized-stored.js';

const listNights = loadSql(import.meta.url, './sql/list-nights.sql');

export interface NightView {
  readonly date: string;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: Vendor;
  readonly captured_at: Date;
}

export interface NightRange {
  readonly from?: string;
  readonly to?: string;
  readonly cursor?: string;
  readonly limit: number;
}

export interface NightPage {
  readonly items: readonly NightView[];
  readonly next_cursor: string | null;
}

/** A user's nights, newest first. */
@Injectable()
export class Nights {
  constructor(private readonly database: Database) {}

  async list(userId: string, { from, to, cursor, limit }: NightRange): Promise<NightPage> {
    // One more than asked for tells whether there is a next page.
    const { rows } = await this.database.query<NightView>(listNights, [userId, from, to, cursor, limit + 1]);
    const items = rows.slice(0, limit);
    return { items, next_cursor: rows.length > limit ? (items.at(-1)?.date ?? null) : null };
  }
}
