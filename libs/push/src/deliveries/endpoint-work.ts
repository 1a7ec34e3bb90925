import { Counter, Histogram } from 'prom-client';
import { endpointPlace, type Vault } from '#connections';
import {
  ClaimLost,
  type Held,
  type Logger,
  type Outcome,
  startAtZero,
  type TimeScale,
  type Work,
} from '#platform';
import { signedHeaders } from '../endpoints/signature.js';
import { Circuit } from './circuit.js';
import {
  type DeliveryQueue,
  type DueDelivery,
  type EndpointClaim,
  type EndpointState,
} from './delivery-queue.js';
import { type Attempt, type EndpointCaller } from './endpoint-caller.js';
import { retryMs } from './retries.js';

const attempts = new Counter({
  name: 'webhook_delivery_attempts_total',
  help: 'Attempts to deliver a change to an endpoint, by how they ended',
  labelNames: ['result'],
});
startAtZero(
  attempts,
  ['delivered', 'failed', 'given_up', 'dropped', 'not_written'].map((result) => ({ result })),
);
const durations = new Histogram({
  name: 'webhook_delivery_duration_seconds',
  help: 'Duration of attempts to deliver a change to an endpoint',
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});
const disabled = new Counter({
  name: 'webhook_endpoints_disabled_total',
  help: 'Endpoints that were disabled because they answered 410, or because all deliveries failed for five days',
});

const LEASE_MS = 30_000;
const POLL_MS = 1_000;
// More lanes than there can be endpoints, so that no endpoint waits for another one's lane. An idle lane costs a timer.
const LANES = 128;
// After this time the worker writes the circuit's state, and other workers may take the endpoint.
const LONGEST_HOLD_MS = 5_000;
// While an attempt hangs, the other slots of its endpoint look for new deliveries this often.
const LOOK_AGAIN_MS = 250;
const FAILED_PAUSE_MS = 5_000;

const GONE_REASON = 'The endpoint answered 410.';

type EndpointResult = Outcome & { readonly kind: 'worked' | 'failed'; readonly state: EndpointState };

/** The time in which a worker holds an endpoint. */
interface Session {
  readonly claim: EndpointClaim;
  readonly held: Held;
  readonly secrets: readonly string[];
  readonly circuit: Circuit;
  /** The endpoint wants no more deliveries. */
  isGone?: boolean;
  failure?: Error;
}

/**
 * Works the due deliveries of endpoints. Each endpoint has a lane of its own while it has due deliveries, at most 8 attempts in flight over
 * all processes, and a circuit breaker (`circuit.ts`). So an endpoint that is dead or slow delays no other one. Failed deliveries are
 * attempted again (`retries.ts`).
 *
 * Not guaranteed: that a change arrives once. A worker that dies between the endpoint's answer and the write sends the delivery again, with
 * the same `webhook-id`.
 */
export class EndpointWork implements Work<EndpointClaim, EndpointResult> {
  readonly name = 'webhook deliveries';
  // A run renews its lease, so the length only matters for the endpoints of a worker that died.
  readonly lease = { ms: LEASE_MS };
  readonly lanes = LANES;
  readonly everyMs = POLL_MS;

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly caller: Pick<EndpointCaller, 'post'>,
    private readonly vault: Vault,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
    private readonly random: () => number = Math.random,
  ) {}

  claim(leaseMs: number): Promise<EndpointClaim | undefined> {
    return this.queue.claim(leaseMs);
  }

  renew(claim: EndpointClaim, leaseMs: number): Promise<boolean> {
    return this.queue.renew(claim, leaseMs);
  }

  async run(claim: EndpointClaim, held: Held): Promise<EndpointResult> {
    const session: Session = {
      claim,
      held,
      secrets: this.secretsOf(claim),
      circuit: new Circuit(claim.failures),
    };
    await this.sendAll(session);
    const { circuit, failure, isGone } = session;
    if (failure instanceof ClaimLost) throw failure;
    if (failure) this.logger.warn({ err: failure, ...this.about(claim) }, 'webhook deliveries stopped');
    const { failures, hasSucceeded } = circuit;
    const pauseMs = this.scale.wait(failure ? Math.max(FAILED_PAUSE_MS, circuit.pauseMs) : circuit.pauseMs);
    const reason = isGone ? GONE_REASON : undefined;
    return { kind: failure ? 'failed' : 'worked', state: { failures, hasSucceeded, pauseMs, reason } };
  }

  /**
   * Sends until nothing is due, the circuit opens, an error occurs, or other workers may take the endpoint. Waits for all attempts that it has
   * begun, also after an error: once the endpoint is released, another worker begins eight.
   */
  private async sendAll(session: Session): Promise<void> {
    const { claim, held, circuit } = session;
    const endsAtMs = performance.now() + LONGEST_HOLD_MS;
    const mayBegin = () =>
      !session.isGone && !session.failure && !held.isStopping() && performance.now() < endsAtMs;
    const underWay = new Map<string, Promise<void>>();
    const fail = (error: Error) => void (session.failure ??= error);
    const read = (most: number) =>
      this.queue.due(claim, most, [...underWay.keys()]).catch((error: Error) => (fail(error), []));
    const begin = (delivery: DueDelivery) =>
      this.deliver(session, delivery)
        .catch(fail)
        .finally(() => underWay.delete(delivery.id));
    for (;;) {
      const free = mayBegin() ? Math.max(0, circuit.slots - underWay.size) : 0;
      const due = free > 0 ? await read(free) : [];
      for (const delivery of due) underWay.set(delivery.id, begin(delivery));
      const wasLast = due.length < free || free === 0;
      if (underWay.size > 0) await firstOf(underWay.values());
      if (underWay.size === 0 && (wasLast || !mayBegin())) return;
    }
  }

  failed({ failures }: EndpointClaim): EndpointResult {
    const pauseMs = this.scale.wait(FAILED_PAUSE_MS);
    return { kind: 'failed', state: { failures, hasSucceeded: false, pauseMs } };
  }

  async settle(claim: EndpointClaim, { state }: EndpointResult): Promise<boolean> {
    const { isOurs, disabledReason } = await this.queue.settle(claim, state);
    if (disabledReason !== undefined) {
      disabled.inc();
      this.logger.warn({ ...this.about(claim), reason: disabledReason }, 'webhook endpoint disabled');
    }
    return isOurs;
  }

  /** The URL stays out of the log, since its path or query may be a secret. */
  about({ id }: EndpointClaim): object {
    return { endpoint_id: id };
  }

  private async deliver(session: Session, delivery: DueDelivery): Promise<void> {
    const { claim, held, secrets, circuit } = session;
    const { changeId: id, signedAt: timestamp, body } = delivery;
    if (body === undefined) {
      const isDropped = await this.queue.drop(claim, delivery);
      attempts.inc({ result: isDropped ? 'dropped' : 'not_written' });
      return;
    }
    const headers = signedHeaders({ id, timestamp, body }, secrets);
    const observe = durations.startTimer();
    const attempt = await this.caller.post({ url: claim.url, headers, body, signal: held.signal });
    observe();
    // The claim is over, so the attempt was aborted. It does not count.
    if (held.signal.aborted) throw new ClaimLost();
    // Before the write: the endpoint's answer counts for its circuit, also if the write fails.
    if (attempt.isDelivered) circuit.succeeded();
    else circuit.failed();
    session.isGone ||= attempt.isGone;
    await this.written(claim, delivery, attempt);
  }

  private async written(claim: EndpointClaim, delivery: DueDelivery, attempt: Attempt): Promise<void> {
    const pauseMs = attempt.isDelivered ? undefined : retryMs(delivery.attempts + 1, this.random());
    const retry = pauseMs === undefined ? undefined : this.scale.wait(pauseMs);
    const isWritten = await this.queue.write({ claim, delivery, attempt, retryMs: retry });
    attempts.inc({ result: isWritten ? resultOf(attempt, retry) : 'not_written' });
  }

  private secretsOf({ id, secret, previous_secret }: EndpointClaim): string[] {
    const sealed = previous_secret === null ? [secret] : [secret, previous_secret];
    return sealed.map((text) => this.vault.open(text, endpointPlace(id)));
  }
}

function resultOf({ isDelivered }: Attempt, retry: number | undefined): string {
  if (isDelivered) return 'delivered';
  return retry === undefined ? 'given_up' : 'failed';
}

/** Resolves when one of these has ended, or after a quarter of a second. */
async function firstOf(underWay: Iterable<Promise<void>>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const pause = new Promise<void>((resolve) => (timer = setTimeout(resolve, LOOK_AGAIN_MS)));
  await Promise.race([...underWay, pause]);
  clearTimeout(timer);
}
