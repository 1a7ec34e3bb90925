import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type Caller, Database, OneAtATime, type Sql } from '#platform';
import { ConnectionCut } from './connection-cut.js';

const REMEMBERED = 50_000;
const REMEMBERED_MS = 60_000;
const LEAST_REMEMBERED_MS = 30_000;

/** An athlete exists from the first authenticated call on: nobody registers. */
@Injectable()
export class Athletes {
  // Saves a statement per request. It forgets within a minute: another process may have deleted the account meanwhile.
  private readonly known = new LRUCache<string, true>({ max: REMEMBERED, ttl: REMEMBERED_MS });

  private readonly ensuring = new OneAtATime<void>();

  constructor(private readonly database: Database) {}

  isKnown({ athleteId }: Caller): boolean {
    return this.known.has(athleteId);
  }

  ensure(caller: Caller): Promise<void> {
    return this.ensuring.run(caller.athleteId, () => this.insert(caller));
  }

  async exists(athleteId: string): Promise<boolean> {
    const { count } = await this.database.query('select 1 from athlete where id = $1', [athleteId]);
    return count > 0;
  }

  /** Rises when a connection is cut: what was asked of the vendor before belongs to nobody any more. */
  async generationOf(athleteId: string): Promise<number> {
    const statement = 'select generation::int as generation from athlete where id = $1';
    const { rows } = await this.database.query<{ generation: number }>(statement, [athleteId]);
    if (!rows[0]) throw new ConnectionCut();
    return rows[0].generation;
  }

  /** Writes what a vendor answered, in one transaction, or throws ConnectionCut where the generation is over. */
  inGeneration<T>(athleteId: string, generation: number, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.whileLocked('share', athleteId, generation, work);
  }

  /** The same, while nobody else writes what the vendor has said of that athlete. */
  aloneInGeneration<T>(athleteId: string, generation: number, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.whileLocked('no key update', athleteId, generation, work);
  }

  private whileLocked<T>(
    lock: 'share' | 'no key update',
    athleteId: string,
    generation: number,
    work: (sql: Sql) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (sql) => {
      const statement = `select 1 from athlete where id = $1 and generation = $2 for ${lock}`;
      const { count } = await sql.query(statement, [athleteId, generation]);
      if (count === 0) throw new ConnectionCut();
      return work(sql);
    });
  }

  private async insert({ athleteId, issuer, subject }: Caller): Promise<void> {
    await this.database.query(
      'insert into athlete (id, issuer, subject) values ($1, $2, $3) on conflict (id) do nothing',
      [athleteId, issuer, subject],
    );
    this.known.set(athleteId, true, { ttl: rememberedMs() });
  }
}

/** Athletes who came together, after a restart say, are not forgotten together. */
function rememberedMs(): number {
  return LEAST_REMEMBERED_MS + Math.random() * (REMEMBERED_MS - LEAST_REMEMBERED_MS);
}
