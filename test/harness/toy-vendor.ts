import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo } from 'node:net';
import { CLIENT } from './simulator.js';

export interface ToyNight {
  readonly id: string;
  readonly day: string;
  readonly minutes: number;
  readonly score: number | null;
  readonly changed_at: string;
}

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly location?: string;
}

/** The vendor of docs/how-to-add-a-vendor.md: one person, OAuth, a list of nights and a signed webhook. */
export class ToyVendor {
  readonly sleeper = `sleeper-${randomUUID()}`;
  readonly nights: ToyNight[] = [];
  /** The requests that the vendor has answered, as `GET /v1/nights`. */
  readonly seen: string[] = [];
  private token: string | undefined;
  private readonly server = createServer((request, response) => {
    void this.answer(request).then(({ status, body, location }) => {
      response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) });
      response.end(body && JSON.stringify(body));
    });
  });

  static async start(): Promise<ToyVendor> {
    const vendor = new ToyVendor();
    vendor.server.listen(0, '127.0.0.1');
    await once(vendor.server, 'listening');
    return vendor;
  }

  get env(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return {
      DOZY_API_URL: `${url}/v1`,
      DOZY_OAUTH_URL: `${url}/oauth`,
      DOZY_CLIENT_ID: CLIENT.id,
      DOZY_CLIENT_SECRET: CLIENT.secret,
    };
  }

  get isGranted(): boolean {
    return this.token !== undefined;
  }

  /** Sends an event about a night, signed with this secret. Returns the status of the answer. */
  async send(webhookUrl: string, night: string, secret = CLIENT.secret): Promise<number> {
    const body = JSON.stringify({ event: randomUUID(), sleeper: this.sleeper, night, change: 'create' });
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'content-type': 'application/json', 'dozy-signature': signature };
    return (await fetch(webhookUrl, { method: 'POST', headers, body })).status;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', 'http://dozy');
    const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
    const route = `${request.method} ${url.pathname}`;
    this.seen.push(route);
    switch (route) {
      case 'GET /oauth/authorize':
        return consent(url.searchParams);
      case 'POST /oauth/token':
        return this.grant(form);
      case 'POST /oauth/revoke':
        this.token = undefined;
        return { status: 200, body: {} };
    }
    if (!this.token || request.headers.authorization !== `Bearer ${this.token}`)
      return { status: 401, body: {} };
    return this.read(url);
  }

  private grant(form: URLSearchParams): Answer {
    if (form.get('client_secret') !== CLIENT.secret)
      return { status: 401, body: { error: 'invalid_client' } };
    this.token = randomUUID();
    const tokens = { access_token: this.token, refresh_token: randomUUID(), expires_in: 3_600 };
    return { status: 200, body: { ...tokens, scope: 'nights' } };
  }

  private read({ pathname, searchParams }: URL): Answer {
    if (pathname === '/v1/me') return { status: 200, body: { id: this.sleeper } };
    if (pathname === '/v1/nights') {
      const [from, to] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
      return { status: 200, body: { nights: this.nights.filter(({ day }) => from <= day && day <= to) } };
    }
    const night = this.nights.find(({ id }) => pathname === `/v1/nights/${id}`);
    return night ? { status: 200, body: night } : { status: 404, body: {} };
  }
}

/** The person consents at once. */
function consent(query: URLSearchParams): Answer {
  const back = new URL(query.get('redirect_uri') ?? '');
  back.searchParams.set('code', randomUUID());
  back.searchParams.set('state', query.get('state') ?? '');
  return { status: 302, location: back.href };
}
