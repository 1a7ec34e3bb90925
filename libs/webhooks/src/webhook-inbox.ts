import { type Database, loadSql, originNow, type SignedTimes } from '#platform';
import {
  isVendor,
  type ProductConfig,
  type VendorId,
  VENDORS,
  type Webhook,
  type WebhookChallenge,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookVerdict,
} from '#vendors';
import { type SubscriptionStore } from './subscription-store.js';
import { webhookEvents } from './webhook-metrics.js';

const receiveEvent = loadSql(import.meta.url, './sql/receive-event.sql');

// A captured delivery cannot be replayed after this time.
const REPLAY_WINDOW_MS = 300_000;
const SIGNED_TOLERANCE = { earlierMs: REPLAY_WINDOW_MS, laterMs: REPLAY_WINDOW_MS };

type ReceiveOutcome = 'received' | 'duplicate' | 'ignored';

/**
 * Stores vendors' events before they are acknowledged. A worker may miss its wake-up; its poll then finds the event within a second. Not
 * guaranteed: events of owners who are not connected are not kept; the import or the reconciliation after a connection finds the changes.
 */
export class WebhookInbox {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: Pick<SubscriptionStore, 'secretsOf'>,
    private readonly config: Pick<ProductConfig, 'vendors'>,
    private readonly times: Pick<SignedTimes, 'accepts'>,
    private readonly wakeWorkers: (vendor: VendorId) => void,
  ) {}

  /** Answers the request with which a vendor confirms a subscription. */
  challenge(vendor: string, query: Readonly<Record<string, unknown>>, pathSecret?: string): WebhookChallenge {
    const webhook = webhookOf(vendor);
    if (!webhook?.part.challenge) return 'not found';
    return webhook.part.challenge(query, pathSecret, this.config.vendors[webhook.vendor]);
  }

  /**
   * After `genuine`, the delivery's events are durable. Throws InvalidInput if a genuine body is no event. The id of the request goes with the
   * events, so that the worker's log lines have it too.
   */
  async receive(vendor: string, delivery: WebhookDelivery, requestId?: string): Promise<WebhookVerdict> {
    const webhook = webhookOf(vendor);
    if (!webhook) return 'not found';
    const verdict = await this.verdictOf(webhook, delivery);
    if (verdict !== 'genuine') return verdict;
    const events = webhook.part.read(delivery.body);
    if (events.length === 0) webhookEvents.inc({ vendor, result: 'ignored' });
    for (const event of events) {
      const result = await this.keep(webhook.vendor, event, delivery.body, requestId);
      webhookEvents.inc({ vendor, result });
      if (result === 'received') this.wakeWorkers(webhook.vendor);
    }
    return verdict;
  }

  /** Adds an event that this product makes itself, for an object that a vendor's list lacks. A repeated event is kept once. */
  async add(vendor: VendorId, event: WebhookEvent): Promise<void> {
    await this.keep(vendor, event, '{}');
    this.wakeWorkers(vendor);
  }

  private async verdictOf(
    { vendor, part }: VendorWebhook,
    delivery: WebhookDelivery,
  ): Promise<WebhookVerdict> {
    const subscriptionSecrets = part.signsPerSubscription ? await this.subscriptions.secretsOf(vendor) : [];
    const secrets = { config: this.config.vendors[vendor], subscriptionSecrets };
    const verdict = part.verify(delivery, secrets);
    if (typeof verdict === 'string') return verdict;
    return this.times.accepts(vendor, verdict.signedAtMs, SIGNED_TOLERANCE) ? 'genuine' : 'unauthenticated';
  }

  private async keep(
    vendor: VendorId,
    event: WebhookEvent,
    raw: string,
    requestId?: string,
  ): Promise<ReceiveOutcome> {
    const origin = originNow(requestId);
    const { dedupeKey, ownerId, objectType, objectId, aspect, eventTime, subscriptionId } = event;
    const { rows } = await this.database.query<{ result: ReceiveOutcome }>(receiveEvent, [
      vendor,
      dedupeKey,
      ownerId,
      objectType,
      objectId,
      aspect,
      eventTime ?? null,
      raw,
      subscriptionId ?? null,
      origin.requestId,
      origin.traceparent,
    ]);
    const [row] = rows;
    if (!row) throw new Error('receive-event.sql returned no row');
    return row.result;
  }
}

interface VendorWebhook {
  readonly vendor: VendorId;
  readonly part: Webhook;
}

function webhookOf(vendor: string): VendorWebhook | undefined {
  if (!isVendor(vendor)) return undefined;
  const part: Webhook | undefined = VENDORS[vendor].webhook;
  return part && { vendor, part };
}
