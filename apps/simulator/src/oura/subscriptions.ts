import { randomUUID } from 'node:crypto';
import { type StatePart } from '../core/index.js';
import { type DataType, type EventType } from './oura-facts.js';

export interface Subscription {
  readonly id: string;
  readonly callbackUrl: string;
  readonly verificationToken: string;
  readonly eventType: EventType;
  readonly dataType: DataType;
  readonly expiresAtMs: number;
}

export type SubscriptionTerms = Pick<
  Subscription,
  'callbackUrl' | 'verificationToken' | 'eventType' | 'dataType'
>;

/**
 * The webhook subscriptions of the application, one per pair of event type and data type. Each read first removes
 * expired subscriptions.
 */
export class Subscriptions implements StatePart<Subscription[]> {
  private readonly byId = new Map<string, Subscription>();

  constructor(
    private readonly now: () => number,
    private readonly lifetimeMs: number,
  ) {}

  save(): Subscription[] {
    return [...this.byId.values()];
  }

  restore(saved: readonly Subscription[]): void {
    this.byId.clear();
    for (const subscription of saved) this.byId.set(subscription.id, subscription);
  }

  add(terms: SubscriptionTerms): Subscription {
    const subscription = { id: randomUUID(), ...terms, expiresAtMs: this.freshExpiry() };
    this.byId.set(subscription.id, subscription);
    return subscription;
  }

  change(subscription: Subscription, terms: Partial<SubscriptionTerms>): Subscription {
    const changed = { ...subscription, ...terms };
    this.byId.set(changed.id, changed);
    return changed;
  }

  renew(subscription: Subscription): Subscription {
    const renewed = { ...subscription, expiresAtMs: this.freshExpiry() };
    this.byId.set(renewed.id, renewed);
    return renewed;
  }

  remove(id: string): void {
    this.byId.delete(id);
  }

  get(id: string): Subscription | undefined {
    this.dropExpired();
    return this.byId.get(id);
  }

  list(): Subscription[] {
    this.dropExpired();
    return [...this.byId.values()];
  }

  forPair(eventType: EventType, dataType: DataType): Subscription | undefined {
    return this.list().find((held) => held.eventType === eventType && held.dataType === dataType);
  }

  private freshExpiry(): number {
    return this.now() + this.lifetimeMs;
  }

  private dropExpired(): void {
    const now = this.now();
    for (const { id, expiresAtMs } of this.byId.values()) {
      if (expiresAtMs <= now) this.byId.delete(id);
    }
  }
}
