import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { Database, loadSql, pagesOf, type Sql, StandbyReads } from '#platform';
import { LARGEST_BYTES } from './reading/answer.js';

const listBodies = loadSql(import.meta.url, './sql/list-bodies.sql');
const findVersions = loadSql(import.meta.url, './sql/find-versions.sql');
const findBodies = loadSql(import.meta.url, './sql/find-bodies.sql');

// A page of ids and sizes; the bodies are read in smaller pages below.
const LISTED_AT_ONCE = 500;
// Gzipped bytes, a quarter of the JSON. A day's recording with one sample a second and eleven channels has 1.3 MB: it is a page by itself.
const PAGE_BYTES = 200_000;
const DELETED_AT_ONCE = 200;
const CHUNK_BYTES = 256 * 1024;

const unzip = promisify<Buffer, object, Buffer>(gunzip);

interface Listed {
  readonly activity_id: string;
  readonly bytes: number;
}

interface Version {
  readonly activity_id: string;
  readonly etag: string;
}

interface Found {
  readonly activity_id: string;
  readonly external_activity_id: string | null;
  readonly body: string;
}

/**
 * Exports and deletes an athlete's streams. `read` yields pages in the order of activity ids. The export
 * is not a snapshot: streams that are stored meanwhile may be missing.
 */
@Injectable()
export class StreamRecords {
  readonly name = 'streams';
  readonly provider = 'any';

  constructor(
    private readonly database: Database,
    private readonly reads: StandbyReads = new StandbyReads(database),
  ) {}

  /** The stored answers, each with its `external_activity_id` in front. They are unzipped in zlib's threads and never parsed. */
  async *read(athleteId: string): AsyncGenerator<readonly Buffer[]> {
    const reading = { athleteId, by: 'activity_id', size: LISTED_AT_ONCE } as const;
    for await (const listed of pagesOf<Listed, 'activity_id'>(this.database, listBodies, reading))
      for (const page of pagesBySize(listed)) {
        const found = await this.find(
          athleteId,
          page.map(({ activity_id }) => activity_id),
        );
        if (found.length > 0) yield await Promise.all(found.map(recordOf));
      }
  }

  /** The caller deletes the activities afterwards: until then an attempt under way can store their streams again. */
  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const statement = `
      delete from activity_stream
      where athlete_id = $1 and activity_id in (
        select activity_id
        from activity_stream
        join activity on activity.athlete_id = activity_stream.athlete_id and activity.id = activity_id
        where activity.athlete_id = $1 and ($3::text is null or provider = $3)
        limit $2
      )`;
    const { count } = await sql.query(statement, [athleteId, DELETED_AT_ONCE, provider]);
    return count;
  }

  /** The primary says which streams exist now, a standby may give their bytes. Streams that are replaced in between are read once more. */
  private async find(athleteId: string, ids: readonly string[]): Promise<readonly Found[]> {
    const { rows: versions } = await this.database.query<Version>(findVersions, [athleteId, ids]);
    if (versions.length === 0) return [];
    const [existing, etags] = [
      versions.map(({ activity_id }) => activity_id),
      versions.map(({ etag }) => etag),
    ];
    const values = [athleteId, existing, etags];
    const { rows } = await this.reads.versions<Found>(findBodies, values, existing.length);
    if (rows.length === existing.length) return rows;
    const found = new Set(rows.map(({ activity_id }) => activity_id));
    const replaced = existing.filter((id) => !found.has(id));
    return [...rows, ...(await this.find(athleteId, replaced))];
  }
}

/** Pages of about PAGE_BYTES; a larger body is a page by itself. */
function* pagesBySize(listed: readonly Listed[]): Generator<readonly Listed[]> {
  let page: Listed[] = [];
  let bytes = 0;
  for (const one of listed) {
    if (page.length > 0 && bytes + one.bytes > PAGE_BYTES) {
      yield page;
      [page, bytes] = [[], 0];
    }
    page.push(one);
    bytes += one.bytes;
  }
  if (page.length > 0) yield page;
}

async function recordOf({ external_activity_id, body }: Found): Promise<Buffer> {
  const answer = await unzip(Buffer.from(body, 'base64'), {
    maxOutputLength: LARGEST_BYTES,
    chunkSize: CHUNK_BYTES,
  });
  const before = JSON.stringify({ external_activity_id }).slice(0, -1);
  return Buffer.concat([Buffer.from(`${before},`), answer.subarray(1)]);
}
