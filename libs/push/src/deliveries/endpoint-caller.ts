import { StringDecoder } from 'node:string_decoder';
import { AddressNotPublic, networkLookup } from '#platform';
import { AnswerTooLarge, CallTimedOut, HttpExchange, within } from '#reliability';
import { urlProblem } from '../endpoints/endpoint-url.js';

const MOST_BYTES = 64 * 1_024;
const KEPT_BYTES = 1_024;
// A bound for all endpoints at one address. Each endpoint has at most 8 attempts in flight.
const MOST_CONNECTIONS = 1_024;
const GONE = 410;

interface EndpointRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
}

/** How one attempt ended. */
export interface Attempt {
  readonly isDelivered: boolean;
  /** The endpoint wants no more deliveries. */
  readonly isGone: boolean;
  readonly status: number | null;
  /** The first 1 kB of the answer, even if the answer is incomplete. */
  readonly response: string | null;
  readonly error: string | null;
}

interface CallerOptions {
  readonly attemptMs: number;
  readonly allowPrivate: boolean;
  /** By default the DNS servers of the system. */
  readonly dnsServers?: readonly string[];
}

/**
 * Posts deliveries to the endpoints of apps. An attempt succeeds only if a whole answer with a 2xx status arrives in time. Redirects are not
 * followed. Without `allowPrivate`, it connects only to public addresses, and to the very address that it has checked. A slow DNS server
 * delays no other lookup of the process.
 */
export class EndpointCaller {
  private readonly exchange: HttpExchange;

  constructor(private readonly options: CallerOptions) {
    this.exchange = new HttpExchange({
      connections: MOST_CONNECTIONS,
      connectMs: options.attemptMs,
      publicOnly: !options.allowPrivate,
      lookup: networkLookup(options.dnsServers),
    });
  }

  async post({ url, headers, body, signal: outer }: EndpointRequest): Promise<Attempt> {
    // The URL may have been stored while WEBHOOKS_ALLOW_PRIVATE allowed more.
    const problem = urlProblem(url, this.options.allowPrivate);
    if (problem) return failed(`The URL ${problem}.`);
    const { host } = new URL(url);
    const request = {
      method: 'POST' as const,
      url,
      headers: { 'content-type': 'application/json', 'accept-encoding': 'identity', ...headers },
      body,
      maxBytes: MOST_BYTES,
    };
    const outcome = await within(this.options.attemptMs, outer, host, (signal) =>
      this.exchange.send(request, { host, signal, mayWrite: () => true }),
    );
    if (outcome.kind === 'answered') return judged(outcome.answer.status, outcome.answer.body);
    if (outcome.kind === 'stale') throw new Error('mayWrite never refuses');
    const { error, head, beginning } = outcome;
    return failed(this.reasonOf(error), head?.status, beginning && beginningOf(beginning));
  }

  close(): Promise<void> {
    return this.exchange.close();
  }

  /** Names the reason for the app's developers. It contains nothing of the answer. */
  private reasonOf(error: Error): string {
    if (error instanceof CallTimedOut) return `No whole answer within ${this.options.attemptMs / 1_000} s.`;
    if (error instanceof AnswerTooLarge) return `The answer has more than ${MOST_BYTES / 1_024} kB.`;
    if (error.cause instanceof AddressNotPublic) return 'The address of the host is not public.';
    const code = codeOf(error.cause);
    return (
      REASONS[code] ??
      (TLS_FAILURE.test(code) ? `The TLS connection failed (${code}).` : 'The connection broke.')
    );
  }
}

/** An attempt without a complete answer. */
function failed(error: string, status: number | null = null, response: string | null = null): Attempt {
  return { isDelivered: false, isGone: false, status, response, error };
}

function judged(status: number, body: Buffer): Attempt {
  const isDelivered = status >= 200 && status < 300;
  return {
    isDelivered,
    isGone: status === GONE,
    status,
    response: beginningOf(body),
    error: isDelivered ? null : complaintAbout(status),
  };
}

function complaintAbout(status: number): string {
  if (status >= 300 && status < 400) return `The endpoint answered ${status}; redirects are not followed.`;
  return `The endpoint answered ${status}.`;
}

/** The first 1 kB as text that Postgres can store, without half a character at its end. */
function beginningOf(body: Buffer): string {
  return new StringDecoder('utf8').write(body.subarray(0, KEPT_BYTES)).replaceAll('\0', '\uFFFD');
}

const TLS_FAILURE = /CERT|SIGNATURE|TLS|SSL|EPROTO/;

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The host name was not found.',
  EAI_AGAIN: 'The host name could not be looked up.',
  ECONNREFUSED: 'The connection was refused.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  ETIMEDOUT: 'No connection in time.',
  UND_ERR_CONNECT_TIMEOUT: 'No connection in time.',
};

function codeOf(cause: unknown): string {
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
