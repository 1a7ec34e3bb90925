import { randomUUID } from 'node:crypto';
import { type Database, loadSql, type Logger, type Sql, type TimeScale } from '#platform';
import { type Place, type Vault } from '../crypto/vault.js';
import { revocations } from '../metrics.js';
import { type Provider } from '../oauth/provider.js';
import { type Providers } from '../oauth/providers.js';
import { type TokenEndpoint } from '../oauth/token-endpoint.js';

const addRevocation = loadSql(import.meta.url, '../sql/add-revocation.sql');
const claimRevocations = loadSql(import.meta.url, '../sql/claim-revocations.sql');

const BATCH = 20;
// 1, 2, 4 … minutes up to six hours: thirty attempts are about six days.
const FIRST_DELAY_MS = 60_000;
const LONGEST_DELAY_MS = 6 * 3_600_000;
const MOST_ATTEMPTS = 30;
const CALL_MS = 5_000;

interface Due {
  readonly id: string;
  readonly provider: Provider;
  readonly token: string;
  readonly attempts: number;
}

export interface Grant {
  readonly provider: Provider;
  readonly vendorAthleteId: string;
  readonly access?: string;
  readonly refresh?: string;
}

/** Grants that are to end at the vendor. Written in the transaction that ends them here, so none is forgotten. */
export class Revocations {
  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
    private readonly providers: Providers,
    private readonly endpoint: TokenEndpoint,
    private readonly timeScale: TimeScale,
    private readonly logger: Logger,
  ) {}

  /** The entry's id; nothing where there is nothing that could be revoked. */
  async add(grant: Grant, sql: Sql = this.database): Promise<string | undefined> {
    const { provider, vendorAthleteId } = grant;
    const token = this.tokenOf(grant);
    if (!token) return undefined;
    const id = randomUUID();
    const sealed = this.vault.seal(token, placeOf(id, provider));
    const { count } = await sql.query(addRevocation, [
      id,
      provider,
      vendorAthleteId,
      sealed,
      this.vault.keyVersion,
    ]);
    return count > 0 ? id : undefined;
  }

  /** A new grant for that account makes an old wish to end it void: carried out now, it would end the new one. */
  async withdraw(provider: Provider, vendorAthleteId: string, sql: Sql): Promise<void> {
    await sql.query('delete from revocation where provider = $1 and vendor_athlete_id = $2', [
      provider,
      vendorAthleteId,
    ]);
  }

  /** At once, for somebody who waits; what fails is left to the sweep. */
  async attempt(id: string | undefined, signal?: AbortSignal): Promise<void> {
    if (!id) return;
    for (const due of await this.claim(id)) await this.revoke(due, signal);
  }

  /** What is due now; answers how many were tried. For a timer, a minute or so apart. */
  async runOnce(): Promise<number> {
    const due = await this.claim(null);
    for (const entry of due) await this.revoke(entry);
    return due.length;
  }

  private async claim(id: string | null): Promise<Due[]> {
    const firstMs = Math.max(this.timeScale.wait(FIRST_DELAY_MS), 2 * CALL_MS);
    const longestMs = Math.max(this.timeScale.wait(LONGEST_DELAY_MS), firstMs);
    const { rows } = await this.database.query<Due>(claimRevocations, [id, BATCH, firstMs, longestMs]);
    return rows;
  }

  private async revoke({ id, provider, token: sealed, attempts }: Due, signal?: AbortSignal): Promise<void> {
    const token = this.vault.open(sealed, placeOf(id, provider));
    const outcome = this.providers.isOffered(provider)
      ? await this.endpoint.revoke(this.providers.offered(provider), token, within(CALL_MS, signal))
      : undefined;
    const isLast = outcome !== 'done' && attempts >= MOST_ATTEMPTS;
    revocations.inc({ provider, result: outcome === 'done' ? 'done' : isLast ? 'given_up' : 'failed' });
    if (outcome === 'done' || isLast) await this.database.query('delete from revocation where id = $1', [id]);
    if (outcome !== 'done')
      this.logger.warn({ provider, status: outcome, attempts, isLast }, 'a grant could not be revoked');
  }

  private tokenOf({ provider, access, refresh }: Grant): string | undefined {
    if (!this.providers.isOffered(provider)) return undefined;
    return this.providers.offered(provider).facts.revocation.token === 'access' ? access : refresh;
  }
}

export function placeOf(id: string, provider: Provider): Place {
  return { table: 'revocation', owner: id, provider, column: 'token' };
}

function within(ms: number, signal?: AbortSignal): AbortSignal {
  const deadline = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}
