import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  atMostEntries,
  type AthleteIdentity,
  athleteIdOf,
  canonicalSubject,
  type Config,
  CONFIG,
  Database,
  loadSql,
  OneAtATime,
  type Sql,
} from '#platform';
import { ConnectionCut } from './errors.js';

const ensureAthlete = loadSql(import.meta.url, './sql/ensure-athlete.sql');

const MAX_CACHED = 50_000;
const MAX_CACHED_MS = 60_000;
const MIN_CACHED_MS = 30_000;
// If another process inserts the same athlete at the same moment, the next try finds the committed row.
const MAX_TRIES = 3;

type Identity = Pick<AthleteIdentity, 'athleteId' | 'issuer' | 'subject'>;

/** The row of an athlete. */
interface EnsuredAthlete {
  readonly id: string;
  readonly isNew: boolean;
}

/**
 * The rows of `athlete`. An athlete is created by their first authenticated request, without registration. The caches forget an id when its
 * row is deleted (`DeletedAthletes`), or within a minute if Redis was away.
 */
@Injectable()
export class Athletes {
  // This cache saves a statement per request. Its key is the id computed from issuer and subject.
  private readonly known = new LRUCache<string, string>({
    ...atMostEntries(MAX_CACHED),
    ttl: MAX_CACHED_MS,
  });
  private readonly ensuring = new OneAtATime<string>();
  private forgotten = 0;

  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: { readonly auth: Pick<Config['auth'], 'issuer'> } = { auth: {} },
  ) {}

  /** The caller's athlete id from this process's cache. An entry ends 30 to 60 s after the last `ensure` of that caller. */
  knownId({ athleteId }: Identity): string | undefined {
    return this.known.get(athleteId);
  }

  /** Looks at all cached ids: 50,000 take 5 ms. */
  forget(athleteId: string): void {
    this.forgotten += 1;
    for (const [key, id] of this.known.entries()) if (id === athleteId) this.known.delete(key);
  }

  /** The ids under which the caller's athlete may be stored: an athlete stored without an issuer has another id. */
  possibleIds(caller: Identity): readonly string[] {
    return [caller.athleteId, ...(this.ownsIssuer(caller) ? [athleteIdOf('', caller.subject)] : [])];
  }

  /** Returns the id of the caller's athlete, and creates the athlete if there is none. */
  ensure(caller: Identity): Promise<string> {
    return this.ensuring.run(caller.athleteId, async () => (await this.findOrCreate(caller)).id);
  }

  /** Creates the athlete whose token will have this subject, before the first login. Without JWT_ISSUER the issuer is empty. */
  register(subject: string): Promise<EnsuredAthlete> {
    const { issuer = '' } = this.config.auth;
    const canonical = canonicalSubject(subject);
    return this.findOrCreate({ athleteId: athleteIdOf(issuer, canonical), issuer, subject: canonical });
  }

  async exists(athleteId: string): Promise<boolean> {
    const { count } = await this.database.query('select 1 from athlete where id = $1', [athleteId]);
    return count > 0;
  }

  /** The generation rises when a connection is cut. An answer to a call made in an earlier generation must not be stored. */
  async generationOf(athleteId: string): Promise<number> {
    const statement = 'select generation::int as generation from athlete where id = $1';
    const { rows } = await this.database.query<{ generation: number }>(statement, [athleteId]);
    if (!rows[0]) throw new ConnectionCut();
    return rows[0].generation;
  }

  /** Runs `work`, which stores a vendor's answer, in one transaction. Throws ConnectionCut if the generation has ended. */
  inGeneration<T>(athleteId: string, generation: number, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.whileLocked('share', athleteId, generation, work);
  }

  /** Like `inGeneration`. In addition, no other transaction stores this athlete's vendor data at the same time. */
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

  /**
   * An athlete whose token had no `iss` is stored without an issuer. After JWT_ISSUER is configured, the athlete's next call stores that
   * issuer. Without JWT_ISSUER nothing verifies the issuer of a token, so a stored athlete gets no issuer.
   */
  private async findOrCreate(caller: Identity): Promise<EnsuredAthlete> {
    const { athleteId, issuer, subject } = caller;
    const assigns = this.ownsIssuer(caller);
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const { forgotten } = this;
      const values = [athleteId, issuer, subject, assigns];
      const { rows } = await this.database.query<{ id: string; is_new: boolean }>(ensureAthlete, values);
      if (!rows[0]) continue;
      // The row may be of an athlete who was deleted meanwhile.
      if (forgotten === this.forgotten) this.known.set(athleteId, rows[0].id, { ttl: randomTtlMs() });
      return { id: rows[0].id, isNew: rows[0].is_new };
    }
    throw new Error('The athlete was neither found nor created');
  }

  /** True if the token's issuer is the configured one. Athletes without an issuer are assigned to no other issuer. */
  private ownsIssuer({ issuer }: Identity): boolean {
    return issuer !== '' && issuer === this.config.auth.issuer;
  }
}

/** Random, so that athletes cached at the same moment, after a restart for example, do not expire at the same moment. */
function randomTtlMs(): number {
  return MIN_CACHED_MS + Math.random() * (MAX_CACHED_MS - MIN_CACHED_MS);
}
