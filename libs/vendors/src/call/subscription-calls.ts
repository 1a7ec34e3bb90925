import { type z } from 'zod';
import { BOUNDARY_WAIT_MS, type GrantedPermit, type PermitOutcome } from '#rate-limit';
import { type OutboundAnswer, type OutboundCaller } from '#reliability';
import { type Vendor } from '../vendor.js';
import { type SubscriptionCall } from '../webhook.js';
import { type CallFailure, type CallOutcome, ok } from './call-outcome.js';
import { type ReadFault, VendorAnswers } from './vendor-answer.js';
import { type CallBudget } from './vendor-calls.js';

const BUDGET_UNAVAILABLE_RETRY_MS = 5_000;
// A missing subscription delays the events of all athletes.
const CALL = { endpoint: 'subscriptions', class: 'live', userId: null } as const;

type NoPermit = Exclude<PermitOutcome, { kind: 'granted' }>;

/** The requests about a vendor's subscriptions, which need no athlete's token. They are charged if the vendor counts them. */
export function subscriptionCall(
  { title, webhook }: Pick<Vendor, 'title' | 'webhook'>,
  caller: Pick<OutboundCaller, 'call'>,
  budget: CallBudget,
): SubscriptionCall {
  const answers = new VendorAnswers(title);
  const isCharged = webhook?.subscriptions?.isCharged ?? false;
  return async (request, read) => {
    let granted: GrantedPermit | undefined;
    const permit = async (signal?: AbortSignal) => {
      const outcome = await budget.waitForPermit(CALL, { waitMs: BOUNDARY_WAIT_MS, signal });
      if (outcome.kind === 'granted') granted = outcome;
      return outcome;
    };
    try {
      const outcome = isCharged
        ? await caller.call<NoPermit>(request, { permit })
        : await caller.call(request);
      if (outcome.kind !== 'answered') return withoutPermit(title, outcome);
      return granted?.closedWindow ? withoutPermit(title, granted.closedWindow) : read(outcome.answer);
    } catch (cause) {
      const failure = answers.withoutAnswer(cause);
      if (!failure) throw cause;
      return failure;
    }
  };
}

function withoutPermit(title: string, refusal: NoPermit): CallFailure {
  return refusal.kind === 'notNow'
    ? {
        kind: 'notNow',
        because: 'limit',
        retryAfterMs: refusal.retryAfterMs,
        reason: `No call to ${title} is left (${refusal.window})`,
      }
    : {
        kind: 'notNow',
        because: 'budgetUnavailable',
        retryAfterMs: BUDGET_UNAVAILABLE_RETRY_MS,
        reason: `The state of the rate limits of ${title} is unavailable`,
      };
}

/** Reads a vendor's answers to requests about subscriptions. */
export class SubscriptionAnswers extends VendorAnswers {
  /** `goneStatuses`: the vendor has no such subscription. */
  constructor(
    title: string,
    readFault?: ReadFault,
    private readonly goneStatuses: readonly number[] = [404],
  ) {
    super(title, readFault);
  }

  contentOf<Schema extends z.ZodType>(schema: Schema) {
    return (answer: OutboundAnswer): CallOutcome<z.output<Schema>> =>
      this.read(answer, (json) => schema.parse(json));
  }

  /** For answers whose content is not needed. */
  readonly accepted = (answer: OutboundAnswer): CallOutcome<undefined> => {
    if (answer.status < 300) return ok(undefined);
    if (!this.goneStatuses.includes(answer.status)) return this.read(answer, () => undefined);
    return { kind: 'gone', reason: 'The subscription has ended' };
  };
}
