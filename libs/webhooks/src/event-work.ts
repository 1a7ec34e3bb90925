import {
  AppError,
  DependencyUnavailable,
  describeSpan,
  inSpan,
  type Logger,
  MessageMalformed,
  requestIdField,
  type TimeScale,
  traceOf,
  type Work,
} from '#platform';
import { failureCode, LONGEST_CALL_MS, VENDORS } from '#vendors';
import { type Claim, type EventQueue, type Postponement } from './event-queue.js';
import { type EventHandlers, type EventOutcome, type EventOwner, type HandlerAnswer } from './handlers.js';
import { webhookEvents } from './webhook-metrics.js';

// A wake-up comes at once; the poll finds events whose wake-up was lost.
const POLL_MS = 1_000;
const LEASE_MS = 30_000;
// Longer than a call to a vendor and the write after it.
const SHORTEST_LEASE_MS = LONGEST_CALL_MS + 2_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 3_600_000;
const MAX_ATTEMPTS = 20;
const LONGEST_OUTAGE_RETRY_MS = 900_000;
// A retry while one of our own servers is away may repeat a call to the vendor, so the shortest pauses are not shorter.
const LONGEST_OWN_OUTAGE_RETRY_MS = 30_000;
// A vendor that refuses a request is likely to refuse it again: few calls, over 100 minutes.
const REFUSED_RETRY_MS = 1_200_000;
const MAX_REFUSALS = 6;

/** The answers after which events are handled again. */
type RepeatedAnswer = Exclude<HandlerAnswer, { kind: 'done' | 'revoked' }>;

type EventResult =
  | { readonly kind: 'done'; readonly outcome: EventOutcome; readonly note?: string }
  | { readonly kind: 'postponed'; readonly postponement: Postponement };

interface EventOwners {
  /** Undefined if the account is not connected. */
  athleteOf(vendor: string, vendorAthleteId: string): Promise<EventOwner | undefined>;
}

/**
 * Handles one vendor's waiting events in its own lanes, so that a vendor's spent budget or outage does not delay another vendor's events.
 * Any number of workers may run, in any number of processes.
 *
 * | failed attempt   | 1    | 2    | 3    | 4    | … | 10     | 11 to 19 | 20        |
 * | ---------------- | ---- | ---- | ---- | ---- | - | ------ | -------- | --------- |
 * | next attempt in  | 5 s  | 10 s | 20 s | 40 s |   | 43 min | 1 h each | set aside |
 * | since the first  | 5 s  | 15 s | 35 s | 75 s |   | 1.4 h  | 10.4 h   |           |
 *
 * An outage costs no attempt: the event is handled again 5, 10, 20 … s later, at most 15 min during an outage of the vendor and 30 s during one
 * of our servers. A spent budget costs none either. A request that the vendor refuses is repeated every 20 min and set aside at the sixth
 * attempt. An event whose record does not fit our own message is set aside at once.
 */
export class EventWork implements Work<Claim, EventResult> {
  readonly name: string;
  readonly lease = { ms: LEASE_MS, atLeastMs: SHORTEST_LEASE_MS };
  readonly lanes: number;
  readonly everyMs = POLL_MS;

  constructor(
    private readonly queue: EventQueue,
    private readonly owners: EventOwners,
    private readonly handlers: Pick<EventHandlers, 'of'>,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    this.name = `${queue.vendor} events`;
    this.lanes = VENDORS[queue.vendor].webhook?.lanes ?? 1;
  }

  claim(leaseMs: number): Promise<Claim | undefined> {
    return this.queue.claim(leaseMs);
  }

  renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.queue.renew(claim, leaseMs);
  }

  /** Runs in the trace of the request that brought the newest event. */
  run(claim: Claim): Promise<EventResult> {
    const name = `${this.queue.vendor} event`;
    return inSpan(name, 'CONSUMER', () => this.attempt(claim), traceOf(claim.group.origin));
  }

  private async attempt(claim: Claim): Promise<EventResult> {
    describeSpan({ 'event.object': claim.group.objectType, 'event.attempt': claim.attempts });
    // The attempt is counted before it begins. More attempts than the maximum mean that workers died during them.
    if (claim.attempts > MAX_ATTEMPTS)
      return postponed({ afterMs: 0, error: 'given up', counts: 'attempt', mostAttempts: MAX_ATTEMPTS });
    const answer = await this.answerOf(claim);
    if (answer.kind === 'done') return { kind: 'done', outcome: answer.outcome };
    // No call is possible before the athlete connects again. The import or the reconciliation then finds the change.
    if (answer.kind === 'revoked') return { kind: 'done', outcome: 'ignored', note: failureCode(answer) };
    const postponement = this.postponementOf(answer, claim);
    if (!postponement.holdsOwner)
      this.logger.warn({ reason: answer.reason, ...this.about(claim) }, `${this.queue.vendor} event failed`);
    return postponed(postponement);
  }

  private async answerOf({ group, isSuperseded }: Claim): Promise<HandlerAnswer> {
    const { vendor, ownerId, objectType } = group;
    const owner = await this.owners.athleteOf(vendor, ownerId);
    if (!owner) return { kind: 'done', outcome: 'ignored' };
    if (isSuperseded) return { kind: 'done', outcome: 'superseded' };
    const handler = this.handlers.of(objectType);
    return handler ? handler.handle(owner, group) : { kind: 'failed', reason: `no handler of ${objectType}` };
  }

  private postponementOf(answer: RepeatedAnswer, { attempts, outages }: Claim): Postponement {
    if (answer.kind === 'failed') return this.failure(answer.reason, attempts);
    const error = failureCode(answer);
    switch (answer.kind) {
      case 'refused':
        return this.refused(error);
      case 'broken':
        if (answer.because === 'malformed') return this.failure(error, attempts);
        return this.outage(error, outages, LONGEST_OUTAGE_RETRY_MS);
      case 'notNow':
        if (answer.because === 'limit')
          return { afterMs: answer.retryAfterMs, error, counts: 'nothing', holdsOwner: true };
        return this.outage(
          error,
          outages,
          answer.because === 'budgetUnavailable' ? LONGEST_OWN_OUTAGE_RETRY_MS : LONGEST_OUTAGE_RETRY_MS,
        );
    }
  }

  failed(claim: Claim, error: unknown): EventResult {
    return postponed(this.afterError(error, claim));
  }

  about({ group: { objectType, objectId, origin }, attempts, outages }: Claim): object {
    return { object: `${objectType} ${objectId}`, attempts, outages, ...requestIdField(origin.requestId) };
  }

  async settle(claim: Claim, result: EventResult): Promise<boolean> {
    const { vendor } = this.queue;
    if (result.kind === 'done') {
      const { outcome, note } = result;
      const isOurs = await this.queue.finish(claim, outcome, note);
      if (isOurs) this.onFinished(claim, outcome);
      return isOurs;
    }
    const { postponement } = result;
    const setAside = await this.queue.postpone(claim, postponement);
    if (setAside) {
      webhookEvents.inc({ vendor, result: 'set_aside' }, setAside);
      const about = { ...this.about(claim), error: postponement.error, events: setAside };
      this.logger.error(about, `${vendor} events set aside`);
    }
    return setAside !== undefined;
  }

  private onFinished(claim: Claim, outcome: EventOutcome): void {
    const { vendor } = this.queue;
    const { events } = claim.group;
    webhookEvents.inc({ vendor, result: outcome }, events.length);
    this.logger.info({ ...this.about(claim), events: events.length, outcome }, `${vendor} event handled`);
  }

  private afterError(error: unknown, { attempts, outages }: Claim): Postponement {
    if (error instanceof DependencyUnavailable)
      return this.outage(error.code, outages, LONGEST_OWN_OUTAGE_RETRY_MS);
    // The vendor's next answer would make the same message.
    if (error instanceof MessageMalformed)
      return { afterMs: 0, error: error.code, mostAttempts: 1, counts: 'attempt' };
    return this.failure(nameOf(error), attempts);
  }

  private failure(error: string, attempts: number): Postponement {
    const afterMs = this.scale.wait(retryMs(attempts));
    return { afterMs, error, mostAttempts: MAX_ATTEMPTS, counts: 'attempt' };
  }

  private refused(error: string): Postponement {
    return {
      afterMs: this.scale.wait(REFUSED_RETRY_MS),
      error,
      mostAttempts: MAX_REFUSALS,
      counts: 'attempt',
    };
  }

  private outage(error: string, outages: number, longestMs: number): Postponement {
    const afterMs = this.scale.wait(Math.min(retryMs(outages + 1), longestMs));
    return { afterMs, error, counts: 'outage' };
  }
}

function postponed(postponement: Postponement): EventResult {
  return { kind: 'postponed', postponement };
}

/** The code or the class name. The message of an unknown error may contain personal data or secrets. */
function nameOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

function retryMs(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1));
}
