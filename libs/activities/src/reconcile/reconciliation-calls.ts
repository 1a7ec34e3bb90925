import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { Budgets } from '#rate-limit';
import {
  type ActivitySource,
  type CallContext,
  type CallFailure,
  type CallOutcome,
  ok,
  Sources,
  type VendorId,
} from '#vendors';

const WAIT_MS = 10_000;

/** A vendor's answer. `askedAt` is the database's time before the request; the answer counts as of that time. */
interface Dated<Answer> {
  readonly answer: Answer;
  readonly askedAt: Date;
}

/** The athlete for whom a call is made, and the signal that aborts with the claim of the reconciliation. */
type Caller = Pick<CallContext, 'athleteId' | 'signal'>;

const SHARE_SPENT: CallFailure = {
  kind: 'notNow',
  because: 'limit',
  retryAfterMs: 0,
  reason: 'The share of the reconciliations is used up for now',
};

/** The vendor calls of reconciliations. All calls together stay within a share of the vendor's day. A call beyond it answers notNow. */
@Injectable()
export class ReconciliationCalls {
  constructor(
    private readonly sources: Sources,
    private readonly budgets: Budgets,
    private readonly database: Database,
  ) {}

  isOpen(provider: VendorId): Promise<boolean> {
    return this.shareOf(provider).isOpen();
  }

  source(provider: VendorId): ActivitySource {
    return this.sources.activities(provider);
  }

  async ask<Answer>(
    provider: VendorId,
    caller: Caller,
    call: (source: ActivitySource, context: CallContext) => Promise<CallOutcome<Answer>>,
  ): Promise<CallOutcome<Dated<Answer>>> {
    const askedAt = await this.database.now();
    const outcome = await this.shareOf(provider).spend((claim) =>
      call(this.source(provider), { ...caller, class: 'backfill', waitMs: WAIT_MS, claim }),
    );
    if (!outcome) return SHARE_SPENT;
    return outcome.kind === 'ok' ? ok({ answer: outcome.value, askedAt }) : outcome;
  }

  private shareOf(provider: VendorId) {
    return this.budgets.share(provider, 'reconciliation');
  }
}
