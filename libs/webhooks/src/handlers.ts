import { Injectable } from '@nestjs/common';
import { type Origin } from '#platform';
import {
  type Aspect,
  type CallFailure,
  type ObjectType,
  type VendorId,
  VENDORS,
  vendorsWith,
} from '#vendors';

/** The athlete who had connected the account when the events were claimed. An answer of the vendor does not apply to a later connection. */
export interface EventOwner {
  readonly athleteId: string;
  readonly generation: number;
  /** The time of the connection. A later connection has another time. */
  readonly connectedAt: string;
}

/** A stored event that has not been handled. */
export interface WaitingEvent {
  readonly id: string;
  readonly aspect: Aspect;
  readonly eventTime: Date;
  /** The attempts to handle this event, the present one included. */
  readonly attempts: number;
}

/** All waiting events about one object of one owner. They are handled together, once. */
export interface EventGroup {
  readonly vendor: VendorId;
  readonly ownerId: string;
  readonly objectType: ObjectType;
  readonly objectId: string;
  /** At least one; the oldest first. */
  readonly events: readonly WaitingEvent[];
  /** The event that decides: no other is newer. */
  readonly latest: WaitingEvent;
  /** The time of the claim by the database's clock, before any call to the vendor. */
  readonly claimedAt: Date;
  /** The request that brought the newest event. */
  readonly origin: Origin;
}

export type EventOutcome = 'applied' | 'deleted' | 'deauthorized' | 'superseded' | 'ignored';

/**
 * `failed`: an attempt that counts, such as the first 404 for a record that the vendor may not have stored yet. The failures of calls are
 * retried as the table of `EventWork` says; `revoked` ends the events as ignored.
 */
export type HandlerAnswer =
  | { readonly kind: 'done'; readonly outcome: EventOutcome }
  | { readonly kind: 'failed'; readonly reason: string }
  | Exclude<CallFailure, { kind: 'gone' }>;

/** Applies events about one type of object. It may run twice for the same events, so its effects must be idempotent. */
export interface EventHandler {
  handle(owner: EventOwner, group: EventGroup): Promise<HandlerAnswer>;
}

export function done(outcome: EventOutcome): HandlerAnswer {
  return { kind: 'done', outcome };
}

/** The handlers of a worker, by the type of the object. A feature registers its own in the constructor of its module. */
@Injectable()
export class EventHandlers {
  private readonly handlers = new Map<ObjectType, EventHandler>();

  /** Throws if the type has a handler already. */
  register(objectType: ObjectType, handler: EventHandler): void {
    if (this.handlers.has(objectType))
      throw new Error(`Two handlers are registered for webhook events about ${objectType}`);
    this.handlers.set(objectType, handler);
  }

  /** Throws if a vendor sends events about an object that has no handler. */
  assertComplete(webhooks: ReadonlyArray<WebhookObjects> = allWebhooks()): void {
    for (const { vendor, objects } of webhooks)
      for (const objectType of objects)
        if (!this.handlers.has(objectType))
          throw new Error(
            `${vendor} sends webhook events about ${objectType}, but no handler is registered for them`,
          );
  }

  of(objectType: ObjectType): EventHandler | undefined {
    return this.handlers.get(objectType);
  }
}

interface WebhookObjects {
  readonly vendor: string;
  readonly objects: readonly ObjectType[];
}

function allWebhooks(): WebhookObjects[] {
  return vendorsWith('webhook').map((vendor) => ({
    vendor,
    objects: VENDORS[vendor].webhook?.objects ?? [],
  }));
}
