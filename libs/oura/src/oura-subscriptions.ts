import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  AppError,
  type Clock,
  type Config,
  type Database,
  loadSql,
  type Logger,
  type TimeScale,
} from '#platform';
import { type OutboundAnswer, type OutboundCaller } from '#reliability';
import { verificationTokenOf } from './verification-token.js';

const takeSubscriptions = loadSql(import.meta.url, './sql/take-subscriptions.sql');

const EVENT_TYPES = ['create', 'update', 'delete'] as const;
const DATA_TYPES = ['sleep', 'daily_sleep'] as const;
// They live for ninety days; renewed so early, a month of failures is no harm.
const RENEWED_BEFORE_MS = 30 * 86_400_000;
// Longer than all calls of a run take together, which TIME_SCALE does not shorten.
const LEASE_MS = 120_000;
// What Oura answers about one that does not exist.
const UNKNOWN = 403;

const Subscription = z.object({
  id: z.string(),
  callback_url: z.string(),
  event_type: z.string(),
  data_type: z.string(),
  expiration_time: z.iso.datetime({ offset: true, local: true }),
});
type Subscription = z.output<typeof Subscription>;

interface Terms {
  readonly callback_url: string;
  readonly verification_token: string;
  readonly event_type: string;
  readonly data_type: string;
}

class SubscriptionRefused extends AppError {
  override readonly code = 'OURA.SUBSCRIPTION_REFUSED';
  override readonly kind = 'unavailable';
  constructor({ status }: OutboundAnswer) {
    super(`Oura answered ${status}`);
  }
}

/** Sees to it that Oura sends its events here: one subscription for each kind of event and data. Costs no call of the limits. */
export class OuraSubscriptions {
  constructor(
    private readonly config: Pick<Config, 'oura' | 'http'>,
    private readonly caller: OutboundCaller,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {}

  /** Nothing to do without a client, and without an address that was given on purpose. */
  async runOnce(): Promise<void> {
    const { oura, http } = this.config;
    if (!oura.client || !http.isPublic) return;
    const holder = randomUUID();
    const { count } = await this.database.query(takeSubscriptions, [LEASE_MS, holder]);
    if (count === 0) return;
    try {
      await this.ensureAll();
    } finally {
      await this.database.query('delete from oura_subscription_lease where holder = $1', [holder]);
    }
  }

  /** What goes wrong with one does not keep the others from being seen to. */
  private async ensureAll(): Promise<void> {
    const there = z.array(Subscription).parse(contentOf(await this.call('GET', '')));
    for (const terms of this.wanted())
      try {
        const { event_type, data_type } = terms;
        const held = there.find((one) => one.event_type === event_type && one.data_type === data_type);
        const done = await this.ensure(terms, held);
        if (done !== 'kept') this.logger.info({ event_type, data_type, done }, 'oura sends its events');
      } catch (err) {
        const { event_type, data_type } = terms;
        this.logger.warn({ err, event_type, data_type }, 'oura does not send its events yet');
      }
  }

  private wanted(): Terms[] {
    const { oura, http } = this.config;
    const callback_url = `${http.publicUrl}/webhooks/oura`;
    const verification_token = verificationTokenOf(oura.client?.secret ?? '');
    return EVENT_TYPES.flatMap((event_type) =>
      DATA_TYPES.map((data_type) => ({ callback_url, verification_token, event_type, data_type })),
    );
  }

  private async ensure(terms: Terms, held?: Subscription): Promise<'kept' | 'renewed' | 'moved' | 'made'> {
    if (held && held.callback_url !== terms.callback_url) {
      if (await this.change(`/${held.id}`, terms)) return 'moved';
    } else if (held) {
      if (!this.isEnding(held)) return 'kept';
      if (await this.change(`/renew/${held.id}`)) return 'renewed';
    }
    contentOf(await this.call('POST', '', terms));
    return 'made';
  }

  private isEnding({ expiration_time }: Subscription): boolean {
    return Date.parse(expiration_time) - this.clock.nowMs() < this.scale.wait(RENEWED_BEFORE_MS);
  }

  /** False: it has ended since it was listed. */
  private async change(path: string, terms?: Terms): Promise<boolean> {
    const answer = await this.call('PUT', path, terms);
    if (answer.status === UNKNOWN) return false;
    contentOf(answer);
    return true;
  }

  private async call(method: 'GET' | 'POST' | 'PUT', path: string, terms?: Terms): Promise<OutboundAnswer> {
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
    return answer;
  }
}

function contentOf(answer: OutboundAnswer): unknown {
  if (answer.status >= 300) throw new SubscriptionRefused(answer);
  return JSON.parse(answer.body.toString('utf8'));
}
