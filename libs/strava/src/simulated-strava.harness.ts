// For specs only.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type AccessTokens } from './access-tokens.js';

const MAIN = new URL('../../../dist/apps/simulator/src/main.js', import.meta.url).pathname;

export const CLIENT = { id: '4711', secret: 'the-secret-of-the-app' };

/** A person who has connected the app, with their tokens. */
export interface Connected {
  readonly vendorAthleteId: string;
  accessToken: string;
  refreshToken: string;
}

type Json = Record<string, unknown>;

/** Strava as the simulator plays it, in a process of its own. */
export class SimulatedStrava {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<SimulatedStrava> {
    const client = { STRAVA_CLIENT_ID: CLIENT.id, STRAVA_CLIENT_SECRET: CLIENT.secret };
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, SIMULATOR_PORT: '0', ...client, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new SimulatedStrava(child, line.replace('simulator ', ''));
  }

  get apiUrl(): string {
    return `${this.url}/api/v3`;
  }

  /** What a process of the product has to be told to use it. */
  get env(): Record<string, string> {
    return {
      STRAVA_API_URL: this.apiUrl,
      STRAVA_OAUTH_URL: `${this.url}/oauth`,
      STRAVA_CLIENT_ID: CLIENT.id,
      STRAVA_CLIENT_SECRET: CLIENT.secret,
    };
  }

  async connect(more: Json = {}): Promise<Connected> {
    const { id, code } = await this.control('POST', '/athletes', {
      provider: 'strava',
      activities: 5,
      ...more,
    });
    const tokens = await this.token({ grant_type: 'authorization_code', code: String(code) });
    return { vendorAthleteId: String(id), ...tokens };
  }

  async refresh(person: Connected): Promise<void> {
    Object.assign(
      person,
      await this.token({ grant_type: 'refresh_token', refresh_token: person.refreshToken }),
    );
  }

  /** A connection as the connections would keep it: `athleteId` is the vendor's id. */
  tokensOf(...people: Connected[]): AccessTokens {
    const of = (athleteId: string) => people.find(({ vendorAthleteId }) => vendorAthleteId === athleteId);
    return {
      access: (athleteId) => Promise.resolve({ token: of(athleteId)?.accessToken ?? '', generation: 0 }),
      rejected: async (athleteId) => {
        const person = of(athleteId);
        return person &&
          (await this.refresh(person).then(
            () => true,
            () => false,
          ))
          ? 'renewed'
          : 'revoked';
      },
    };
  }

  fault(endpoint: string, kind: string, more: Json = {}): Promise<Json> {
    return this.control('POST', '/faults', { vendor: 'strava', endpoint, kind, ...more });
  }

  heal(): Promise<Json> {
    return this.control('DELETE', '/faults');
  }

  async upload(athleteId: string, order: Json = {}): Promise<string> {
    const { id } = await this.control('POST', '/activities', { athlete_id: athleteId, ...order });
    return String(id);
  }

  rename(activityId: string, name: string): Promise<Json> {
    return this.control('PATCH', `/activities/${activityId}`, { name });
  }

  remove(activityId: string): Promise<Json> {
    return this.control('DELETE', `/activities/${activityId}`);
  }

  deauthorize(athleteId: string): Promise<Json> {
    return this.control('POST', '/deauthorize', { athlete_id: athleteId });
  }

  async stats(): Promise<{
    over_limit: number;
    by_endpoint: Record<string, number>;
    webhooks: Record<string, number>;
  }> {
    return (await this.control('GET', '/stats')).strava as never;
  }

  async calls(endpoint: string): Promise<number> {
    return (await this.stats()).by_endpoint[endpoint] ?? 0;
  }

  /** The one subscription of the app, if there is one. */
  async subscription(): Promise<{ id: number; callback_url: string } | undefined> {
    const query = new URLSearchParams({ client_id: CLIENT.id, client_secret: CLIENT.secret });
    const answer = await fetch(`${this.apiUrl}/push_subscriptions?${query.toString()}`);
    return ((await answer.json()) as Array<{ id: number; callback_url: string }>)[0];
  }

  async control(method: string, path: string, body?: Json): Promise<Json> {
    const answer = await fetch(`${this.url}/__sim${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text ? JSON.parse(text) : {}) as Json;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private async token(fields: Record<string, string>) {
    const body = new URLSearchParams({ client_id: CLIENT.id, client_secret: CLIENT.secret, ...fields });
    const answer = await fetch(`${this.url}/oauth/token`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`token: ${answer.status}`);
    const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
    return { accessToken: access_token ?? '', refreshToken: refresh_token ?? '' };
  }
}
