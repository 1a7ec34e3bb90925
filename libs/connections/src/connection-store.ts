import { type Database, loadSql, type Sql } from '#platform';
import { type Place, type Vault } from './crypto/vault.js';
import { type Provider } from './oauth/provider.js';
import { type Tokens } from './oauth/token-endpoint.js';

const findConnection = loadSql(import.meta.url, './sql/find-connection.sql');
const storeConnection = loadSql(import.meta.url, './sql/store-connection.sql');
const claimRefresh = loadSql(import.meta.url, './sql/claim-refresh.sql');
const storeRefreshed = loadSql(import.meta.url, './sql/store-refreshed.sql');
const endRefresh = loadSql(import.meta.url, './sql/end-refresh.sql');

const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const MOST_ATTEMPTS = 3;

export type Kept = 'kept' | 'taken' | 'other_account' | 'no_athlete';
export type ConnectionStatus = 'active' | 'needs_reauth';

export interface ConnectionView {
  readonly provider: Provider;
  readonly status: ConnectionStatus;
  readonly vendor_athlete_id: string;
  readonly scopes: readonly string[];
  readonly connected_at: string;
}

export interface StoredConnection {
  readonly id: string;
  readonly athleteId: string;
  readonly provider: Provider;
  readonly vendorAthleteId: string;
  readonly scopes: readonly string[];
  readonly status: ConnectionStatus;
  readonly accessToken: string;
  /** The number of the refresh that brought the tokens. */
  readonly tokenFence: string;
  readonly expiresInMs: number;
  /** Since the last refresh that ended without an answer, if none has succeeded after it. */
  readonly failedMsAgo: number;
  readonly generation: number;
}

/** Whose a vendor's account is. */
export interface Owner {
  readonly athleteId: string;
  readonly generation: number;
  /** To the microsecond, as text: a connection made anew has another. */
  readonly connectedAt: string;
}

export interface NewConnection {
  readonly athleteId: string;
  readonly provider: Provider;
  readonly vendorAthleteId: string;
  readonly scopes: readonly string[];
  readonly tokens: Tokens & { readonly refresh: string };
}

export interface Claim {
  readonly fence: string;
  readonly refreshToken: string;
}

/** What is left of a deleted connection; a token that cannot be read does not keep it from being deleted. */
export interface Severed {
  readonly vendorAthleteId: string;
  readonly access?: string;
  readonly refresh?: string;
}

interface Row {
  readonly id: string;
  readonly athlete_id: string;
  readonly vendor_athlete_id: string;
  readonly scopes: string[];
  readonly status: ConnectionStatus;
  readonly access_token: string;
  readonly token_fence: string;
  readonly expires_in_ms: number;
  readonly failed_ms_ago: number | null;
  readonly generation: number;
}

/** The rows of `connection`. Tokens are sealed on their way in and opened on their way out. */
export class ConnectionStore {
  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
  ) {}

  async list(athleteId: string, sql: Sql = this.database): Promise<ConnectionView[]> {
    const { rows } = await sql.query<Omit<ConnectionView, 'connected_at'> & { connected_at: Date }>(
      `select provider, status, vendor_athlete_id, scopes, connected_at
       from connection where athlete_id = $1 order by connected_at, provider`,
      [athleteId],
    );
    return rows.map((row) => ({ ...row, connected_at: row.connected_at.toISOString() }));
  }

  async find(athleteId: string, provider: Provider): Promise<StoredConnection | undefined> {
    const { rows } = await this.database.query<Row>(findConnection, [athleteId, provider]);
    const row = rows[0];
    if (!row) return undefined;
    return {
      id: row.id,
      athleteId,
      provider,
      vendorAthleteId: row.vendor_athlete_id,
      scopes: row.scopes,
      status: row.status,
      accessToken: this.vault.open(row.access_token, placeOf(athleteId, provider, 'access_token')),
      tokenFence: row.token_fence,
      expiresInMs: row.expires_in_ms,
      failedMsAgo: row.failed_ms_ago ?? Infinity,
      generation: row.generation,
    };
  }

  async ownerOf(provider: Provider, vendorAthleteId: string): Promise<Owner | undefined> {
    const { rows } = await this.database.query<Owner>(
      `select c.athlete_id as "athleteId", a.generation::float8 as generation, c.connected_at::text as "connectedAt"
       from connection c join athlete a on a.id = c.athlete_id
       where c.provider = $1 and c.vendor_athlete_id = $2`,
      [provider, vendorAthleteId],
    );
    return rows[0];
  }

  /** Stores what was just granted, over what the same account had before, and does `also` in the same transaction. */
  async keep(connection: NewConnection, also: (sql: Sql) => Promise<void>): Promise<Kept> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.database.transaction(async (sql) => {
          if (!(await this.insert(connection, sql))) return 'other_account';
          await also(sql);
          return 'kept';
        });
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code === FOREIGN_KEY_VIOLATION) return 'no_athlete';
        if (code !== UNIQUE_VIOLATION) throw error;
        const owner = await this.ownerOf(connection.provider, connection.vendorAthleteId);
        if (owner && owner.athleteId !== connection.athleteId) return 'taken';
        // Two consents of one athlete at the same moment, or an owner who has just left: now it is decided.
        if (attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  private async insert(connection: NewConnection, sql: Sql): Promise<boolean> {
    const { athleteId, provider, vendorAthleteId, scopes, tokens } = connection;
    const { count } = await sql.query(storeConnection, [
      athleteId,
      provider,
      vendorAthleteId,
      scopes,
      this.vault.seal(tokens.access, placeOf(athleteId, provider, 'access_token')),
      this.vault.seal(tokens.refresh, placeOf(athleteId, provider, 'refresh_token')),
      this.vault.keyVersion,
      tokens.expiresAtSeconds,
      tokens.expiresInSeconds,
    ]);
    return count > 0;
  }

  /** Nothing: somebody else is at it, or has been. */
  async claimRefresh(
    seen: StoredConnection,
    leaseMs: number,
    cooldownMs: number,
  ): Promise<Claim | undefined> {
    const { athleteId, provider } = seen;
    const values = [seen.id, seen.tokenFence, leaseMs, cooldownMs];
    const { rows } = await this.database.query<{ refresh_fence: string; refresh_token: string }>(
      claimRefresh,
      values,
    );
    const row = rows[0];
    if (!row) return undefined;
    const place = placeOf(athleteId, provider, 'refresh_token');
    return { fence: row.refresh_fence, refreshToken: this.vault.open(row.refresh_token, place) };
  }

  /** False: there is a newer answer already, or the connection is gone. */
  async storeRefreshed(
    { id, athleteId, provider }: StoredConnection,
    fence: string,
    tokens: Tokens,
  ): Promise<boolean> {
    const refresh =
      tokens.refresh && this.vault.seal(tokens.refresh, placeOf(athleteId, provider, 'refresh_token'));
    const { count } = await this.database.query(storeRefreshed, [
      id,
      fence,
      this.vault.seal(tokens.access, placeOf(athleteId, provider, 'access_token')),
      refresh,
      this.vault.keyVersion,
      tokens.expiresAtSeconds,
      tokens.expiresInSeconds,
    ]);
    return count > 0;
  }

  async endRefresh({ id }: StoredConnection, fence: string, end: 'refused' | 'unclear'): Promise<void> {
    await this.database.query(endRefresh, [id, fence, end === 'refused']);
  }

  async sever(athleteId: string, provider: Provider, sql: Sql): Promise<Severed | undefined> {
    const { rows } = await sql.query<{
      vendor_athlete_id: string;
      access_token: string;
      refresh_token: string;
    }>(
      `delete from connection where athlete_id = $1 and provider = $2
       returning vendor_athlete_id, access_token, refresh_token`,
      [athleteId, provider],
    );
    const row = rows[0];
    if (!row) return undefined;
    const readable = (sealed: string, column: 'access_token' | 'refresh_token') => {
      try {
        return this.vault.open(sealed, placeOf(athleteId, provider, column));
      } catch {
        return undefined;
      }
    };
    return {
      vendorAthleteId: row.vendor_athlete_id,
      access: readable(row.access_token, 'access_token'),
      refresh: readable(row.refresh_token, 'refresh_token'),
    };
  }
}

export function placeOf(
  athleteId: string,
  provider: Provider,
  column: 'access_token' | 'refresh_token',
): Place {
  return { table: 'connection', owner: athleteId, provider, column };
}
