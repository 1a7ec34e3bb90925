import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { type AppError, type Logger } from '#platform';
import { type Exchange, type Exchanged, type OutboundAnswer, type OutboundRequest } from './exchange.js';
import { HttpExchange } from './http-exchange.js';
import { type Leave, type Meter, type Refusal } from './meter.js';
import { outboundDuration, outboundRetries } from './outbound-metrics.js';
import { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';
import { abortion, within } from './within.js';

/** Real time, never scaled: how long a network may take does not depend on a vendor's patience. */
export interface Bounds {
  readonly attemptMs: number;
  /** From the first admission on; how long a meter makes a call wait is the meter's business. */
  readonly totalMs: number;
}

export interface OutboundOptions {
  /** The label in the metrics. */
  readonly name: string;
  /** URLs of the only hosts that are spoken to. */
  readonly hosts: readonly string[];
  readonly logger: Logger;
  /** At most, to each host. */
  readonly connections?: number;
  readonly random?: () => number;
  /** In place of HTTP, for tests. */
  readonly exchange?: Exchange;
}

export interface Answered {
  readonly kind: 'answered';
  readonly answer: OutboundAnswer;
}

type Failed = Extract<Exchanged, { kind: 'failed' }>;
type Outcome = Answered | Failed;

/** One call of `OutboundCaller`: its request, and the signal that ends it whatever the reason. */
interface Call<No extends Refusal> {
  readonly request: OutboundRequest;
  readonly meter: Meter<No> | undefined;
  readonly host: string;
  readonly signal: AbortSignal;
  readonly endsAtMs: number;
}

const CONNECTIONS = 16;
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 400;

const UNMETERED: Leave = {
  kind: 'granted',
  isFresh: () => true,
  settle: () => Promise.resolve(),
  giveBack: () => Promise.resolve(),
};

/**
 * The one way out of the product: a deadline for each attempt and for both, at most one second try, an answer of bounded size
 * from one of the known hosts. Whatever happens, every admission is settled or given back.
 */
export class OutboundCaller {
  private readonly origins: ReadonlySet<string>;
  private readonly http: HttpExchange;
  private readonly exchange: Exchange;

  constructor(
    private readonly bounds: Bounds,
    private readonly options: OutboundOptions,
  ) {
    this.origins = new Set(options.hosts.map((url) => new URL(url).origin));
    this.http = new HttpExchange({
      connections: options.connections ?? CONNECTIONS,
      connectMs: bounds.attemptMs,
      // Without TLS it is a vendor of the operator's own, wherever that stands.
      publicOnly: options.hosts.every((url) => url.startsWith('https:')),
    });
    this.exchange = options.exchange ?? ((request, sending) => this.http.send(request, sending));
  }

  /** The answer, whatever its status, or the meter's refusal; throws where there is no answer. */
  call(request: OutboundRequest): Promise<Answered>;
  call<No extends Refusal>(request: OutboundRequest, meter: Meter<No>): Promise<Answered | No>;
  async call<No extends Refusal>(request: OutboundRequest, meter?: Meter<No>): Promise<Answered | No> {
    const host = this.hostOf(request.url);
    const admission = await this.admit(meter, request.signal, host);
    if (admission.kind !== 'granted') return admission;
    const endsAtMs = performance.now() + this.bounds.totalMs;
    return within(this.bounds.totalMs, request.signal, host, (signal) =>
      this.run({ request, meter, host, signal, endsAtMs }, admission),
    );
  }

  close(): Promise<void> {
    return this.http.close();
  }

  private async run<No extends Refusal>(call: Call<No>, admission: Leave): Promise<Answered | No> {
    const first = await this.attempt(call, admission);
    if (isRefusal(first)) return first;
    const second = isWorthRepeating(call, first) ? await this.repeat(call, first) : undefined;
    const outcome = second ?? first;
    if (outcome.kind === 'failed') throw outcome.error;
    return outcome;
  }

  /** The second try; nothing where the time or the meter does not allow one, and the first outcome stands. */
  private async repeat<No extends Refusal>(call: Call<No>, first: Outcome): Promise<Outcome | undefined> {
    const pauseMs = this.pauseMs(first);
    if (performance.now() + pauseMs >= call.endsAtMs) return undefined;
    try {
      await pause(pauseMs, undefined, { signal: call.signal });
      const admission = await this.admit(call.meter, call.signal, call.host);
      if (admission.kind !== 'granted') return undefined;
      outboundRetries.inc({ target: this.options.name });
      const second = await this.attempt(call, admission);
      return isRefusal(second) ? undefined : second;
    } catch (error) {
      if (call.signal.reason instanceof CallTimedOut) return undefined;
      throw call.signal.aborted ? abortion(call.signal, call.host) : error;
    }
  }

  /** One request on the wire, under an admission that is fresh when it is written. */
  private async attempt<No extends Refusal>(call: Call<No>, admission: Leave): Promise<Outcome | No> {
    let current = admission;
    for (;;) {
      const exchanged = await this.send(call, current);
      await this.account(current, exchanged);
      if (exchanged.kind !== 'stale') return exchanged;
      // A meter that answers at once, and always too old, must not keep the deadline's timer from its turn.
      await nextTurn();
      const anew = await this.admit(call.meter, call.signal, call.host);
      if (anew.kind !== 'granted') return anew;
      current = anew;
    }
  }

  private async send<No extends Refusal>(call: Call<No>, admission: Leave): Promise<Exchanged> {
    const { request, host } = call;
    const stopTimer = outboundDuration.startTimer({ target: this.options.name });
    const exchanged = await within(this.bounds.attemptMs, call.signal, host, (signal) =>
      this.exchange(request, { host, signal, mayWrite: () => admission.isFresh() }),
    ).catch((cause: unknown): Failed => {
      return { kind: 'failed', error: new ConnectionFailed(host, { cause }), written: true };
    });
    if (exchanged.kind !== 'stale') stopTimer({ outcome: outcomeLabel(exchanged) });
    return exchanged;
  }

  private async admit<No extends Refusal>(
    meter: Meter<No> | undefined,
    signal: AbortSignal | undefined,
    host: string,
  ): Promise<Leave | No> {
    if (signal?.aborted) throw abortion(signal, host);
    if (!meter) return UNMETERED;
    const admission = await meter.admit(signal).catch((error: unknown) => {
      throw signal?.aborted ? abortion(signal, host) : error;
    });
    if (!signal?.aborted) return admission;
    if (admission.kind === 'granted') await this.bookkeep(() => admission.giveBack());
    throw abortion(signal, host);
  }

  private account(admission: Leave, exchanged: Exchanged): Promise<void> {
    if (exchanged.kind === 'answered') return this.bookkeep(() => admission.settle(exchanged.answer));
    if (exchanged.kind === 'stale' || !exchanged.written) return this.bookkeep(() => admission.giveBack());
    return this.bookkeep(() => admission.settle(exchanged.head));
  }

  /** An answer that has been paid for is not thrown away because the books could not be kept. */
  private async bookkeep(entry: () => Promise<void>): Promise<void> {
    try {
      await entry();
    } catch (err) {
      this.options.logger.warn({ err, target: this.options.name }, 'admission not accounted for');
    }
  }

  private hostOf(url: string): string {
    const { origin, host } = new URL(url);
    if (!this.origins.has(origin)) throw new Error(`${host} is not a host of ${this.options.name}`);
    return host;
  }

  private pauseMs(first: Outcome): number {
    const { random = Math.random } = this.options;
    const jitteredMs = SHORTEST_PAUSE_MS + random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
    const asked = first.kind === 'answered' ? Number(first.answer.headers['retry-after']) : NaN;
    return asked > 0 ? Math.max(asked * 1_000, jitteredMs) : jitteredMs;
  }
}

function isRefusal<No extends Refusal>(outcome: Outcome | No): outcome is No {
  return outcome.kind !== 'answered' && outcome.kind !== 'failed';
}

/** A 429 is repeated only where nobody counts: a meter knows when there is room again. */
function isWorthRepeating({ request, meter }: Call<Refusal>, outcome: Outcome): boolean {
  if (request.repeatable === false) return false;
  if (outcome.kind === 'failed')
    return outcome.error instanceof CallTimedOut || outcome.error instanceof ConnectionFailed;
  const { status } = outcome.answer;
  return status === 408 || status >= 500 || (status === 429 && !meter);
}

function outcomeLabel(outcome: Outcome): string {
  if (outcome.kind === 'answered') return `${Math.floor(outcome.answer.status / 100)}xx`;
  return failureLabel(outcome.error);
}

function failureLabel(error: AppError): string {
  if (error instanceof CallTimedOut) return 'timeout';
  if (error instanceof CallAborted) return 'aborted';
  return error instanceof AnswerTooLarge ? 'too_large' : 'broken';
}
