import { createHash, randomBytes } from 'node:crypto';
import { type Database, inBatches, loadSql, type Sql } from '#platform';
import { type SecretPlace, type Vault } from '../crypto/vault.js';
import { type Provider } from '../oauth/provider.js';

const storeCode = loadSql(import.meta.url, '../sql/store-code.sql');
const takeConsent = loadSql(import.meta.url, '../sql/take-consent.sql');
const voidFlows = loadSql(import.meta.url, '../sql/void-flows.sql');
const purgeFlows = loadSql(import.meta.url, '../sql/purge-flows.sql');

const SECRET_BYTES = 32;
const PURGE_BATCH = 1_000;

interface NewFlow {
  readonly athleteId: string;
  readonly provider: Provider;
  readonly state: string;
  readonly returnUrl: string | null;
  readonly verifier?: string;
  /** The account's name on our confirmation page. Absent: the athlete's subject is shown. */
  readonly account?: string;
  /** Absent: the athlete begins. */
  readonly begunBy?: string;
}

/** The vendor's code, and the scopes that its redirect named. */
interface Consent {
  readonly code: string;
  readonly scope?: string;
}

interface StoredConsent {
  /** A one-time code, required to begin a confirmation. */
  readonly confirm: string;
  readonly account: string;
  readonly returnUrl?: string;
  /** False if the state was older than ten minutes; the code is not stored then. */
  readonly isLive: boolean;
}

/** The confirming party: the athlete of a token, `begunBy` for the athlete, or the browser with the cookie of our own page. */
export type Confirmer =
  { readonly athleteId: string; readonly begunBy?: string } | { readonly browser: string };

export interface TakenConsent extends Consent {
  readonly athleteId: string;
  readonly verifier?: string;
}

interface TakenRow {
  readonly state_hash: Buffer;
  readonly athlete_id: string;
  readonly verifier: string | null;
  readonly code: string | null;
  readonly scope: string | null;
  readonly is_live: boolean;
}

/**
 * The rows of `oauth_flow`: a consent from its beginning to its confirmation. State, confirm code and the browser's cookie are stored only
 * as SHA-256; the vendor's code and the PKCE verifier are encrypted. All ages are judged by the database's clock.
 */
export class OAuthFlows {
  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
  ) {}

  /** False if the athlete does not exist. The state is valid for ten minutes. */
  async start({
    athleteId,
    provider,
    state,
    returnUrl,
    verifier,
    account,
    begunBy,
  }: NewFlow): Promise<boolean> {
    const stateHash = sha256(state);
    const sealed = verifier && this.vault.seal(verifier, flowPlace(stateHash, provider, 'verifier'));
    const values = [stateHash, athleteId, provider, returnUrl, sealed, account, begunBy];
    const { count } = await this.database.query(
      `insert into oauth_flow (state_hash, athlete_id, provider, return_url, verifier, account, begun_by, expires_at)
       select $1, a.id, $3, $4, $5, $6, $7, clock_timestamp() + interval '10 minutes'
       from athlete a
       where a.id = $2`,
      values,
    );
    return count > 0;
  }

  /**
   * Deletes a flow whose callback has no usable code, in one statement, so that a state works once. A flow whose code is stored stays.
   * Undefined if the state is unknown or used.
   */
  async end(
    provider: Provider,
    state: string,
  ): Promise<{ readonly returnUrl?: string; readonly isLive: boolean } | undefined> {
    const { rows } = await this.database.query<{ return_url: string | null; is_live: boolean }>(
      `delete from oauth_flow
       where state_hash = $1 and provider = $2 and confirm_hash is null
       returning return_url, expires_at > clock_timestamp() as is_live`,
      [sha256(state), provider],
    );
    return rows[0] && { returnUrl: rows[0].return_url ?? undefined, isLive: rows[0].is_live };
  }

  /** Stores the vendor's code for ten minutes, until a request confirms it. Undefined if the state is unknown or used. */
  async storeCode(
    provider: Provider,
    state: string,
    { code, scope }: Consent,
    browser?: string,
  ): Promise<StoredConsent | undefined> {
    const stateHash = sha256(state);
    const confirm = newSecret();
    const sealed = this.vault.seal(code, flowPlace(stateHash, provider, 'code'));
    const values = [stateHash, provider, sealed, scope, sha256(confirm), browser && sha256(browser)];
    const { rows } = await this.database.query<{
      return_url: string | null;
      account: string;
      is_live: boolean;
    }>(storeCode, values);
    const row = rows[0];
    if (!row) return undefined;
    return { confirm, account: row.account, returnUrl: row.return_url ?? undefined, isLive: row.is_live };
  }

  /** Whether `take` would return the consent now. */
  async isLive(provider: Provider, confirm: string, confirmer: Confirmer): Promise<boolean> {
    const { count } = await this.database.query(
      `select
       from oauth_flow
       where provider = $1
         and confirm_hash = $2
         and ((athlete_id = $3::uuid and begun_by is not distinct from $5) or browser_hash = $4::bytea)
         and used_at is null
         and code is not null
         and confirm_until > clock_timestamp()`,
      heldBy(provider, confirm, confirmer),
    );
    return count > 0;
  }

  /** Returns a consent only once. `unknown`: it does not exist, or somebody else began it. `lapsed`: it is used, voided or too old. */
  async take(
    provider: Provider,
    confirm: string,
    confirmer: Confirmer,
  ): Promise<TakenConsent | 'unknown' | 'lapsed'> {
    const { rows } = await this.database.query<TakenRow>(takeConsent, heldBy(provider, confirm, confirmer));
    const row = rows[0];
    if (!row) return 'unknown';
    const { state_hash: stateHash, verifier, code, scope } = row;
    if (!row.is_live || code === null) return 'lapsed';
    const open = (sealed: string, column: 'code' | 'verifier') =>
      this.vault.open(sealed, flowPlace(stateHash, provider, column));
    return {
      athleteId: row.athlete_id,
      code: open(code, 'code'),
      scope: scope ?? undefined,
      verifier: verifier === null ? undefined : open(verifier, 'verifier'),
    };
  }

  /** Deletes the flows that expired more than an hour ago; returns their number. */
  purge(): Promise<number> {
    return inBatches(PURGE_BATCH, async (limit) => (await this.database.query(purgeFlows, [limit])).count);
  }
}

/** Voids all consents at this vendor that the athlete began before this disconnection. */
export async function voidConsents(sql: Sql, athleteId: string, provider: Provider): Promise<void> {
  await sql.query(voidFlows, [athleteId, provider]);
}

/** The values of the condition on a consent: vendor, confirm code and the party that may confirm. */
function heldBy(provider: Provider, confirm: string, confirmer: Confirmer): unknown[] {
  const athleteId = 'athleteId' in confirmer ? confirmer.athleteId : null;
  const browser = 'browser' in confirmer ? sha256(confirmer.browser) : null;
  const begunBy = 'athleteId' in confirmer ? confirmer.begunBy : null;
  return [provider, sha256(confirm), athleteId, browser, begunBy];
}

export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Binds a secret to its flow: it cannot be decrypted in another flow. */
function flowPlace(stateHash: Buffer, provider: Provider, column: 'code' | 'verifier'): SecretPlace {
  return { table: 'oauth_flow', owner: stateHash.toString('hex'), provider, column };
}
