// For specs only. Bodies of answers are untyped.
/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment */
/* eslint-disable @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return */

import http, { type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type FastifyInstance } from 'fastify';
import { afterAll } from '@jest/globals';
import { type Core, type Snapshot } from './core/index.js';
import { ManualTime } from './core/manual-time.harness.js';
import { createSimulator, type SimulatorOptions } from './simulator.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the text is not JSON. */
  readonly body: Json;
}

export interface Connected {
  readonly id: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

const CLIENT = { client_id: '4711', client_secret: 'strava-client-secret' };

/** Simulators that a test has closed. Later tests reuse them, because opening a simulator takes longer than most tests. */
const spare = new Map<string, Harness[]>();
const running: FastifyInstance[] = [];
afterAll(() => Promise.all(running.map((app) => app.close())));

/** A listening simulator whose clock stands still until a test moves it. */
export class Harness {
  private readonly unanswered = new Set<http.ServerResponse>();
  private readonly asNew: Snapshot;

  private constructor(
    private readonly name: string,
    app: FastifyInstance,
    readonly base: string,
    readonly core: Core,
    readonly time: ManualTime,
  ) {
    this.asNew = core.memory.snapshot();
    app.server.on('request', (_request, response) => {
      this.unanswered.add(response);
      response.on('close', () => this.unanswered.delete(response));
    });
  }

  /** Returns a simulator in its initial state. It may be a simulator that an earlier test of this file has closed. */
  static async open(options: SimulatorOptions = {}): Promise<Harness> {
    const name = JSON.stringify(options);
    return spare.get(name)?.pop() ?? (await Harness.start(name, options));
  }

  private static async start(name: string, options: SimulatorOptions): Promise<Harness> {
    const time = new ManualTime();
    const { app, core } = await createSimulator({ time, ...options });
    running.push(app);
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    return new Harness(name, app, `http://127.0.0.1:${port}`, core, time);
  }

  /** Destroys open connections, resets the state, and keeps the simulator for the next test. */
  async close(): Promise<void> {
    this.unanswered.forEach((response) => response.socket?.destroy());
    this.unanswered.clear();
    await new Promise((resolve) => setImmediate(resolve));
    this.core.restore(this.asNew);
    this.time.rewind();
    spare.set(this.name, [...(spare.get(this.name) ?? []), this]);
  }

  async call(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(this.base + path, { redirect: 'manual', ...init, method });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }

  get(path: string, accessToken?: string): Promise<Answer> {
    return this.call('GET', path, { headers: bearer(accessToken) });
  }

  json(method: string, path: string, body: unknown, accessToken?: string): Promise<Answer> {
    const headers = { 'content-type': 'application/json', ...bearer(accessToken) };
    return this.call(method, path, { headers, body: JSON.stringify(body) });
  }

  form(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', path, { headers, body: new URLSearchParams(fields) });
  }

  async sim(path: string, body: unknown = {}): Promise<Json> {
    const { status, text, body: answer } = await this.json('POST', `/__sim${path}`, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return answer;
  }

  async stats(): Promise<Json> {
    return (await this.get('/__sim/stats')).body;
  }

  exchange(code: string): Promise<Answer> {
    return this.form('/oauth/token', { ...CLIENT, grant_type: 'authorization_code', code });
  }

  refresh(refreshToken: string): Promise<Answer> {
    return this.form('/oauth/token', { ...CLIENT, grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /** A Strava athlete that has connected the app. */
  async connect(athlete: Record<string, unknown> = {}): Promise<Connected> {
    const { id, code } = await this.sim('/athletes', { provider: 'strava', activities: 5, ...athlete });
    const { body } = await this.exchange(code);
    return { id, accessToken: body.access_token, refreshToken: body.refresh_token };
  }

  async subscribe(receiver: Receiver): Promise<number> {
    const { body } = await this.form('/api/v3/push_subscriptions', {
      ...CLIENT,
      callback_url: receiver.url,
      verify_token: 'vt',
    });
    return body.id;
  }
}

interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Json;
}

/** An app's webhook endpoint. It echoes challenges and records requests; `answer` decides the status. */
export class Receiver {
  readonly received: Received[] = [];
  /** If this returns undefined, the request gets no answer. */
  answer: (event: Received, attempt: number) => number | undefined = () => 200;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly server: http.Server,
    readonly url: string,
  ) {}

  static async open(): Promise<Receiver> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const receiver = new Receiver(server, `http://127.0.0.1:${port}/hook`);
    server.on('request', (request, response) => void receiver.handle(request, response));
    return receiver;
  }

  get events(): Received[] {
    return this.received.filter(({ method }) => method === 'POST');
  }

  /** Waits until at least `events` events have arrived. Returns all events so far. */
  async waitForEvents(events: number): Promise<Received[]> {
    while (this.events.length < events) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.events;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private async handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '/', this.url);
    const received = {
      method: request.method ?? '',
      url,
      headers: request.headers,
      text,
      body: parsed(text),
    };
    this.received.push(received);
    const status = this.answer(received, this.events.length);
    if (status !== undefined) this.reply(received, status, response);
    this.waiting.splice(0).forEach((wake) => wake());
  }

  private reply({ method, url }: Received, status: number, response: http.ServerResponse): void {
    const echo = { 'hub.challenge': url.searchParams.get('hub.challenge') };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(method === 'GET' ? JSON.stringify(echo) : undefined);
  }
}

/** Waits until `isTrue` holds; checks it once per turn of the event loop. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

function bearer(accessToken?: string): Record<string, string> {
  return accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
