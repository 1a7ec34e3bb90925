import { Injectable } from '@nestjs/common';
import { Nights } from '../nights/nights.js';
import { Database } from '#platform';
import { subjectOf } from './subject-of.js';

const PAGE = 100;

/** What the account exports of the nights; they are deleted with the sessions they rest on. */
@Injectable()
export class NightRecords {
  readonly name = 'sleep';
  readonly provider = null;

  constructor(
    private readonly database: Database,
    private readonly nights: Nights,
  ) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const userId = await subjectOf(this.database, athleteId);
    if (userId === null) return;
    let cursor: string | undefined;
    do {
      const { items, next_cursor } = await this.nights.list(userId, { cursor, limit: PAGE });
      if (items.length > 0) yield items;
      cursor = next_cursor ?? undefined;
    } while (cursor !== undefined);
  }
}
