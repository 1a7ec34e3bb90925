import { type Database } from '#platform';
import { tokenPlace as connectionPlace } from '../connection-store.js';
import { type Provider } from '../oauth/provider.js';
import { revocationPlace as revocationPlace } from '../revocation/revocations.js';
import { endpointPlace, type SecretPlace, SecretUnreadable, subscriptionPlace, type Vault } from './vault.js';

const BATCH = 200;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface RotatedCounts {
  readonly resealed: number;
  /** Rows left as they are, since their key is missing or their text was altered. */
  readonly unreadable: number;
}

interface SealedConnection {
  readonly id: string;
  readonly athlete_id: string;
  readonly provider: Provider;
  readonly access_token: string;
  readonly refresh_token: string | null;
}

interface SealedSubscription {
  readonly vendor: string;
  readonly topic: string;
  readonly secret: string;
}

interface SealedEndpoint {
  readonly id: string;
  readonly secret: string;
  readonly previous_secret: string | null;
}

interface SealedRevocation {
  readonly id: string;
  readonly provider: Provider;
  readonly token: string;
}

/**
 * Encrypts the tokens of older keys again with the newest key, row by row. The rotation may be stopped at any moment and started again. The
 * secrets of consents are not rotated, since they expire within twenty minutes.
 */
export async function rotateKeys(database: Database, vault: Vault, batch = BATCH): Promise<RotatedCounts> {
  const { keyVersion } = vault;
  const connections = await eachBatch<SealedConnection>(
    database,
    `select id, athlete_id, provider, access_token, refresh_token from connection
     where key_version <> $1 and id > $2 order by id limit $3`,
    [keyVersion, batch],
    async ({ id, athlete_id, provider, access_token, refresh_token }) => {
      const resealed = (text: string, column: 'access_token' | 'refresh_token') =>
        reseal(vault, text, connectionPlace(athlete_id, provider, column));
      // Because of the `where`, this update does not overwrite tokens that were renewed since the select.
      const { count } = await database.query(
        `update connection set access_token = $4, refresh_token = $5, key_version = $6
         where id = $1 and access_token = $2 and refresh_token is not distinct from $3`,
        [
          id,
          access_token,
          refresh_token,
          resealed(access_token, 'access_token'),
          refresh_token && resealed(refresh_token, 'refresh_token'),
          keyVersion,
        ],
      );
      return count;
    },
  );
  const revocations = await eachBatch<SealedRevocation>(
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
  const subscriptions = await rotateSubscriptions(database, vault);
  const endpoints = await eachBatch<SealedEndpoint>(
    database,
    `select id, secret, previous_secret from webhook_endpoint
     where key_version <> $1 and id > $2 order by id limit $3`,
    [keyVersion, batch],
    async ({ id, secret, previous_secret }) => {
      const resealed = (text: string) => reseal(vault, text, endpointPlace(id));
      const { count } = await database.query(
        `update webhook_endpoint set secret = $4, previous_secret = $5, key_version = $6
         where id = $1 and secret = $2 and previous_secret is not distinct from $3`,
        [
          id,
          secret,
          previous_secret,
          resealed(secret),
          previous_secret && resealed(previous_secret),
          keyVersion,
        ],
      );
      return count;
    },
  );
  const all = [connections, revocations, subscriptions, endpoints];
  return {
    resealed: all.reduce((sum, { resealed }) => sum + resealed, 0),
    unreadable: all.reduce((sum, { unreadable }) => sum + unreadable, 0),
  };
}

/** Webhook subscriptions are few: at most one for each topic of a vendor. */
async function rotateSubscriptions(database: Database, vault: Vault): Promise<RotatedCounts> {
  const counts = { resealed: 0, unreadable: 0 };
  const { rows } = await database.query<SealedSubscription>(
    'select vendor, topic, secret from webhook_subscription where secret is not null and key_version <> $1',
    [vault.keyVersion],
  );
  for (const { vendor, topic, secret } of rows)
    try {
      const { count } = await database.query(
        `update webhook_subscription set secret = $4, key_version = $5
         where vendor = $1 and topic = $2 and secret = $3`,
        [vendor, topic, secret, reseal(vault, secret, subscriptionPlace(vendor, topic)), vault.keyVersion],
      );
      counts.resealed += count;
    } catch (error) {
      if (!(error instanceof SecretUnreadable)) throw error;
      counts.unreadable += 1;
    }
  return counts;
}

async function eachBatch<Row extends { readonly id: string }>(
  database: Database,
  select: string,
  [keyVersion, batch]: readonly [number, number],
  work: (row: Row) => Promise<number>,
): Promise<RotatedCounts> {
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

function reseal(vault: Vault, text: string, place: SecretPlace): string {
  return vault.seal(vault.open(text, place), place);
}
