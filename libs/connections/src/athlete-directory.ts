import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  accountOf,
  type AthleteIdentity,
  atMostEntries,
  cursorAt,
  Database,
  keysetOf,
  loadSql,
  NotFound,
} from '#platform';
import { Athletes } from './athletes.js';
import { type Provider } from './oauth/provider.js';

const listAthletes = loadSql(import.meta.url, './sql/list-athletes.sql');
const showAthlete = loadSql(import.meta.url, './sql/show-athlete.sql');

const MAX_CACHED = 50_000;
// A deleted athlete is unknown after this time on every replica, even if Redis was away.
const CACHED_MS = 5_000;
const BEFORE_ALL = { place: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

interface ListedAthlete {
  readonly id: string;
  readonly subject: string;
  readonly created_at: string;
  readonly connections: ReadonlyArray<{ readonly provider: Provider; readonly status: string }>;
}

interface AthleteRow extends Omit<ListedAthlete, 'created_at'> {
  readonly created_at: Date;
  readonly place: string;
}

/** Finds, lists and creates athletes for the app's own backend, which may name an athlete before the first login. */
@Injectable()
export class AthleteDirectory {
  private readonly cached = new LRUCache<string, AthleteIdentity>({
    ...atMostEntries(MAX_CACHED),
    ttl: CACHED_MS,
  });

  constructor(
    private readonly database: Database,
    private readonly athletes: Athletes,
  ) {}

  /** Returns the athlete from this process's cache. */
  recall(id: string): AthleteIdentity | undefined {
    return this.cached.get(id);
  }

  forget(id: string): void {
    this.cached.delete(id);
  }

  async find(id: string): Promise<AthleteIdentity | undefined> {
    const { rows } = await this.database.query<{ issuer: string; subject: string }>(
      'select issuer, subject from athlete where id = $1',
      [id],
    );
    if (!rows[0]) return undefined;
    const { issuer, subject } = rows[0];
    const athlete = { athleteId: id, issuer, subject, account: accountOf({}, subject) };
    this.cached.set(id, athlete);
    return athlete;
  }

  /** Oldest first, so that a reader of all pages also finds the athletes that are created meanwhile. */
  async list(
    cursor: string | undefined,
    limit: number,
  ): Promise<{ readonly items: ListedAthlete[]; readonly next_cursor: string | null }> {
    const after = cursor === undefined ? BEFORE_ALL : keysetOf(cursor);
    const values = [after.place, after.id, limit + 1];
    const { rows } = await this.database.query<AthleteRow>(listAthletes, values);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items: items.map(viewOf), next_cursor: rows.length > limit && last ? cursorAt(last) : null };
  }

  /** Throws NotFound. */
  async show(id: string): Promise<ListedAthlete> {
    const { rows } = await this.database.query<AthleteRow>(showAthlete, [id]);
    if (!rows[0]) throw new NotFound();
    return viewOf(rows[0]);
  }

  /** Returns the athlete whose token will have this subject, and creates the athlete if there is none. */
  async register(subject: string): Promise<{ readonly athlete: ListedAthlete; readonly isNew: boolean }> {
    const { id, isNew } = await this.athletes.register(subject);
    return { athlete: await this.show(id), isNew };
  }
}

function viewOf({ place: _place, ...row }: AthleteRow): ListedAthlete {
  return { ...row, created_at: row.created_at.toISOString() };
}
