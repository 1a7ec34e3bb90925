import { type IncomingHttpHeaders } from 'node:http';
import { Agent, type Dispatcher } from 'undici';
import { AddressNotPublic, type AppError, isPrivateLiteral, type Lookup, publicLookup } from '#platform';
import { ACCEPTED_ENCODINGS, decodeBody, DecodedTooLarge } from './decode-body.js';
import { type ExchangeOutcome, type AnswerHead, type OutboundRequest, type SendContext } from './exchange.js';
import { AnswerTooLarge, ConnectionFailed } from './outbound.errors.js';
import { abortErrorOf } from './abort.js';

interface ConnectionLimits {
  /** Most connections to each origin. */
  readonly connections: number;
  readonly connectMs: number;
  /** True: connects only to public addresses, whether the URL has an IP address or a host name. */
  readonly publicOnly: boolean;
  /** Finds the addresses of host names, with `publicOnly`. By default the lookup of the system. */
  readonly lookup?: Lookup;
}

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const MAX_HEADER_BYTES = 32 * 1024;
const BEGINNING_BYTES = 1024;
// Shorter than servers' keep-alive: a request written to a connection that the server is closing is lost.
const KEEP_ALIVE_MS = 4_000;

/** Sends HTTP requests over a bounded pool of keep-alive connections. It neither retries nor follows redirects. */
export class HttpExchange {
  private readonly agent: Agent;

  private readonly publicOnly: boolean;

  constructor({ connections, connectMs, publicOnly, lookup }: ConnectionLimits) {
    this.publicOnly = publicOnly;
    this.agent = new Agent({
      connections,
      // No pipelining: when a request fails, undici would by itself resend the requests behind it on the same connection.
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // 0 disables both timeouts: the deadline of the attempt covers them.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectMs, ...(publicOnly && { lookup: publicLookup(lookup) }) },
    });
  }

  async send(request: OutboundRequest, context: SendContext): Promise<ExchangeOutcome> {
    const maxBytes = request.maxBytes ?? DEFAULT_MAX_BYTES;
    const received = await this.receive(request, context, maxBytes);
    if (received.kind !== 'received') return received;
    const { head, bytes } = received;
    const failed = (error: AppError): ExchangeOutcome => ({ kind: 'failed', error, written: true, head });
    try {
      const body = await decodeBody(bytes, head.headers['content-encoding'] ?? '', maxBytes);
      return { kind: 'answered', answer: { ...head, body } };
    } catch (cause) {
      if (cause instanceof DecodedTooLarge) return failed(new AnswerTooLarge(context.host, maxBytes));
      return failed(new ConnectionFailed(context.host, { cause }));
    }
  }

  close(): Promise<void> {
    return this.agent.close();
  }

  private receive(request: OutboundRequest, context: SendContext, maxBytes: number): Promise<Received> {
    const { origin, hostname, pathname, search } = new URL(request.url);
    return new Promise((resolve) => {
      const reader = new ResponseReader(context, maxBytes, resolve);
      if (context.signal.aborted) return;
      try {
        // The lookup that refuses private addresses is not called for an IP address in the URL.
        if (this.publicOnly && isPrivateLiteral(hostname)) throw new AddressNotPublic(hostname);
        this.agent.dispatch(
          {
            origin,
            path: pathname + search,
            method: request.method,
            headers: {
              'user-agent': 'pacekeeper',
              'accept-encoding': ACCEPTED_ENCODINGS,
              ...request.headers,
            },
            body: request.body,
          },
          reader,
        );
      } catch (error) {
        // Thrown for a private address or malformed headers.
        reader.onResponseError(undefined, error as Error);
      }
    });
  }
}

type Received =
  | { readonly kind: 'received'; readonly head: AnswerHead; readonly bytes: Buffer }
  | Exclude<ExchangeOutcome, { kind: 'answered' }>;

/** Reads one answer and resolves exactly once. On a failure, destroys the connection. */
class ResponseReader implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private head: AnswerHead | undefined;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private hasEnded = false;
  private readonly onAbort = () => this.fail(abortErrorOf(this.context.signal, this.context.host));

  constructor(
    private readonly context: SendContext,
    private readonly maxBytes: number,
    private readonly resolve: (received: Received) => void,
  ) {
    context.signal.addEventListener('abort', this.onAbort, { once: true });
    if (context.signal.aborted) this.onAbort();
  }

  /** Called just before the request is written. An error thrown here prevents the write, and the connection stays usable. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.hasEnded) throw new Error('The request was aborted before it was written');
    // undici may resend a request that it considers unsent, but each request needs a permit of its own.
    if (this.controller) throw new Error('The request was already written once');
    if (!this.context.mayWrite()) {
      this.end({ kind: 'stale' });
      throw new Error('The permit of the request is stale');
    }
    this.controller = controller;
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Informational responses such as 103 precede the answer.
    if (status < 200) return;
    this.head = { status, headers: plain(headers) };
    if (Number(this.head.headers['content-length']) > this.maxBytes) this.rejectSize();
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.size += chunk.length;
    this.chunks.push(chunk);
    if (this.size > this.maxBytes) this.rejectSize();
  }

  onResponseEnd(): void {
    if (!this.head) return this.fail(new ConnectionFailed(this.context.host));
    this.end({ kind: 'received', head: this.head, bytes: Buffer.concat(this.chunks) });
  }

  onResponseError(_controller: unknown, cause: Error): void {
    this.fail(new ConnectionFailed(this.context.host, { cause }));
  }

  private rejectSize(): void {
    this.fail(new AnswerTooLarge(this.context.host, this.maxBytes));
  }

  /** Destroys the connection: the rest of this answer must not be read as the next request's answer. */
  private fail(error: AppError): void {
    if (this.hasEnded) return;
    const { head, beginning } = this;
    this.end({ kind: 'failed', error, written: this.controller !== undefined, head, beginning });
    this.controller?.abort(error);
  }

  private get beginning(): Buffer | undefined {
    if (this.size === 0 || this.head?.headers['content-encoding']) return undefined;
    return Buffer.concat(this.chunks).subarray(0, BEGINNING_BYTES);
  }

  private end(received: Received): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.context.signal.removeEventListener('abort', this.onAbort);
    this.resolve(received);
  }
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}
