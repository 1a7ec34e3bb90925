import { z } from 'zod';
import { type VendorConfig } from '#platform';
import { type OutboundAnswer, type OutboundRequest } from '#reliability';
import { type CallOutcome } from '../call/call-outcome.js';
import { SubscriptionAnswers } from '../call/subscription-calls.js';
import { basicAuth } from '../oauth.js';
import {
  type NewSubscription,
  type Subscription,
  type SubscriptionApi,
  type SubscriptionCall,
  type WebhookSubscriptions,
} from '../webhook.js';

const answers = new SubscriptionAnswers('Polar');

// An app has one webhook, for all athletes and all events.
const TOPIC = 'all';
const EVENTS = ['EXERCISE', 'SLEEP'];
const HOUR_MS = 3_600_000;
const NONE = 204;

const Listed = z
  .object({
    data: z.array(
      z
        .object({
          id: z.string().min(1),
          url: z.string(),
          events: z.array(z.string()),
          active: z.boolean().default(true),
        })
        .transform(({ id, url, events, active }) => ({
          id,
          topic: TOPIC,
          // A webhook that lacks an event is changed like one with another address.
          callbackUrl: EVENTS.every((event) => events.includes(event)) ? url : '',
          ...(!active && { endsAt: new Date(0) }),
        })),
    ),
  })
  .transform(({ data }) => data);
const Created = z
  .object({ data: z.object({ id: z.string().min(1), signature_secret_key: z.string().min(1) }) })
  .transform(({ data: { id, signature_secret_key: secret } }) => ({ id, secret }));

export const polarSubscriptions: WebhookSubscriptions = {
  topics: [TOPIC],
  checkEveryMs: HOUR_MS,
  isCharged: true,
  // Any time before now: only a deactivated webhook has an end, and it has passed.
  renewBeforeMs: 0,
  callbackPath: ({ client }) => (client ? '/webhooks/polar' : undefined),
  at: (config, call) => new PolarSubscriptions(config, call),
};

/**
 * Polar's endpoints for the app's webhook. Polar sends a PING before it accepts an address, so the api must be up. The key comes with the
 * creation and never again. After seven days without an accepted delivery Polar deactivates the webhook: it then counts as ended.
 */
class PolarSubscriptions implements SubscriptionApi {
  constructor(
    private readonly config: VendorConfig,
    private readonly send: SubscriptionCall,
  ) {}

  list(): Promise<CallOutcome<readonly Subscription[]>> {
    return this.call('GET', '', answers.contentOf(Listed));
  }

  create(_topic: string, url: string): Promise<CallOutcome<NewSubscription>> {
    return this.call('POST', '', answers.contentOf(Created), { events: EVENTS, url });
  }

  remove({ id }: Subscription): Promise<CallOutcome<unknown>> {
    return this.call('DELETE', `/${encodeURIComponent(id)}`, answers.accepted);
  }

  /** Activates the app's only webhook. */
  renew(): Promise<CallOutcome<unknown>> {
    return this.call('POST', '/activate', (answer) =>
      answer.status === NONE
        ? { kind: 'gone', reason: 'Polar has no webhook of this app' }
        : answers.accepted(answer),
    );
  }

  /** A deactivated webhook stays so when its address changes. */
  async move({ id, endsAt }: Subscription, url: string): Promise<CallOutcome<unknown>> {
    const path = `/${encodeURIComponent(id)}`;
    const moved = await this.call('PATCH', path, answers.accepted, { events: EVENTS, url });
    return moved.kind === 'ok' && endsAt ? this.renew() : moved;
  }

  private call<T>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    read: (answer: OutboundAnswer) => CallOutcome<T>,
    content?: object,
  ): Promise<CallOutcome<T>> {
    const { apiUrl, client } = this.config;
    const request: OutboundRequest = {
      method,
      url: `${apiUrl}/webhooks${path}`,
      headers: {
        accept: 'application/json',
        ...(client && { authorization: basicAuth(client) }),
        ...(content && { 'content-type': 'application/json' }),
      },
      body: content && JSON.stringify(content),
      // A repeated POST would fail if the first one had created the webhook, and its key would be lost.
      repeatable: method !== 'POST',
    };
    return this.send(request, read);
  }
}
