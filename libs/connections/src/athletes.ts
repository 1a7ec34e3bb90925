import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type Caller, Database, OneAtATime } from '#platform';

const REMEMBERED = 50_000;
const REMEMBERED_MS = 60_000;

/** An athlete exists from the first authenticated call on: nobody registers. */
@Injectable()
export class Athletes {
  // Saves a statement per request. It forgets after a minute: another process may have deleted the account meanwhile.
  private readonly known = new LRUCache<string, true>({ max: REMEMBERED, ttl: REMEMBERED_MS });

  private readonly ensuring = new OneAtATime<void>();

  constructor(private readonly database: Database) {}

  isKnown({ athleteId }: Caller): boolean {
    return this.known.has(athleteId);
  }

  ensure(caller: Caller): Promise<void> {
    return this.ensuring.run(caller.athleteId, () => this.insert(caller));
  }

  private async insert({ athleteId, issuer, subject }: Caller): Promise<void> {
    await this.database.query(
      'insert into athlete (id, issuer, subject) values ($1, $2, $3) on conflict (id) do nothing',
      [athleteId, issuer, subject],
    );
    this.known.set(athleteId, true);
  }
}
