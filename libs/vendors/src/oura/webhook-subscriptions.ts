import { z } from 'zod';
import { type VendorConfig } from '#platform';
import { type OutboundAnswer, type OutboundRequest } from '#reliability';
import { type CallOutcome } from '../call/call-outcome.js';
import { SubscriptionAnswers } from '../call/subscription-calls.js';
import {
  type NewSubscription,
  type Subscription,
  type SubscriptionApi,
  type SubscriptionCall,
  type WebhookSubscriptions,
} from '../webhook.js';
import { verificationTokenOf } from './verification-token.js';

const EVENT_TYPES = ['create', 'update', 'delete'] as const;
const DATA_TYPES = ['sleep', 'daily_sleep'] as const;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
// Oura documents 403 for a subscription that does not exist; recordings of its API show 404.
const answers = new SubscriptionAnswers('Oura', undefined, [403, 404]);

const Listed = z.array(
  z
    .object({
      id: z.string(),
      callback_url: z.string(),
      event_type: z.string(),
      data_type: z.string(),
      expiration_time: z.iso.datetime({ offset: true, local: true }),
    })
    .transform((one) => ({
      id: one.id,
      topic: topicOf(one.event_type, one.data_type),
      callbackUrl: one.callback_url,
      endsAt: new Date(one.expiration_time),
    })),
);
const Created = z.object({ id: z.string() });

/** Six subscriptions: create, update and delete of sleep and daily_sleep. */
export const ouraSubscriptions: WebhookSubscriptions = {
  topics: EVENT_TYPES.flatMap((event) => DATA_TYPES.map((data) => topicOf(event, data))),
  checkEveryMs: 5 * MINUTE_MS,
  // A subscription lives for ninety days. Renewals may fail for a month before it ends.
  renewBeforeMs: 30 * DAY_MS,
  callbackPath: ({ client }) => (client ? '/webhooks/oura' : undefined),
  at: (config, call) => new OuraSubscriptions(config, call),
};

/** Oura's endpoints for subscriptions. */
class OuraSubscriptions implements SubscriptionApi {
  constructor(
    private readonly config: VendorConfig,
    private readonly send: SubscriptionCall,
  ) {}

  list(): Promise<CallOutcome<readonly Subscription[]>> {
    return this.call('GET', '', answers.contentOf(Listed));
  }

  create(topic: string, callbackUrl: string): Promise<CallOutcome<NewSubscription>> {
    return this.call('POST', '', answers.contentOf(Created), this.requestOf(topic, callbackUrl));
  }

  remove({ id }: Subscription): Promise<CallOutcome<unknown>> {
    return this.call('DELETE', `/${id}`, answers.accepted);
  }

  renew({ id }: Subscription): Promise<CallOutcome<unknown>> {
    return this.call('PUT', `/renew/${id}`, answers.accepted);
  }

  move({ id, topic }: Subscription, callbackUrl: string): Promise<CallOutcome<unknown>> {
    return this.call('PUT', `/${id}`, answers.accepted, this.requestOf(topic, callbackUrl));
  }

  private requestOf(topic: string, callback_url: string): object {
    const [event_type, data_type] = topic.split(' ');
    const verification_token = verificationTokenOf(this.config.client?.secret ?? '');
    return { callback_url, verification_token, event_type, data_type };
  }

  private call<T>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    read: (answer: OutboundAnswer) => CallOutcome<T>,
    content?: object,
  ): Promise<CallOutcome<T>> {
    const { apiUrl, client } = this.config;
    const request: OutboundRequest = {
      method,
      url: `${apiUrl}/v2/webhook/subscription${path}`,
      headers: {
        'x-client-id': client?.id ?? '',
        'x-client-secret': client?.secret ?? '',
        ...(content && { 'content-type': 'application/json' }),
      },
      body: content && JSON.stringify(content),
      // A repeated POST would fail if the first one had created the subscription.
      repeatable: method !== 'POST',
    };
    return this.send(request, read);
  }
}

function topicOf(event: string, data: string): string {
  return `${event} ${data}`;
}
