import { Injectable } from '@nestjs/common';
import { Sources } from '#vendors';
import { done, type EventGroup, type EventHandler, type EventOwner, type HandlerAnswer } from '#webhooks';
import { Account } from './account.js';

// The longest wait for a permit: a boundary passes within seconds.
const WAIT_MS = 10_000;

/**
 * Deletes a vendor's data after the athlete has ended our access there. An event is only a hint: before the deletion, a call confirms that
 * the vendor refuses the athlete's token.
 */
@Injectable()
export class Deauthorizations implements EventHandler {
  constructor(
    private readonly account: Account,
    private readonly sources: Sources,
  ) {}

  async handle(owner: EventOwner, { vendor, events }: EventGroup): Promise<HandlerAnswer> {
    if (!events.some(({ aspect }) => aspect === 'delete')) return done('ignored');
    const { athleteId, connectedAt } = owner;
    const call = await this.sources.account(vendor).athlete({ athleteId, class: 'live', waitMs: WAIT_MS });
    if (call.kind === 'ok') return done('ignored');
    if (call.kind === 'gone') return { kind: 'failed', reason: call.reason };
    if (call.kind !== 'revoked') return call;
    return done(
      (await this.account.deauthorized(athleteId, vendor, connectedAt)) ? 'deauthorized' : 'superseded',
    );
  }
}
