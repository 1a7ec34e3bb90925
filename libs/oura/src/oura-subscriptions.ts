import { z } from 'zod';
import { AppError, type Config, type Logger, type TimeScale } from '#platform';
import { type OutboundCaller } from '#reliability';
import { verificationTokenOf } from './verification-token.js';

const EVENT_TYPES = ['create', 'update', 'delete'] as const;
const DATA_TYPES = ['sleep', 'daily_sleep'] as const;
// They live for ninety days; renewed so early, a month of failures is no harm.
const RENEWED_BEFORE_MS = 30 * 86_400_000;

const Subscription = z.object({
  id: z.string(),
  callback_url: z.string(),
  event_type: z.string(),
  data_type: z.string(),
  expiration_time: z.iso.datetime({ offset: true, local: true }),
});
type Subscription = z.output<typeof Subscription>;

class SubscriptionRefused extends AppError {
  override readonly code = 'OURA.SUBSCRIPTION_REFUSED';
  override readonly kind = 'unavailable';
}

/** Sees to it that Oura sends its events here: one subscription for each kind of event and data. Costs no call of the limits. */
export class OuraSubscriptions {
  constructor(
    private readonly config: Pick<Config, 'oura' | 'http'>,
    private readonly caller: OutboundCaller,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {}

  /** Nothing to do without a client, and without an address that was given on purpose. */
  async runOnce(): Promise<void> {
    const { oura, http } = this.config;
    if (!oura.client || !http.isPublic) return;
    const there = z.array(Subscription).parse(await this.call('GET', ''));
    for (const eventType of EVENT_TYPES)
      for (const dataType of DATA_TYPES)
        await this.ensure(
          eventType,
          dataType,
          there.find(({ event_type, data_type }) => event_type === eventType && data_type === dataType),
        );
  }

  private async ensure(event_type: string, data_type: string, held: Subscription | undefined): Promise<void> {
    const { oura, http } = this.config;
    const terms = {
      callback_url: `${http.publicUrl}/webhooks/oura`,
      verification_token: verificationTokenOf(oura.client?.secret ?? ''),
      event_type,
      data_type,
    };
    if (!held) await this.call('POST', '', terms);
    else if (held.callback_url !== terms.callback_url) await this.call('PUT', `/${held.id}`, terms);
    else if (Date.parse(held.expiration_time) - Date.now() < this.scale.wait(RENEWED_BEFORE_MS))
      await this.call('PUT', `/renew/${held.id}`);
    else return;
    this.logger.info({ event_type, data_type }, 'oura sends its events');
  }

  private async call(method: 'GET' | 'POST' | 'PUT', path: string, terms?: object): Promise<unknown> {
    const { apiUrl, client } = this.config.oura;
    const { answer } = await this.caller.call({
      method,
      url: `${apiUrl}/v2/webhook/subscription${path}`,
      headers: {
        'x-client-id': client?.id ?? '',
        'x-client-secret': client?.secret ?? '',
        ...(terms && { 'content-type': 'application/json' }),
      },
      body: terms && JSON.stringify(terms),
      // A second one would find the first in its way.
      repeatable: method !== 'POST',
    });
    if (answer.status >= 300) throw new SubscriptionRefused(`Oura answered ${answer.status}`);
    return JSON.parse(answer.body.toString('utf8'));
  }
}
