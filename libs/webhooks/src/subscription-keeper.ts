import { Counter } from 'prom-client';
import { type Held, type Logger, type Outcome, startAtZero, type TimeScale, type Work } from '#platform';
import {
  type CallFailure,
  type CallOutcome,
  LONGEST_CALL_MS,
  ok,
  type Subscription,
  type SubscriptionApi,
  type VendorId,
  vendorsWith,
  type WebhookSubscriptions,
} from '#vendors';
import { type SubscriptionClaim, type SubscriptionStore } from './subscription-store.js';

const POLL_MS = 5_000;
const LEASE_MS = 30_000;
// Longer than a call to a vendor and the write after it.
const SHORTEST_LEASE_MS = LONGEST_CALL_MS + 2_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;

type Result = 'kept' | 'created' | 'renewed' | 'moved';

const subscriptionChecks = new Counter({
  name: 'webhook_subscription_checks_total',
  help: 'Checks of our webhook subscriptions at the vendors, one for each topic',
  labelNames: ['vendor', 'result'],
});
startAtZero(
  subscriptionChecks,
  vendorsWith('webhook').flatMap((vendor) =>
    ['kept', 'created', 'renewed', 'moved', 'failed'].map((result) => ({ vendor, result })),
  ),
);

interface SubscriptionPlan {
  readonly vendor: VendorId;
  readonly callbackUrl: string;
  readonly part: Pick<WebhookSubscriptions, 'topics' | 'checkEveryMs' | 'renewBeforeMs'>;
  readonly api: SubscriptionApi;
  /** The vendor signs events with a secret that it shows once, when the subscription is created. */
  readonly signs?: boolean;
}

/** `notNow`: the rate limit allows no call. `interrupted`: the process stops. */
export type SubscriptionCheck = Outcome & {
  readonly kind: 'done' | 'failed' | 'notNow' | 'interrupted';
  /** The time until the next check. */
  readonly afterMs: number;
};

/**
 * Keeps a vendor's subscriptions pointed at our webhook. One worker at a time checks them at the vendor's interval. A worker that starts also
 * checks them at once, because PUBLIC_URL may have changed. Not guaranteed: events are lost while a subscription is missing; the
 * reconciliation finds the changes.
 *
 * | failed checks in a row | 1   | 2    | 3    | 4    | 5     | 6       | 7 and more |
 * | ---------------------- | --- | ---- | ---- | ---- | ----- | ------- | ---------- |
 * | next check in          | 5 s | 10 s | 20 s | 40 s | 80 s  | 160 s   | 5 min each |
 * | since the first        | 5 s | 15 s | 35 s | 75 s | 155 s | 5.3 min |            |
 */
export class SubscriptionKeeper implements Work<SubscriptionClaim, SubscriptionCheck> {
  readonly name: string;
  readonly lease = { ms: LEASE_MS, atLeastMs: SHORTEST_LEASE_MS };
  readonly everyMs = POLL_MS;
  private hasClaimed = false;

  constructor(
    private readonly plan: SubscriptionPlan,
    private readonly store: SubscriptionStore,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    this.name = `${plan.vendor} subscriptions`;
  }

  async claim(leaseMs: number): Promise<SubscriptionClaim | undefined> {
    const claim = await this.store.claim(this.plan.vendor, leaseMs, !this.hasClaimed);
    this.hasClaimed ||= claim !== undefined;
    return claim;
  }

  renew(claim: SubscriptionClaim, leaseMs: number): Promise<boolean> {
    return this.store.renew(claim, leaseMs);
  }

  async run(claim: SubscriptionClaim, held: Held): Promise<SubscriptionCheck> {
    const { part, api } = this.plan;
    const listed = await api.list();
    if (listed.kind !== 'ok') return this.withoutList(claim, listed);
    let isWhole = true;
    for (const topic of part.topics) {
      held.signal.throwIfAborted();
      if (held.isStopping()) return { kind: 'interrupted', afterMs: 0 };
      const existing = listed.value.filter((one) => one.topic === topic);
      const outcome = await this.check(claim, topic, existing);
      if (outcome.kind === 'notNow') return { kind: 'notNow', afterMs: outcome.retryAfterMs };
      isWhole &&= outcome.kind === 'ok';
    }
    return isWhole ? { kind: 'done', afterMs: this.scale.sweep(part.checkEveryMs) } : this.failure(claim);
  }

  failed(claim: SubscriptionClaim, err: unknown): SubscriptionCheck {
    this.noteFailure(claim, { err });
    return this.failure(claim);
  }

  settle(claim: SubscriptionClaim, { kind, afterMs }: SubscriptionCheck): Promise<boolean> {
    const failures = {
      done: 0,
      failed: claim.failures + 1,
      notNow: claim.failures,
      interrupted: claim.failures,
    };
    return this.store.settle(claim, { afterMs, failures: failures[kind] });
  }

  private withoutList(claim: SubscriptionClaim, failure: CallFailure): SubscriptionCheck {
    if (failure.kind === 'notNow') return { kind: 'notNow', afterMs: failure.retryAfterMs };
    this.noteFailure(claim, { reason: failure.reason });
    return this.failure(claim);
  }

  private failure({ failures }: SubscriptionClaim): SubscriptionCheck {
    const afterMs = this.scale.sweep(Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS));
    return { kind: 'failed', afterMs };
  }

  /** A failure of one topic does not affect the other topics. */
  private async check(
    claim: SubscriptionClaim,
    topic: string,
    existing: readonly Subscription[],
  ): Promise<CallOutcome<Result>> {
    const { vendor } = this.plan;
    const outcome = await this.ensure(claim, topic, existing);
    if (outcome.kind === 'ok') {
      const result = outcome.value;
      subscriptionChecks.inc({ vendor, result });
      if (result !== 'kept' || claim.failures > 0)
        this.logger.info({ topic, result }, `${vendor} subscription is in place`);
    } else if (outcome.kind !== 'notNow') this.noteFailure(claim, { reason: outcome.reason, topic });
    return outcome;
  }

  private noteFailure(
    { failures }: SubscriptionClaim,
    about: { err?: unknown; reason?: string; topic?: string },
  ): void {
    const { vendor } = this.plan;
    subscriptionChecks.inc({ vendor, result: 'failed' });
    this.logger.warn({ ...about, failures: failures + 1 }, `${vendor} subscription failed`);
  }

  private async ensure(
    claim: SubscriptionClaim,
    topic: string,
    existing: readonly Subscription[],
  ): Promise<CallOutcome<Result>> {
    const { api, callbackUrl } = this.plan;
    const { verifiable, others } = await this.bySecret(topic, existing);
    const unremoved = await this.removeAll(others);
    if (unremoved) return unremoved;
    const kept = await this.keep(claim, verifiable);
    if (kept?.kind === 'ok') {
      await this.store.store(claim, topic, kept.value.subscription);
      return ok(kept.value.result);
    }
    if (kept) return kept;
    await this.store.forget(claim, topic);
    const inPlace = api.move ? undefined : await this.removeAll(verifiable);
    if (inPlace) return inPlace;
    const created = await api.create(topic, callbackUrl);
    if (created.kind !== 'ok') return created;
    await this.store.store(claim, topic, created.value);
    return ok('created');
  }

  /** The events of `others` could never be verified: their secret is not here. */
  private async bySecret(topic: string, existing: readonly Subscription[]) {
    const { vendor, signs } = this.plan;
    const verifiable: Subscription[] = [];
    const others: Subscription[] = [];
    for (const subscription of existing) {
      const isVerifiable = !signs || (await this.store.hasSecret(vendor, topic, subscription.id));
      (isVerifiable ? verifiable : others).push(subscription);
    }
    return { verifiable, others };
  }

  /** Returns the first failure. */
  private async removeAll(subscriptions: readonly Subscription[]): Promise<CallFailure | undefined> {
    for (const subscription of subscriptions) {
      const removed = await this.plan.api.remove(subscription);
      if (removed.kind !== 'ok' && removed.kind !== 'gone') return removed;
    }
    return undefined;
  }

  /** Undefined if none of the existing subscriptions can be kept. */
  private async keep(
    claim: SubscriptionClaim,
    existing: readonly Subscription[],
  ): Promise<CallOutcome<{ subscription: Subscription; result: Result }> | undefined> {
    const { api, callbackUrl } = this.plan;
    const ours = existing.find((one) => one.callbackUrl === callbackUrl);
    const subscription = ours ?? existing[0];
    if (!subscription) return undefined;
    if (ours && !this.isEnding(ours, claim)) return ok({ subscription, result: 'kept' });
    const changed = await (ours ? api.renew?.(ours) : api.move?.(subscription, callbackUrl));
    if (!changed || changed.kind === 'gone') return undefined;
    return changed.kind === 'ok' ? ok({ subscription, result: ours ? 'renewed' : 'moved' }) : changed;
  }

  /** By the database's clock: a process whose clock is months ahead would renew all subscriptions at each check. */
  private isEnding({ endsAt }: Subscription, { claimed_at }: SubscriptionClaim): boolean {
    const { renewBeforeMs } = this.plan.part;
    if (!endsAt || renewBeforeMs === undefined) return false;
    return endsAt.getTime() - claimed_at.getTime() < this.scale.wait(renewBeforeMs);
  }
}
