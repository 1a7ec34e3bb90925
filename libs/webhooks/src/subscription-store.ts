import { subscriptionPlace, type Vault } from '#connections';
import { AppError, type Database, type Fenced, FencedRows, loadSql, type Logger } from '#platform';
import { type NewSubscription, type VendorId } from '#vendors';

const claimSubscriptions = loadSql(import.meta.url, './sql/claim-subscriptions.sql');
const settleSubscriptions = loadSql(import.meta.url, './sql/settle-subscriptions.sql');
const storeSubscription = loadSql(import.meta.url, './sql/store-subscription.sql');
const forgetSubscription = loadSql(import.meta.url, './sql/forget-subscription.sql');

/** The right to maintain a vendor's subscriptions. */
export interface SubscriptionClaim extends Fenced {
  readonly vendor: VendorId;
  /** Failed checks since the last one that succeeded. */
  readonly failures: number;
  readonly claimed_at: Date;
}

interface NextCheck {
  readonly afterMs: number;
  readonly failures: number;
}

/** The rows of our subscriptions at the vendors, and of the work to maintain them. Secrets are stored sealed. */
export class SubscriptionStore {
  private readonly rows = new FencedRows('webhook_subscription', 'webhook_subscription_keeper', 'vendor');

  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
    private readonly logger: Logger,
  ) {}

  /** Undefined while another worker holds the lease, or while no check is due. `isEarly`: also if none is due. */
  async claim(vendor: VendorId, leaseMs: number, isEarly = false): Promise<SubscriptionClaim | undefined> {
    const values = [vendor, leaseMs, isEarly];
    const { rows } = await this.database.query<SubscriptionClaim>(claimSubscriptions, values);
    return rows[0];
  }

  /** False: another worker has the claim. */
  renew(claim: SubscriptionClaim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, claim.vendor, claim, leaseMs);
  }

  /** Ends the claim. False as for `renew`. */
  async settle({ vendor, fence }: SubscriptionClaim, { afterMs, failures }: NextCheck): Promise<boolean> {
    const values = [vendor, fence, afterMs, failures];
    return this.rows.accepted(await this.database.query(settleSubscriptions, values));
  }

  /**
   * Throws ClaimLost. Without a stored id, the inbox accepts events of any subscription: those of a new one may arrive before its id is
   * stored.
   */
  async forget({ vendor, fence }: SubscriptionClaim, topic: string): Promise<void> {
    this.rows.require(await this.database.query(forgetSubscription, [vendor, fence, topic]));
  }

  /** Throws ClaimLost. */
  async store(claim: SubscriptionClaim, topic: string, subscription: NewSubscription): Promise<void> {
    const { vendor, fence } = claim;
    const { id, secret } = subscription;
    const sealed = secret === undefined ? null : this.vault.seal(secret, subscriptionPlace(vendor, topic));
    const keyVersion = sealed === null ? null : this.vault.keyVersion;
    const values = [vendor, topic, fence, id, sealed, keyVersion];
    this.rows.require(await this.database.query(storeSubscription, values));
  }

  /** False: the secret is lost or no configured key opens it, or the subscription was made elsewhere. */
  async hasSecret(vendor: VendorId, topic: string, id: string): Promise<boolean> {
    const { rows } = await this.database.query<{ secret: string }>(
      `select secret from webhook_subscription
       where vendor = $1 and topic = $2 and subscription_id = $3 and secret is not null`,
      [vendor, topic, id],
    );
    return rows[0] !== undefined && this.isReadable(vendor, topic, rows[0].secret);
  }

  /** Returns the secrets that the vendor signs events with. Throws SecretUnreadable; the keeper replaces such a subscription. */
  async secretsOf(vendor: VendorId): Promise<readonly string[]> {
    const { rows } = await this.database.query<{ topic: string; secret: string }>(
      'select topic, secret from webhook_subscription where vendor = $1 and secret is not null',
      [vendor],
    );
    return rows.map(({ topic, secret }) => this.vault.open(secret, subscriptionPlace(vendor, topic)));
  }

  private isReadable(vendor: VendorId, topic: string, secret: string): boolean {
    try {
      this.vault.open(secret, subscriptionPlace(vendor, topic));
      return true;
    } catch (err) {
      if (!(err instanceof AppError && err.code === 'SECRET_UNREADABLE')) throw err;
      this.logger.warn({ err, vendor, topic }, 'secret of a webhook subscription not readable');
      return false;
    }
  }
}
