import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { eventsOf } from '../harness/changes.js';
import { type Arrival } from './ledger.js';

// A service key may send 6,000 requests a minute.
const BETWEEN_PAGES_MS = 20;
const AGAIN_MS = 100;
const PAGE = 1_000;

export interface Change {
  readonly id: string;
  readonly type: string;
  readonly athlete_id: string;
  readonly subject_id: string;
  readonly revision: number;
  readonly data?: unknown;
}

export const arrivalOf = ({ id, type, athlete_id, subject_id, revision }: Change): Arrival => ({
  ...{ id, revision },
  subject: `${athlete_id} ${type.split('.')[0]} ${subject_id}`,
});

/** Asks one api after the other, from the next one on after each error, until it is stopped. */
abstract class ApiReader {
  readonly arrivals: Arrival[] = [];
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private interrupted = 0;
  /** Why the last request failed. */
  lastError: unknown;

  constructor(
    private readonly urls: readonly string[],
    private readonly key: string,
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** How often a request failed or a stream ended. */
  get interruptions(): number {
    return this.interrupted;
  }

  protected async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const url = `${this.urls[this.interrupted % this.urls.length]}${path}`;
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${this.key}`, ...headers },
      signal: this.stopping.signal,
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  protected abstract read(): Promise<void>;

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        await this.read();
      } catch (error) {
        // The api was killed, or a server that it needs: the next request goes on from the last cursor.
        this.lastError = error;
        this.interrupted += 1;
        await pause(AGAIN_MS);
      }
    }
  }
}

/** Follows `GET /v1/changes` by its cursor. */
export class FeedReader extends ApiReader {
  private after = '';

  /** `keep` is called with each change, in the order of the log. */
  constructor(
    urls: readonly string[],
    key: string,
    private readonly keep: (change: Change) => void = () => undefined,
  ) {
    super(urls, key);
  }

  protected async read(): Promise<void> {
    const answer = await this.get(`/v1/changes?limit=${PAGE}&wait=2${this.after && `&after=${this.after}`}`);
    const { items, next_cursor } = (await answer.json()) as { items: Change[]; next_cursor: string };
    this.after = next_cursor;
    this.arrivals.push(...items.map(arrivalOf));
    items.forEach(this.keep);
    await pause(BETWEEN_PAGES_MS);
  }
}

/** Follows `GET /v1/events`, and goes on after its last event by `Last-Event-ID`. */
export class EventReader extends ApiReader {
  /** `lastId`: a cursor from before the first change. */
  constructor(
    urls: readonly string[],
    key: string,
    private lastId: string,
  ) {
    super(urls, key);
  }

  protected async read(): Promise<void> {
    const { body } = await this.get('/v1/events', { 'last-event-id': this.lastId });
    for await (const { id, change } of eventsOf<Change>(body!)) {
      this.lastId = id;
      if (change) this.arrivals.push(arrivalOf(change));
    }
    throw new Error('the stream has ended');
  }
}

type Answer = (count: number, response: ServerResponse) => void;

const accept = (response: ServerResponse) => void response.writeHead(204).end();

export const healthy: Answer = (_, response) => accept(response);

/** Refuses each eleventh request, breaks each 31st connection, and never answers each 997th request. */
export const flaky: Answer = (count, response) => {
  if (count % 997 === 0) return;
  if (count % 31 === 0) response.destroy();
  else if (count % 11 === 0) response.writeHead(503).end();
  else accept(response);
};

/** An app's endpoint. A change has arrived once the endpoint has accepted it. */
export class Endpoint {
  readonly arrivals: Arrival[] = [];
  readonly ids = new Set<string>();
  /** Requests whose `webhook-id` is not the id of the change in the body. */
  mistaken = 0;
  /** The secret of the endpoint, once it is known. Then each request's signature is verified. */
  secret: string | undefined;
  /** Requests whose signature is not right. */
  forged = 0;
  private count = 0;

  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async start(answer: Answer): Promise<Endpoint> {
    const server = createServer((request, response) => void endpoint.take(request, response, answer));
    const endpoint = new Endpoint(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async take(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    request.on('error', () => undefined);
    let text = '';
    try {
      for await (const chunk of request) text += String(chunk);
    } catch {
      // The sender was killed within the request.
      return;
    }
    if (this.secret && !isSigned(this.secret, text, request)) this.forged += 1;
    const arrival = arrivalOf(JSON.parse(text) as Change);
    if (request.headers['webhook-id'] !== arrival.id) this.mistaken += 1;
    response.once('finish', () => {
      if (response.statusCode !== 204) return;
      this.arrivals.push(arrival);
      this.ids.add(arrival.id);
    });
    answer((this.count += 1), response);
  }
}

function isSigned(secret: string, text: string, { headers }: IncomingMessage): boolean {
  try {
    new Webhook(secret).verify(text, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
