import { z } from 'zod';
import { AppError, type Config, type Database, type Logger, Loop, type TimeScale } from '#platform';
import { type OutboundAnswer, type OutboundCaller } from '#reliability';
import { parseJson } from '../parse-json.js';
import { faultOf, faultText } from '../wire/fault.js';
import { Id } from '../wire/values.js';

const VENDOR = 'strava';
const CHECK_MS = 3_600_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;

const Subscriptions = z.array(z.object({ id: Id, callback_url: z.string() }));
const Created = z.object({ id: Id });

class SubscriptionRefused extends AppError {
  override readonly code = 'STRAVA.SUBSCRIPTION_REFUSED';
  override readonly kind = 'unavailable';
}

export interface SubscriptionPlan {
  readonly apiUrl: string;
  readonly client: { readonly id: string; readonly secret: string };
  readonly verifyToken: string;
  readonly callbackUrl: string;
}

/** What is to be subscribed to; nothing where the configuration lacks a part of it. */
export function subscriptionPlan({
  strava,
  http,
}: Pick<Config, 'strava' | 'http'>): SubscriptionPlan | undefined {
  const { client, webhookVerifyToken: verifyToken, webhookPathSecret: pathSecret, apiUrl } = strava;
  // Without an address that was given on purpose: a laptop must not take an app's one subscription away from production.
  if (!client || !verifyToken || !pathSecret || !http.isPublic) return undefined;
  return { apiUrl, client, verifyToken, callbackUrl: `${http.publicUrl}/webhooks/strava/${pathSecret}` };
}

/** Sees to it that Strava sends its events here. An app has one subscription for all its athletes; it costs no call of the limits. */
export class SubscriptionKeeper {
  private readonly loop: Loop;
  private failures = 0;

  constructor(
    private readonly plan: SubscriptionPlan,
    private readonly caller: OutboundCaller,
    private readonly database: Database,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    this.loop = new Loop('strava subscription', () => this.runOnce(), logger);
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Answers when to look again, in ms. */
  async runOnce(): Promise<number> {
    try {
      const done = await this.ensure();
      if (done === 'created' || this.failures > 0)
        this.logger.info({ subscription: done }, 'strava sends its events');
      this.failures = 0;
      return this.scale.sweep(CHECK_MS);
    } catch (err) {
      this.failures += 1;
      this.logger.warn({ err, failures: this.failures }, 'strava does not send its events yet');
      return this.scale.sweep(Math.min(FIRST_RETRY_MS * 2 ** (this.failures - 1), LONGEST_RETRY_MS));
    }
  }

  private async ensure(): Promise<'kept' | 'created'> {
    const there = await this.list();
    const ours = there.find(({ callback_url }) => callback_url === this.plan.callbackUrl);
    if (ours) {
      await this.remember(ours.id);
      return 'kept';
    }
    // From now on events of any subscription are taken: those of the new one may come before we know its id.
    await this.database.query('delete from webhook_subscription where vendor = $1', [VENDOR]);
    for (const { id } of there) await this.remove(id);
    await this.remember(await this.create());
    return 'created';
  }

  private async list() {
    const answer = await this.call({ method: 'GET', path: `?${this.credentials().toString()}` });
    return contentOf(answer, Subscriptions);
  }

  private async create(): Promise<string> {
    const { callbackUrl, verifyToken } = this.plan;
    const form = this.credentials({ callback_url: callbackUrl, verify_token: verifyToken });
    return contentOf(await this.call({ method: 'POST', path: '', body: form.toString() }), Created).id;
  }

  private async remove(id: string): Promise<void> {
    const answer = await this.call({ method: 'DELETE', path: `/${id}?${this.credentials().toString()}` });
    if (answer.status !== 404) contentOf(answer, z.unknown());
  }

  private async call({
    method,
    path,
    body,
  }: {
    method: 'GET' | 'POST' | 'DELETE';
    path: string;
    body?: string;
  }) {
    const { answer } = await this.caller.call({
      method,
      url: `${this.plan.apiUrl}/push_subscriptions${path}`,
      body,
      headers: body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' },
      // A second one would find the first in its way.
      repeatable: method !== 'POST',
    });
    return answer;
  }

  private credentials(more: Record<string, string> = {}): URLSearchParams {
    const { id, secret } = this.plan.client;
    return new URLSearchParams({ client_id: id, client_secret: secret, ...more });
  }

  private async remember(subscriptionId: string): Promise<void> {
    await this.database.query(
      `insert into webhook_subscription (vendor, subscription_id) values ($1, $2)
       on conflict (vendor) do update set subscription_id = excluded.subscription_id, seen_at = clock_timestamp()`,
      [VENDOR, subscriptionId],
    );
  }
}

function contentOf<Schema extends z.ZodType>(
  { status, body }: OutboundAnswer,
  schema: Schema,
): z.output<Schema> {
  if (status >= 300) throw new SubscriptionRefused(`Strava answered ${status}: ${faultText(faultOf(body))}`);
  const content = schema.safeParse(jsonOf(body));
  if (!content.success)
    throw new SubscriptionRefused('Strava answered something else than its subscriptions');
  return content.data;
}

function jsonOf(body: Buffer): unknown {
  try {
    return parseJson(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
