import { type Core, type StatePart, randomToken, withDeadline } from '../core/index.js';
import { badRequest, notFound } from './strava-fault.js';
import { LONGEST_CALLBACK_URL, WEBHOOK_ACK_TIMEOUT_MS } from './strava-facts.js';

export interface Subscription {
  readonly id: number;
  readonly callbackUrl: string;
  readonly createdAt: string;
}

interface SavedSubscriptions {
  readonly current: Subscription | null;
  readonly nextId: number;
}

const FIRST_ID = 120_475;

/** The app's only subscription, for all athletes. A subscription belongs to the app, so a reset of the world keeps it. */
export class Subscriptions implements StatePart<SavedSubscriptions> {
  current: Subscription | undefined;
  private nextId = FIRST_ID;
  private isVerifying = false;

  constructor(private readonly core: Core) {}

  save(): SavedSubscriptions {
    return { current: this.current ?? null, nextId: this.nextId };
  }

  restore({ current, nextId }: SavedSubscriptions): void {
    this.current = current ?? undefined;
    this.nextId = nextId;
  }

  async create(callbackUrl: string, verifyToken: string): Promise<Subscription> {
    if (!isHttpUrl(callbackUrl)) throw badRequest('PushSubscription', 'callback url');
    if (callbackUrl.length > LONGEST_CALLBACK_URL)
      throw badRequest('PushSubscription', 'callback url', 'too long');
    if (this.current || this.isVerifying) throw badRequest('PushSubscription', '', 'already exists');
    this.isVerifying = true;
    const isVerified = await this.challenge(callbackUrl, verifyToken).finally(
      () => (this.isVerifying = false),
    );
    if (!isVerified) throw badRequest('PushSubscription', 'callback url', 'not verifiable');
    return this.subscribe(callbackUrl);
  }

  /** Subscribes without a challenge, for the control route. */
  subscribe(callbackUrl: string): Subscription {
    const createdAt = new Date(this.core.clock.nowMs()).toISOString();
    this.current = { id: this.nextId++, callbackUrl, createdAt };
    return this.current;
  }

  cancel(id: string): void {
    if (String(this.current?.id) !== id) throw notFound('PushSubscription');
    this.current = undefined;
  }

  /** Calls the callback while the POST is still open, and waits two seconds for the echo. */
  private async challenge(callbackUrl: string, verifyToken: string): Promise<boolean> {
    const challenge = randomToken(8);
    const url = challengeUrl(callbackUrl, challenge, verifyToken);
    try {
      return await withDeadline(this.core.clock, WEBHOOK_ACK_TIMEOUT_MS, (signal) =>
        echoes(url, challenge, signal),
      );
    } catch {
      return false;
    }
  }
}

async function echoes(url: string, challenge: string, signal: AbortSignal): Promise<boolean> {
  const response = await fetch(url, { redirect: 'manual', signal });
  if (response.status !== 200) return false;
  const echo = (await response.json()) as Record<string, unknown> | null;
  return echo?.['hub.challenge'] === challenge;
}

function challengeUrl(callbackUrl: string, challenge: string, verifyToken: string): string {
  const url = new URL(callbackUrl);
  url.searchParams.set('hub.mode', 'subscribe');
  url.searchParams.set('hub.challenge', challenge);
  url.searchParams.set('hub.verify_token', verifyToken);
  return url.toString();
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
