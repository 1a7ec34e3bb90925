import { type Database } from '#platform';
import { placeOf as connectionPlace } from '../connection-store.js';
import { type Provider } from '../oauth/provider.js';
import { placeOf as revocationPlace } from '../revocation/revocations.js';
import { type Place, SecretUnreadable, type Vault } from './vault.js';

const BATCH = 200;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export interface Rotated {
  readonly resealed: number;
  /** Left as they were: their key is missing or they were tampered with. */
  readonly unreadable: number;
}

interface ConnectionRow {
  readonly id: string;
  readonly athlete_id: string;
  readonly provider: Provider;
  readonly access_token: string;
  readonly refresh_token: string;
}

interface RevocationRow {
  readonly id: string;
  readonly provider: Provider;
  readonly token: string;
}

/**
 * Encrypts everything anew that an older key encrypted, row by row: it may be stopped at any moment and started again.
 * Verifiers of consents under way are not touched; they are gone after ten minutes.
 */
export async function rotateKeys(database: Database, vault: Vault, batch = BATCH): Promise<Rotated> {
  const { keyVersion } = vault;
  const connections = await eachBatch<ConnectionRow>(
    database,
    `select id, athlete_id, provider, access_token, refresh_token from connection
     where key_version <> $1 and id > $2 order by id limit $3`,
    [keyVersion, batch],
    async ({ id, athlete_id, provider, access_token, refresh_token }) => {
      const resealed = (text: string, column: 'access_token' | 'refresh_token') =>
        reseal(vault, text, connectionPlace(athlete_id, provider, column));
      // Tokens that were renewed meanwhile have the new key already, and must not be overwritten with the old ones.
      const { count } = await database.query(
        `update connection set access_token = $4, refresh_token = $5, key_version = $6
         where id = $1 and access_token = $2 and refresh_token = $3`,
        [
          id,
          access_token,
          refresh_token,
          resealed(access_token, 'access_token'),
          resealed(refresh_token, 'refresh_token'),
          keyVersion,
        ],
      );
      return count;
    },
  );
  const revocations = await eachBatch<RevocationRow>(
    database,
    'select id, provider, token from revocation where key_version <> $1 and id > $2 order by id limit $3',
    [keyVersion, batch],
    async ({ id, provider, token }) => {
      const { count } = await database.query(
        'update revocation set token = $3, key_version = $4 where id = $1 and token = $2',
        [id, token, reseal(vault, token, revocationPlace(id, provider)), keyVersion],
      );
      return count;
    },
  );
  return {
    resealed: connections.resealed + revocations.resealed,
    unreadable: connections.unreadable + revocations.unreadable,
  };
}

async function eachBatch<Row extends { readonly id: string }>(
  database: Database,
  select: string,
  [keyVersion, batch]: readonly [number, number],
  work: (row: Row) => Promise<number>,
): Promise<Rotated> {
  let resealed = 0;
  let unreadable = 0;
  for (let after = FIRST_ID; ;) {
    const { rows } = await database.query<Row>(select, [keyVersion, after, batch]);
    for (const row of rows) {
      try {
        resealed += await work(row);
      } catch (error) {
        if (!(error instanceof SecretUnreadable)) throw error;
        unreadable += 1;
      }
    }
    const last = rows.at(-1);
    if (!last || rows.length < batch) return { resealed, unreadable };
    after = last.id;
  }
}

function reseal(vault: Vault, text: string, place: Place): string {
  return vault.seal(vault.open(text, place), place);
}
