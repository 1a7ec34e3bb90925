import http, { type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type ManualTime } from '../core/manual-time.harness.js';
import { type Answer, type Connected, Harness, until } from '../simulator.harness.js';

export const SECRETS = {
  oura: 'oura-client-secret',
  whoop: 'whoop-client-secret',
  polar: 'polar-client-secret',
} as const;
export const CLIENT_ID = 'pacekeeper';

const TOKEN_PATHS = { oura: '/oura/oauth/token', whoop: '/whoop/oauth/oauth2/token' } as const;

type Wearable = keyof typeof TOKEN_PATHS;

export function openSimulator(timeScale = 1): Promise<Harness> {
  const app = (vendor: keyof typeof SECRETS) => ({ clientId: CLIENT_ID, clientSecret: SECRETS[vendor] });
  return Harness.open({ timeScale, apps: { oura: app('oura'), whoop: app('whoop'), polar: app('polar') } });
}

export function askToken(sim: Harness, vendor: Wearable, fields: Record<string, string>): Promise<Answer> {
  return sim.form(TOKEN_PATHS[vendor], { client_id: CLIENT_ID, client_secret: SECRETS[vendor], ...fields });
}

/** Makes an athlete who has consented. The app has not yet exchanged the code. */
export function consentedAthlete(
  sim: Harness,
  provider: Wearable,
  order: Record<string, unknown> = {},
): Promise<{ id: string; code: string }> {
  return sim.sim('/athletes', { provider, nights: 0, ...order }) as Promise<{ id: string; code: string }>;
}

/** Makes an athlete with a grant, and returns the tokens. */
export async function connect(
  sim: Harness,
  vendor: Wearable,
  order: Record<string, unknown> = {},
): Promise<Connected> {
  const { id, code } = await consentedAthlete(sim, vendor, order);
  const answer = await askToken(sim, vendor, { grant_type: 'authorization_code', code });
  const body = answer.body as { access_token: string; refresh_token: string };
  return { id, accessToken: body.access_token, refreshToken: body.refresh_token };
}

interface CallbackRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly atMs: number;
}

interface CallbackResponse {
  readonly status: number;
  readonly body?: string;
}

/** An app's callback on its own port. It records requests; `respond` decides the answer. */
export class Callback {
  readonly requests: CallbackRequest[] = [];
  /** If this returns undefined, the request gets no answer. */
  respond: (request: CallbackRequest, event: number) => CallbackResponse | undefined = echoChallenge;
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
    server.on('request', (request, response) => void callback.handle(request, response));
    return callback;
  }

  get events(): CallbackRequest[] {
    return this.requests.filter(({ method }) => method === 'POST');
  }

  /** Waits until `count` events have arrived. */
  async waitForEvents(count: number): Promise<CallbackRequest[]> {
    while (this.events.length < count) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.events;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private async handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', headers } = request;
    const url = new URL(request.url ?? '/', this.url);
    const received = { method, url, headers, text: Buffer.concat(chunks).toString(), atMs: this.nowMs() };
    this.requests.push(received);
    const answer = this.respond(received, this.events.length);
    if (answer) response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    this.waiting.splice(0).forEach((wake) => wake());
  }
}

export function echoChallenge({ url }: CallbackRequest): CallbackResponse {
  return { status: 200, body: JSON.stringify({ challenge: url.searchParams.get('challenge') }) };
}

/** Counts failed delivery attempts by timers. An attempt sets one timer for the answer; a failed attempt sets one more. */
export class Attempts {
  private timersSet = 0;

  constructor(time: ManualTime) {
    const after = time.after.bind(time);
    time.after = (delayMs, run) => {
      this.timersSet++;
      return after(delayMs, run);
    };
  }

  /** Waits until attempt number `attempt` has failed and the timer of the next attempt is set. */
  async failed(attempt: number): Promise<void> {
    await until(() => this.timersSet === 2 * attempt);
  }
}
