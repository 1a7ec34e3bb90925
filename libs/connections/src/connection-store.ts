import { type Database, loadSql, type Sql } from '#platform';
import { type SecretPlace, type Vault } from './crypto/vault.js';
import { type Provider } from './oauth/provider.js';
import { type Tokens } from './oauth/token-answer.js';

const findConnection = loadSql(import.meta.url, './sql/find-connection.sql');
const storeConnection = loadSql(import.meta.url, './sql/store-connection.sql');
const claimRefresh = loadSql(import.meta.url, './sql/claim-refresh.sql');
const storeRefreshed = loadSql(import.meta.url, './sql/store-refreshed.sql');
const endRefresh = loadSql(import.meta.url, './sql/end-refresh.sql');

const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const MAX_ATTEMPTS = 3;

type StoreOutcome = 'stored' | 'taken' | 'other_account' | 'no_athlete';
type ConnectionStatus = 'active' | 'needs_reauth';

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
  /** The fence of the refresh that returned these tokens. */
  readonly tokenFence: string;
  readonly expiresInMs: number;
  /** How long ago the last refresh ended without a clear answer. Infinity if the last refresh got a clear answer. */
  readonly failedMsAgo: number;
  readonly generation: number;
}

/** The athlete who has connected a vendor's account. */
export interface AccountOwner {
  readonly athleteId: string;
  readonly generation: number;
  /** Text, to the microsecond: a later connection of the same account has another value. */
  readonly connectedAt: string;
}

interface NewConnection {
  readonly athleteId: string;
  readonly provider: Provider;
  readonly vendorAthleteId: string;
  readonly scopes: readonly string[];
  readonly tokens: Tokens;
}

export interface RefreshClaim {
  readonly fence: string;
  /** Absent at a vendor without refresh tokens. */
  readonly refreshToken?: string;
}

/** For the revocation of a grant. A token that cannot be decrypted is absent and does not prevent the deletion. */
interface DeletedConnection {
  readonly vendorAthleteId: string;
  readonly access?: string;
  readonly refresh?: string;
}

interface ConnectionRow {
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

/** The rows of `connection`. Encrypts tokens before it stores them and decrypts those that it reads. */
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
    const { rows } = await this.database.query<ConnectionRow>(findConnection, [athleteId, provider]);
    const row = rows[0];
    if (!row) return undefined;
    return {
      id: row.id,
      athleteId,
      provider,
      vendorAthleteId: row.vendor_athlete_id,
      scopes: row.scopes,
      status: row.status,
      accessToken: this.vault.open(row.access_token, tokenPlace(athleteId, provider, 'access_token')),
      tokenFence: row.token_fence,
      expiresInMs: row.expires_in_ms,
      failedMsAgo: row.failed_ms_ago ?? Infinity,
      generation: row.generation,
    };
  }

  async exists(id: string): Promise<boolean> {
    return (await this.database.query('select from connection where id = $1', [id])).count > 0;
  }

  async ownerOf(provider: Provider, vendorAthleteId: string): Promise<AccountOwner | undefined> {
    const { rows } = await this.database.query<AccountOwner>(
      `select c.athlete_id as "athleteId", a.generation::float8 as generation, c.connected_at::text as "connectedAt"
       from connection c join athlete a on a.id = c.athlete_id
       where c.provider = $1 and c.vendor_athlete_id = $2`,
      [provider, vendorAthleteId],
    );
    return rows[0];
  }

  /** Stores the tokens of a new grant and runs `also`, in one transaction. The new tokens replace earlier tokens of the same account. */
  async storeGranted(connection: NewConnection, also: (sql: Sql) => Promise<void>): Promise<StoreOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.database.transaction(async (sql) => {
          if (!(await this.insert(connection, sql))) return 'other_account';
          await also(sql);
          return 'stored';
        });
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code === FOREIGN_KEY_VIOLATION) return 'no_athlete';
        if (code !== UNIQUE_VIOLATION) throw error;
        const owner = await this.ownerOf(connection.provider, connection.vendorAthleteId);
        if (owner && owner.athleteId !== connection.athleteId) return 'taken';
        // Another request of this athlete has connected the account, or the former owner has disconnected the account. So retry.
        if (attempt === MAX_ATTEMPTS) throw error;
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
      this.vault.seal(tokens.access, tokenPlace(athleteId, provider, 'access_token')),
      tokens.refresh && this.vault.seal(tokens.refresh, tokenPlace(athleteId, provider, 'refresh_token')),
      this.vault.keyVersion,
      tokens.expiresAtSeconds,
      tokens.expiresInSeconds,
    ]);
    return count > 0;
  }

  /**
   * Claims the refresh of these tokens. Undefined if another process holds the lease, if the tokens have changed since `seen`, or if a
   * refresh failed less than `cooldownMs` ago.
   */
  async claimRefresh(
    seen: StoredConnection,
    leaseMs: number,
    cooldownMs: number,
  ): Promise<RefreshClaim | undefined> {
    const { athleteId, provider } = seen;
    const values = [seen.id, seen.tokenFence, leaseMs, cooldownMs];
    const { rows } = await this.database.query<{ refresh_fence: string; refresh_token: string | null }>(
      claimRefresh,
      values,
    );
    const row = rows[0];
    if (!row) return undefined;
    const place = tokenPlace(athleteId, provider, 'refresh_token');
    const refreshToken = row.refresh_token === null ? undefined : this.vault.open(row.refresh_token, place);
    return { fence: row.refresh_fence, refreshToken };
  }

  /** False if the tokens of a later refresh are stored already, or if the connection was deleted. */
  async storeRefreshed(
    { id, athleteId, provider }: StoredConnection,
    fence: string,
    tokens: Tokens,
  ): Promise<boolean> {
    const refresh =
      tokens.refresh && this.vault.seal(tokens.refresh, tokenPlace(athleteId, provider, 'refresh_token'));
    const { count } = await this.database.query(storeRefreshed, [
      id,
      fence,
      this.vault.seal(tokens.access, tokenPlace(athleteId, provider, 'access_token')),
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

  /** Deletes the connection. Undefined if there is none. */
  async delete(athleteId: string, provider: Provider, sql: Sql): Promise<DeletedConnection | undefined> {
    const { rows } = await sql.query<{
      vendor_athlete_id: string;
      access_token: string;
      refresh_token: string | null;
    }>(
      `delete from connection where athlete_id = $1 and provider = $2
       returning vendor_athlete_id, access_token, refresh_token`,
      [athleteId, provider],
    );
    const row = rows[0];
    if (!row) return undefined;
    const readable = (sealed: string | null, column: 'access_token' | 'refresh_token') => {
      if (sealed === null) return undefined;
      try {
        return this.vault.open(sealed, tokenPlace(athleteId, provider, column));
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

export function tokenPlace(
  athleteId: string,
  provider: Provider,
  column: 'access_token' | 'refresh_token',
): SecretPlace {
  return { table: 'connection', owner: athleteId, provider, column };
}
