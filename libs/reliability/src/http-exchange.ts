import { type IncomingHttpHeaders } from 'node:http';
import { Agent, type Dispatcher } from 'undici';
import { type AppError } from '#platform';
import { ACCEPTED_ENCODINGS, decodeBody, DecodedTooLarge } from './decode-body.js';
import { type Exchanged, type Head, type OutboundRequest, type Sending } from './exchange.js';
import { AnswerTooLarge, ConnectionFailed } from './outbound.errors.js';
import { publicLookup } from './public-addresses.js';
import { abortion } from './within.js';

export interface ConnectionLimits {
  /** To each origin. */
  readonly connections: number;
  readonly connectMs: number;
  /** Names are followed to public addresses only. */
  readonly publicOnly: boolean;
}

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const MAX_HEADER_BYTES = 32 * 1024;
// Shorter than what servers grant: a request written on a connection that the other side is closing is lost.
const KEPT_ALIVE_MS = 4_000;

/** HTTP over a bounded pool of kept connections. Redirects are answers like others. */
export class HttpExchange {
  private readonly agent: Agent;

  constructor({ connections, connectMs, publicOnly }: ConnectionLimits) {
    this.agent = new Agent({
      connections,
      // A second request on a busy connection would be sent again by itself when the first one fails.
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEPT_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // The deadline of the attempt covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectMs, ...(publicOnly && { lookup: publicLookup() }) },
    });
  }

  async send(request: OutboundRequest, sending: Sending): Promise<Exchanged> {
    const maxBytes = request.maxBytes ?? DEFAULT_MAX_BYTES;
    const received = await this.receive(request, sending, maxBytes);
    if (received.kind !== 'received') return received;
    const { head, bytes } = received;
    const failed = (error: AppError): Exchanged => ({ kind: 'failed', error, written: true, head });
    try {
      const body = await decodeBody(bytes, head.headers['content-encoding'] ?? '', maxBytes);
      return { kind: 'answered', answer: { ...head, body } };
    } catch (cause) {
      if (cause instanceof DecodedTooLarge) return failed(new AnswerTooLarge(sending.host, maxBytes));
      return failed(new ConnectionFailed(sending.host, { cause }));
    }
  }

  close(): Promise<void> {
    return this.agent.close();
  }

  private receive(request: OutboundRequest, sending: Sending, maxBytes: number): Promise<Received> {
    const { origin, pathname, search } = new URL(request.url);
    return new Promise((resolve) => {
      const reception = new Reception(sending, maxBytes, resolve);
      if (sending.signal.aborted) return;
      try {
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
          reception,
        );
      } catch (error) {
        // Headers that are none.
        reception.onResponseError(undefined, error as Error);
      }
    });
  }
}

type Received =
  | { readonly kind: 'received'; readonly head: Head; readonly bytes: Buffer }
  | Exclude<Exchanged, { kind: 'answered' }>;

/** Gathers one answer. It ends once, and whatever is under way is then ended with it. */
class Reception implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private head: Head | undefined;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private isOver = false;
  private readonly onAbort = () => this.giveUp(abortion(this.sending.signal, this.sending.host));

  constructor(
    private readonly sending: Sending,
    private readonly maxBytes: number,
    private readonly done: (received: Received) => void,
  ) {
    sending.signal.addEventListener('abort', this.onAbort, { once: true });
    if (sending.signal.aborted) this.onAbort();
  }

  /** The connection stands and the request is about to be written; what is thrown here takes it back and keeps the connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.isOver) throw new Error('nobody waits for it any more');
    // The pool may send again what it believes unsent; here every request is counted.
    if (this.controller) throw new Error('it was written before');
    if (!this.sending.mayWrite()) {
      this.end({ kind: 'stale' });
      throw new Error('it may not be written any more');
    }
    this.controller = controller;
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    // 103 and the like come before the answer.
    if (status < 200) return;
    this.head = { status, headers: plain(headers) };
    if (Number(this.head.headers['content-length']) > this.maxBytes) this.refuseSize();
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > this.maxBytes) return this.refuseSize();
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.head) return this.giveUp(new ConnectionFailed(this.sending.host));
    this.end({ kind: 'received', head: this.head, bytes: Buffer.concat(this.chunks) });
  }

  onResponseError(_controller: unknown, cause: Error): void {
    this.giveUp(new ConnectionFailed(this.sending.host, { cause }));
  }

  private refuseSize(): void {
    this.giveUp(new AnswerTooLarge(this.sending.host, this.maxBytes));
  }

  /** Destroys the connection, if the request has one: what is left of its answer must not be taken for the next one's. */
  private giveUp(error: AppError): void {
    if (this.isOver) return;
    this.end({ kind: 'failed', error, written: this.controller !== undefined, head: this.head });
    this.controller?.abort(error);
  }

  private end(received: Received): void {
    if (this.isOver) return;
    this.isOver = true;
    this.sending.signal.removeEventListener('abort', this.onAbort);
    this.done(received);
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
