import http, { type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type ManualTime } from '../core/manual-time.harness.js';
import { type Answer, type Connected, Harness, until } from '../simulator.harness.js';

export const SECRETS = { oura: 'oura-client-secret', whoop: 'whoop-client-secret' } as const;
export const CLIENT_ID = 'pacekeeper';

const TOKEN_PATHS = { oura: '/oura/oauth/token', whoop: '/whoop/oauth/oauth2/token' } as const;

type Wearable = keyof typeof SECRETS;

export function openSimulator(timeScale = 1): Promise<Harness> {
  const app = (vendor: Wearable) => ({ clientId: CLIENT_ID, clientSecret: SECRETS[vendor] });
  return Harness.open({ timeScale, apps: { oura: app('oura'), whoop: app('whoop') } });
}

export function askToken(sim: Harness, vendor: Wearable, fields: Record<string, string>): Promise<Answer> {
  return sim.form(TOKEN_PATHS[vendor], { client_id: CLIENT_ID, client_secret: SECRETS[vendor], ...fields });
}

/** Somebody who has just said yes: the app still has to trade the code. */
export function newcomer(
  sim: Harness,
  provider: Wearable,
  order: Record<string, unknown> = {},
): Promise<{ id: string; code: string }> {
  return sim.sim('/athletes', { provider, nights: 0, ...order }) as Promise<{ id: string; code: string }>;
}

/** Somebody whose consent the app holds. */
export async function connect(
  sim: Harness,
  vendor: Wearable,
  order: Record<string, unknown> = {},
): Promise<Connected> {
  const { id, code } = await newcomer(sim, vendor, order);
  const answer = await askToken(sim, vendor, { grant_type: 'authorization_code', code });
  const body = answer.body as { access_token: string; refresh_token: string };
  return { id, accessToken: body.access_token, refreshToken: body.refresh_token };
}

export interface Heard {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly atMs: number;
}

export interface Reaction {
  readonly status: number;
  readonly body?: string;
}

/** An app's callback on a port of its own. It keeps what it hears and reacts as the test says. */
export class Callback {
  readonly heard: Heard[] = [];
  /** Undefined: never answer. */
  react: (heard: Heard, event: number) => Reaction | undefined = echoChallenge;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly server: http.Server,
    readonly url: string,
    private readonly nowMs: () => number,
  ) {}

  static async open(nowMs: () => number): Promise<Callback> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const callback = new Callback(server, `http://127.0.0.1:${port}/hooks`, nowMs);
    server.on('request', (request, response) => void callback.hear(request, response));
    return callback;
  }

  get events(): Heard[] {
    return this.heard.filter(({ method }) => method === 'POST');
  }

  /** Waits until that many events have come in. */
  async hears(count: number): Promise<Heard[]> {
    while (this.events.length < count) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.events;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private async hear(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', headers } = request;
    const url = new URL(request.url ?? '/', this.url);
    const heard = { method, url, headers, text: Buffer.concat(chunks).toString(), atMs: this.nowMs() };
    this.heard.push(heard);
    const reaction = this.react(heard, this.events.length);
    if (reaction)
      response.writeHead(reaction.status, { 'content-type': 'application/json' }).end(reaction.body);
    this.waiting.splice(0).forEach((wake) => wake());
  }
}

export function echoChallenge({ url }: Heard): Reaction {
  return { status: 200, body: JSON.stringify({ challenge: url.searchParams.get('challenge') }) };
}

/** Delivery after delivery: an attempt sets one timer for its answer and, if it fails, one for the next attempt. */
export class Attempts {
  private timersSet = 0;

  constructor(time: ManualTime) {
    const after = time.after.bind(time);
    time.after = (delayMs, run) => {
      this.timersSet++;
      return after(delayMs, run);
    };
  }

  /** Waits until attempt number `attempt` has failed and the next one is due later. */
  async failed(attempt: number): Promise<void> {
    await until(() => this.timersSet === 2 * attempt);
  }
}
