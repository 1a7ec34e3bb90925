import { Injectable } from '@nestjs/common';
import { Database, prepared } from '#platform';
import { type NightVendor } from '../contract/night-events.js';

export const listNights = prepared(
  'list sleep nights',
  `
    select to_char(date, 'YYYY-MM-DD') as date, duration_minutes, quality_score, vendor, captured_at
    from sleep_data
    where user_id = $1
      and date >= coalesce($2, '-infinity'::date)
      and date <= coalesce($3, 'infinity'::date)
      and date < coalesce($4, 'infinity'::date)
    -- With its table: without it, date is the text of the answer, and all nights would be sorted.
    order by sleep_data.date desc
    limit $5`,
);

interface NightView {
  readonly date: string;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: NightVendor;
  readonly captured_at: Date;
}

interface NightRange {
  readonly from?: string;
  readonly to?: string;
  readonly cursor?: string;
  readonly limit: number;
}

interface NightPage {
  readonly items: readonly NightView[];
  readonly next_cursor: string | null;
}

/** Lists a user's nights, newest first. */
@Injectable()
export class Nights {
  constructor(private readonly database: Database) {}

  async list(userId: string, { from, to, cursor, limit }: NightRange): Promise<NightPage> {
    // One row more than the limit shows whether there is a next page.
    const { rows } = await this.database.query<NightView>(listNights, [userId, from, to, cursor, limit + 1]);
    const items = rows.slice(0, limit);
    return { items, next_cursor: rows.length > limit ? (items.at(-1)?.date ?? null) : null };
  }
}
