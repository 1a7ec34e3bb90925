import { setTimeout as pause } from 'node:timers/promises';
import { Counter, Histogram } from 'prom-client';
import { type AppError, type Logger } from '#platform';
import {
  type Exchange,
  type ExchangeOutcome,
  type OutboundAnswer,
  type OutboundRequest,
} from './exchange.js';
import { HttpExchange } from './http-exchange.js';
import { type CallPermit, type Meter, type NoPermit } from './meter.js';
import { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';
import { abortErrorOf, within } from './abort.js';

/** Real time, never scaled by TIME_SCALE: the network takes as long at any scale. */
export interface Bounds {
  readonly attemptMs: number;
  /** Counted from the first permit on, so the wait for that permit is not included. */
  readonly totalMs: number;
}

interface OutboundOptions {
  /** The `target` label of the metrics. */
  readonly name: string;
  /** Only the origins of these URLs may be called. */
  readonly hosts: readonly string[];
  readonly logger: Logger;
  /** Most connections to each host. */
  readonly connections?: number;
  readonly random?: () => number;
  /** Replaces HTTP in tests. */
  readonly exchange?: Exchange;
}

interface Answered {
  readonly kind: 'answered';
  readonly answer: OutboundAnswer;
}

type Failed = Extract<ExchangeOutcome, { kind: 'failed' }>;
type CallOutcome = Answered | Failed;

/** One call of `OutboundCaller`, with the signal that ends it at its deadline or when the caller aborts. */
interface Call<No extends NoPermit> {
  readonly request: OutboundRequest;
  readonly meter: Meter<No> | undefined;
  readonly host: string;
  readonly signal: AbortSignal;
  readonly endsAtMs: number;
}

const outboundDuration = new Histogram({
  name: 'outbound_request_duration_seconds',
  help: 'Time from handing a request to a vendor over to its last byte, or to giving up',
  labelNames: ['target', 'outcome'],
  buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

const outboundRetries = new Counter({
  name: 'outbound_retries_total',
  help: 'Requests to a vendor sent a second time',
  labelNames: ['target'],
});

const CONNECTIONS = 16;
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 400;
// A busy process may need several permits until one is fresh when the request is written. The pause before the next one doubles, so a
// dozen are charged and given back in five seconds at most.
const FIRST_STALE_PAUSE_MS = 2;

const UNMETERED: CallPermit = {
  kind: 'granted',
  isFresh: () => true,
  settle: () => Promise.resolve(),
  giveBack: () => Promise.resolve(),
};

/**
 * All calls to vendors go through this class. A call goes only to a known host, sends at most two requests, and has a deadline per
 * attempt and in total. The size of the answer is bounded. Every permit is settled or given back exactly once.
 *
 * | request | when                                                                                              |
 * | ------- | ------------------------------------------------------------------------------------------------- |
 * | first   | at once                                                                                           |
 * | second  | 100 to 400 ms later, or after `Retry-After`, on 408, 5xx, a timeout or a broken connection        |
 *
 * After a 429 the request is sent again only without a meter: a meter knows when calls are possible again. There is no second
 * request if `repeatable` is false, if the pause would exceed the total deadline, or if the meter gives no permit. In these cases
 * the call ends with the first outcome. Not guaranteed: a request without an answer may nevertheless have arrived.
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
      // A host without TLS is the operator's own simulator, which may have a private address.
      publicOnly: options.hosts.every((url) => url.startsWith('https:')),
    });
    this.exchange = options.exchange ?? ((request, sending) => this.http.send(request, sending));
  }

  /**
   * Resolves with the vendor's answer, of any status. If the meter gives no permit to begin with, resolves with its outcome.
   * Otherwise rejects: with an error of outbound.errors.ts, the meter's own error, or an Error for an unknown host.
   */
  call(request: OutboundRequest): Promise<Answered>;
  call<No extends NoPermit>(request: OutboundRequest, meter: Meter<No>): Promise<Answered | No>;
  async call<No extends NoPermit>(request: OutboundRequest, meter?: Meter<No>): Promise<Answered | No> {
    const host = this.hostOf(request.url);
    const permit = await this.requestPermit(meter, request.signal, host);
    if (permit.kind !== 'granted') return permit;
    const endsAtMs = performance.now() + this.bounds.totalMs;
    return within(this.bounds.totalMs, request.signal, host, (signal) =>
      this.run({ request, meter, host, signal, endsAtMs }, permit),
    );
  }

  close(): Promise<void> {
    return this.http.close();
  }

  private async run<No extends NoPermit>(call: Call<No>, permit: CallPermit): Promise<Answered | No> {
    const first = await this.attempt(call, permit);
    if (isNoPermit(first)) return first;
    const second = isWorthRepeating(call, first) ? await this.repeat(call, first) : undefined;
    const outcome = second ?? first;
    if (outcome.kind === 'failed') throw outcome.error;
    return outcome;
  }

  /** Returns the outcome of the second request. Returns undefined if the deadline or the meter allows no second request. */
  private async repeat<No extends NoPermit>(
    call: Call<No>,
    first: CallOutcome,
  ): Promise<CallOutcome | undefined> {
    const pauseMs = this.pauseMs(first);
    if (performance.now() + pauseMs >= call.endsAtMs) return undefined;
    try {
      await pause(pauseMs, undefined, { signal: call.signal });
      const permit = await this.requestPermit(call.meter, call.signal, call.host);
      if (permit.kind !== 'granted') return undefined;
      outboundRetries.inc({ target: this.options.name });
      const second = await this.attempt(call, permit);
      return isNoPermit(second) ? undefined : second;
    } catch (error) {
      if (call.signal.reason instanceof CallTimedOut) return undefined;
      throw call.signal.aborted ? abortErrorOf(call.signal, call.host) : error;
    }
  }

  /** Sends one request; its permit is fresh when the request is written. */
  private async attempt<No extends NoPermit>(call: Call<No>, permit: CallPermit): Promise<CallOutcome | No> {
    let current = permit;
    for (let pauseMs = FIRST_STALE_PAUSE_MS; ; pauseMs *= 2) {
      const exchanged = await this.send(call, current);
      await this.settle(current, exchanged);
      if (exchanged.kind !== 'stale') return exchanged;
      // The next request for a permit throws the reason of an abort.
      await pause(pauseMs, undefined, { signal: call.signal }).catch(() => undefined);
      const next = await this.requestPermit(call.meter, call.signal, call.host);
      if (next.kind !== 'granted') return next;
      current = next;
    }
  }

  private async send<No extends NoPermit>(call: Call<No>, permit: CallPermit): Promise<ExchangeOutcome> {
    const { request, host } = call;
    const stopTimer = outboundDuration.startTimer({ target: this.options.name });
    const exchanged = await within(this.bounds.attemptMs, call.signal, host, (signal) =>
      this.exchange(request, { host, signal, mayWrite: () => permit.isFresh() }),
    ).catch((cause: unknown): Failed => {
      return { kind: 'failed', error: new ConnectionFailed(host, { cause }), written: true };
    });
    if (exchanged.kind !== 'stale') stopTimer({ outcome: outcomeLabel(exchanged) });
    return exchanged;
  }

  private async requestPermit<No extends NoPermit>(
    meter: Meter<No> | undefined,
    signal: AbortSignal | undefined,
    host: string,
  ): Promise<CallPermit | No> {
    if (signal?.aborted) throw abortErrorOf(signal, host);
    if (!meter) return UNMETERED;
    const permit = await meter.permit(signal).catch((error: unknown) => {
      throw signal?.aborted ? abortErrorOf(signal, host) : error;
    });
    if (!signal?.aborted) return permit;
    if (permit.kind === 'granted') await this.orWarn(() => permit.giveBack());
    throw abortErrorOf(signal, host);
  }

  private settle(permit: CallPermit, exchanged: ExchangeOutcome): Promise<void> {
    if (exchanged.kind === 'answered') return this.orWarn(() => permit.settle(exchanged.answer));
    if (exchanged.kind === 'stale' || !exchanged.written) return this.orWarn(() => permit.giveBack());
    return this.orWarn(() => permit.settle(exchanged.head));
  }

  /** Logs a failure, so that the caller gets the answer although its permit could not be settled. */
  private async orWarn(endPermit: () => Promise<void>): Promise<void> {
    try {
      await endPermit();
    } catch (err) {
      this.options.logger.warn({ err, target: this.options.name }, 'permit neither settled nor given back');
    }
  }

  private hostOf(url: string): string {
    const { origin, host } = new URL(url);
    if (!this.origins.has(origin)) throw new Error(`${host} is not a host of ${this.options.name}`);
    return host;
  }

  private pauseMs(first: CallOutcome): number {
    const { random = Math.random } = this.options;
    const jitteredMs = SHORTEST_PAUSE_MS + random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
    const retryAfter = first.kind === 'answered' ? Number(first.answer.headers['retry-after']) : NaN;
    return retryAfter > 0 ? Math.max(retryAfter * 1_000, jitteredMs) : jitteredMs;
  }
}

function isNoPermit<No extends NoPermit>(outcome: CallOutcome | No): outcome is No {
  return outcome.kind !== 'answered' && outcome.kind !== 'failed';
}

/** After a 429 the request is repeated only without a meter: a meter knows when calls are possible again. */
function isWorthRepeating({ request, meter }: Call<NoPermit>, outcome: CallOutcome): boolean {
  if (request.repeatable === false) return false;
  if (outcome.kind === 'failed')
    return outcome.error instanceof CallTimedOut || outcome.error instanceof ConnectionFailed;
  const { status } = outcome.answer;
  return status === 408 || status >= 500 || (status === 429 && !meter);
}

function outcomeLabel(outcome: CallOutcome): string {
  if (outcome.kind === 'answered') return `${Math.floor(outcome.answer.status / 100)}xx`;
  return failureLabel(outcome.error);
}

function failureLabel(error: AppError): string {
  if (error instanceof CallTimedOut) return 'timeout';
  if (error instanceof CallAborted) return 'aborted';
  return error instanceof AnswerTooLarge ? 'too_large' : 'broken';
}
