import { randomUUID } from 'node:crypto';
import { Counter } from 'prom-client';
import {
  type Database,
  type Fenced,
  FencedRows,
  loadSql,
  type Logger,
  type Outcome,
  startAtZero,
  type Sql,
  type TimeScale,
  type Work,
  type Worker,
  type Workers,
} from '#platform';
import { LOOK_FOR_DUE_MS } from '#rate-limit';
import { VENDOR_IDS } from '#vendors';
import { type SecretPlace, type Vault } from '../crypto/vault.js';
import { type Provider } from '../oauth/provider.js';
import { type Providers } from '../oauth/providers.js';
import { type TokenEndpoint } from '../oauth/token-endpoint.js';

const claimRevocation = loadSql(import.meta.url, '../sql/claim-revocation.sql');

const LEASE_MS = 30_000;
const FIRST_DELAY_MS = 60_000;
const LONGEST_DELAY_MS = 6 * 3_600_000;
const MAX_ATTEMPTS = 30;
const CALL_MS = 5_000;

export const revocationAttempts = new Counter({
  name: 'oauth_revocations_total',
  help: 'Attempts to end a grant at the vendor',
  labelNames: ['provider', 'result'],
});
startAtZero(
  revocationAttempts,
  VENDOR_IDS.flatMap((provider) => ['done', 'failed', 'given_up'].map((result) => ({ provider, result }))),
);

/** The right to one attempt. */
export interface RevocationClaim extends Fenced {
  readonly id: string;
  readonly provider: Provider;
  readonly vendor_athlete_id: string;
  readonly token: string;
  readonly attempts: number;
  /** Ends the attempt; absent if no request waits for it. */
  readonly signal?: AbortSignal;
}

/** `given_up` deletes the row as `done` does; a `failed` attempt is repeated. */
type RevocationOutcome = Outcome & { readonly kind: 'done' | 'given_up' | 'failed' };

export interface Grant {
  readonly provider: Provider;
  readonly vendorAthleteId: string;
  readonly access?: string;
  readonly refresh?: string;
}

/**
 * Grants to be revoked at the vendor. `add` runs in the transaction that deletes the connection, so that no grant is lost. A grant whose
 * account is connected here again is not revoked: vendors end all grants of an account at once.
 *
 * | attempt | after the one before | cumulative |
 * | ------- | -------------------- | ---------- |
 * | 1       | at once              | 0          |
 * | 2       | 1 min                | 1 min      |
 * | 3       | 2 min                | 3 min      |
 * | 4 … 10  | 4, 8 … 256 min       | 8.5 h      |
 * | 11 … 30 | 6 h                  | 5.4 days   |
 *
 * Not guaranteed: after attempt 30 the grant stays at the vendor; the metric counts it as `given_up`.
 */
export class Revocations {
  /** The attempts that are due. */
  readonly work: Work<RevocationClaim, RevocationOutcome>;
  private readonly worker: Worker<RevocationClaim, RevocationOutcome>;
  private readonly rows = new FencedRows('revocation', 'revocation', 'id');

  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
    private readonly providers: Providers,
    private readonly endpoint: TokenEndpoint,
    private readonly timeScale: TimeScale,
    workers: Workers,
    private readonly logger: Logger,
  ) {
    this.work = {
      name: 'revocations',
      lease: { ms: LEASE_MS, atLeastMs: 2 * CALL_MS },
      everyMs: LOOK_FOR_DUE_MS,
      claim: (leaseMs) => this.claim(null, leaseMs),
      renew: (claim, leaseMs) => this.rows.renew(database, claim.id, claim, leaseMs),
      run: (claim) => this.revoke(claim),
      failed: (claim) => ({ kind: afterFailure(claim) }),
      settle: (claim, { kind }) => {
        revocationAttempts.inc({ provider: claim.provider, result: kind });
        return kind === 'failed' ? this.postpone(claim) : this.delete(claim);
      },
      about: ({ provider, attempts }) => ({ provider, attempts }),
    };
    // This worker only makes the first attempt of a disconnection. The worker process looks for due rows, with another worker.
    this.worker = workers.of({ ...this.work, everyMs: undefined });
  }

  /** Returns the row's id; undefined if there is no token to revoke, or if the account is connected here. */
  async add(grant: Grant, sql: Sql = this.database): Promise<string | undefined> {
    const { provider, vendorAthleteId } = grant;
    const token = this.tokenOf(grant);
    if (!token) return undefined;
    const id = randomUUID();
    const sealed = this.vault.seal(token, revocationPlace(id, provider));
    const { count } = await sql.query(
      `insert into revocation (id, provider, vendor_athlete_id, token, key_version)
       select $1, $2, $3, $4, $5
       where not exists (select from connection where provider = $2 and vendor_athlete_id = $3)`,
      [id, provider, vendorAthleteId, sealed, this.vault.keyVersion],
    );
    return count > 0 ? id : undefined;
  }

  /** Deletes the account's waiting revocations, because each would end the account's new grant as well. */
  async withdraw(provider: Provider, vendorAthleteId: string, sql: Sql): Promise<void> {
    await sql.query('delete from revocation where provider = $1 and vendor_athlete_id = $2', [
      provider,
      vendorAthleteId,
    ]);
  }

  /** Makes the first attempt now. If it fails, a worker makes the next one. */
  async attempt(id: string | undefined, signal?: AbortSignal): Promise<void> {
    if (!id) return;
    await this.worker.runOne(async (leaseMs) => {
      const claim = await this.claim(id, leaseMs);
      return claim && { ...claim, signal };
    });
  }

  /** Claims this revocation, or any that is due (null). */
  private async claim(id: string | null, leaseMs: number): Promise<RevocationClaim | undefined> {
    const firstMs = Math.max(this.timeScale.wait(FIRST_DELAY_MS), 2 * CALL_MS);
    const longestMs = Math.max(this.timeScale.wait(LONGEST_DELAY_MS), firstMs);
    const { rows } = await this.database.query<RevocationClaim>(claimRevocation, [
      id,
      firstMs,
      longestMs,
      leaseMs,
    ]);
    return rows[0];
  }

  /** Ends the lease: the next attempt is scheduled already. False: the claim is over. */
  private async postpone({ id, fence }: RevocationClaim): Promise<boolean> {
    const statement = 'update revocation set leased_until = null where id = $1 and fence = $2';
    return this.rows.accepted(await this.database.query(statement, [id, fence]));
  }

  /** False as for `postpone`. */
  private async delete({ id, fence }: RevocationClaim): Promise<boolean> {
    const statement = 'delete from revocation where id = $1 and fence = $2';
    return this.rows.accepted(await this.database.query(statement, [id, fence]));
  }

  private async revoke(claim: RevocationClaim): Promise<RevocationOutcome> {
    const { id, provider, attempts, signal } = claim;
    const token = this.vault.open(claim.token, revocationPlace(id, provider));
    const account = { token, vendorAthleteId: claim.vendor_athlete_id };
    const answer = this.providers.isOffered(provider)
      ? await this.endpoint.revoke(this.providers.offered(provider), account, within(CALL_MS, signal))
      : undefined;
    if (answer === 'done') return { kind: 'done' };
    const kind = afterFailure(claim);
    this.logger.warn(
      { provider, status: answer, attempts, isLast: kind === 'given_up' },
      'a grant could not be revoked',
    );
    return { kind };
  }

  private tokenOf({ provider, access, refresh }: Grant): string | undefined {
    if (!this.providers.isOffered(provider)) return undefined;
    return this.providers.offered(provider).facts.revocation.token === 'access' ? access : refresh;
  }
}

function afterFailure({ attempts }: RevocationClaim): 'failed' | 'given_up' {
  return attempts >= MAX_ATTEMPTS ? 'given_up' : 'failed';
}

export function revocationPlace(id: string, provider: Provider): SecretPlace {
  return { table: 'revocation', owner: id, provider, column: 'token' };
}

function within(ms: number, signal?: AbortSignal): AbortSignal {
  const deadline = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}
