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
import { faultOf, faultText } from './wire/fault.js';
import { Id } from './wire/values.js';

const answers = new SubscriptionAnswers('Strava', ({ body }) => ({ text: faultText(faultOf(body)) }));

// An app has one subscription, to all events.
const TOPIC = 'all';
const HOUR_MS = 3_600_000;

const Listed = z.array(
  z
    .object({ id: Id, callback_url: z.string() })
    .transform(({ id, callback_url: callbackUrl }) => ({ id, topic: TOPIC, callbackUrl })),
);
const Created = z.object({ id: Id });

export interface StravaWebhookConfig extends VendorConfig {
  readonly webhookVerifyToken?: string;
  readonly webhookPathSecret?: string;
}

export const stravaSubscriptions: WebhookSubscriptions<StravaWebhookConfig> = {
  topics: [TOPIC],
  checkEveryMs: HOUR_MS,
  callbackPath: ({ client, webhookVerifyToken, webhookPathSecret }) =>
    client && webhookVerifyToken && webhookPathSecret ? `/webhooks/strava/${webhookPathSecret}` : undefined,
  at: (config, call) => new StravaSubscriptions(config, call),
};

/** Strava's endpoint for the app's subscription. */
class StravaSubscriptions implements SubscriptionApi {
  constructor(
    private readonly config: StravaWebhookConfig,
    private readonly send: SubscriptionCall,
  ) {}

  list(): Promise<CallOutcome<readonly Subscription[]>> {
    return this.call('GET', `?${this.credentials().toString()}`, answers.contentOf(Listed));
  }

  create(_topic: string, callbackUrl: string): Promise<CallOutcome<NewSubscription>> {
    const { webhookVerifyToken: verify_token = '' } = this.config;
    const form = this.credentials({ callback_url: callbackUrl, verify_token });
    return this.call('POST', '', answers.contentOf(Created), form.toString());
  }

  remove({ id }: Subscription): Promise<CallOutcome<unknown>> {
    return this.call('DELETE', `/${id}?${this.credentials().toString()}`, answers.accepted);
  }

  private call<T>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    read: (answer: OutboundAnswer) => CallOutcome<T>,
    body?: string,
  ): Promise<CallOutcome<T>> {
    const request: OutboundRequest = {
      method,
      url: `${this.config.apiUrl}/push_subscriptions${path}`,
      body,
      headers: body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' },
      // A repeated POST would fail if the first one had created the subscription.
      repeatable: method !== 'POST',
    };
    return this.send(request, read);
  }

  private credentials(more: Record<string, string> = {}): URLSearchParams {
    const { client } = this.config;
    return new URLSearchParams({ client_id: client?.id ?? '', client_secret: client?.secret ?? '', ...more });
  }
}
