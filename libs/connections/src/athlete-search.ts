import { Injectable } from '@nestjs/common';
import {
  canonicalSubject,
  cursorAt,
  Database,
  InvalidInput,
  isId,
  keysetOf,
  loadSql,
  NotFound,
} from '#platform';
import { type ConnectionView } from './connection-store.js';

const newestAthletes = loadSql(import.meta.url, './sql/newest-athletes.sql');
const athletesToReconnect = loadSql(import.meta.url, './sql/athletes-to-reconnect.sql');
const searchAthletes = loadSql(import.meta.url, './sql/search-athletes.sql');
const connectionsOf = loadSql(import.meta.url, './sql/connections-of.sql');

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const BEFORE_ALL = { place: 'infinity', id: HIGHEST_ID };
// Fewer digits would match many athletes.
const SHORTEST_ID = 8;
// No subject that begins with a text sorts after the text and this character.
const LAST_CHARACTER = '\u{10FFFF}';

export interface FoundAthlete {
  readonly id: string;
  readonly subject: string;
  readonly created_at: string;
  readonly connections: readonly ConnectionView[];
}

interface AthletePage {
  readonly items: readonly FoundAthlete[];
  readonly next_cursor: string | null;
}

type AthleteRow = Omit<FoundAthlete, 'connections'>;

/**
 * Lists and finds athletes for operators, with their connections. A search matches the beginning of a subject, the beginning of an id (eight
 * digits or more), or a whole id at a vendor. Upper and lower case differ, as in subjects.
 */
@Injectable()
export class AthleteSearch {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async newest(cursor: string | undefined, limit: number): Promise<AthletePage> {
    return this.newestOf(newestAthletes, cursor, limit);
  }

  /** The athletes who have to connect a vendor again, newest first. */
  async toReconnect(cursor: string | undefined, limit: number): Promise<AthletePage> {
    return this.newestOf(athletesToReconnect, cursor, limit);
  }

  private async newestOf(
    statement: typeof newestAthletes,
    cursor: string | undefined,
    limit: number,
  ): Promise<AthletePage> {
    const { place, id } = cursor === undefined ? BEFORE_ALL : keysetOf(cursor);
    const values = [place, id, limit + 1];
    const { rows } = await this.database.query<AthleteRow & { place: string }>(statement, values);
    return this.page(rows, limit, cursorAt);
  }

  /** In the order of the subjects. */
  async find(text: string, cursor: string | undefined, limit: number): Promise<AthletePage> {
    const [lowest, highest] = idRange(text);
    const after = cursor === undefined ? { subject: '', id: LOWEST_ID } : placeOf(cursor);
    const subject = canonicalSubject(text);
    const range = [subject, subject + LAST_CHARACTER, lowest, highest];
    const values = [...range, text, after.subject, after.id, limit + 1];
    const { rows } = await this.database.query<AthleteRow>(searchAthletes, values);
    return this.page(rows, limit, cursorOf);
  }

  /** Throws NotFound. */
  async show(id: string): Promise<FoundAthlete> {
    const { rows } = await this.database.query<AthleteRow>(
      'select id, subject, api_time(created_at) as created_at from athlete where id = $1',
      [id],
    );
    const [athlete] = await this.withConnections(rows);
    if (!athlete) throw new NotFound('No such athlete');
    return athlete;
  }

  private async page<Row extends AthleteRow>(
    rows: readonly Row[],
    limit: number,
    cursorAfter: (row: Row) => string,
  ): Promise<AthletePage> {
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: await this.withConnections(shown),
      next_cursor: rows.length > limit && last ? cursorAfter(last) : null,
    };
  }

  private async withConnections(athletes: readonly AthleteRow[]): Promise<FoundAthlete[]> {
    type Row = Omit<ConnectionView, 'connected_at'> & { athlete_id: string; connected_at: Date };
    const ids = athletes.map(({ id }) => id);
    const { rows } = await this.database.query<Row>(connectionsOf, [ids]);
    return athletes.map(({ id, subject, created_at }) => ({
      id,
      subject,
      created_at,
      connections: rows
        .filter(({ athlete_id }) => athlete_id === id)
        .map(({ athlete_id: _, connected_at, ...connection }) => ({
          ...connection,
          connected_at: connected_at.toISOString(),
        })),
    }));
  }
}

/** The ids that begin with these digits, with or without dashes. An empty range if the text is not the beginning of an id. */
function idRange(text: string): [lowest: string, highest: string] {
  const digits = text.replaceAll('-', '').toLowerCase();
  if (digits.length < SHORTEST_ID || !/^[0-9a-f]{1,32}$/.test(digits)) return [HIGHEST_ID, LOWEST_ID];
  return [dashed(digits.padEnd(32, '0')), dashed(digits.padEnd(32, 'f'))];
}

const dashed = (digits: string) => digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

const cursorOf = ({ subject, id }: AthleteRow) => Buffer.from(`${id} ${subject}`).toString('base64url');

/** Parses a cursor of `cursorOf`; throws InvalidInput for any other text. */
function placeOf(cursor: string): { readonly subject: string; readonly id: string } {
  const [, id, subject] = /^(\S{36}) ([^\0]+)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!id || !subject || !isId(id))
    throw new InvalidInput(['cursor: must be a next_cursor of an earlier answer']);
  return { subject, id };
}
