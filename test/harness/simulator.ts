import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

const MAIN = resolve('dist/apps/simulator/src/main.js');

export const CLIENT = { id: '4711', secret: 'the-secret-of-the-app' };

interface Overview {
  readonly athletes: ReadonlyArray<{ readonly id: string; readonly connected: boolean }>;
}

interface VendorCounts {
  readonly by_endpoint: Readonly<Record<string, number>>;
}

/** The vendors, as a process of their own: it judges us by what reaches its sockets. */
export class SimulatorProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<SimulatorProcess> {
    const secrets = ['STRAVA', 'OURA', 'WHOOP'].flatMap((vendor) => [
      [`${vendor}_CLIENT_ID`, CLIENT.id],
      [`${vendor}_CLIENT_SECRET`, CLIENT.secret],
    ]);
    const child = spawn(process.execPath, [MAIN], {
      env: {
        PATH: process.env.PATH,
        SIMULATOR_PORT: '0',
        ...(Object.fromEntries(secrets) as Record<string, string>),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new SimulatorProcess(child, line.replace('simulator ', ''));
  }

  /** What a process of the product has to be told to use it. */
  get env(): Record<string, string> {
    return {
      STRAVA_API_URL: `${this.url}/api/v3`,
      STRAVA_OAUTH_URL: `${this.url}/oauth`,
      STRAVA_CLIENT_ID: CLIENT.id,
      STRAVA_CLIENT_SECRET: CLIENT.secret,
      STRAVA_WEBHOOK_VERIFY_TOKEN: 'verify-token',
      STRAVA_WEBHOOK_PATH_SECRET: 'a-path-nobody-guesses',
      OURA_API_URL: `${this.url}/oura`,
      OURA_OAUTH_URL: `${this.url}/oura/oauth`,
      OURA_CLIENT_ID: CLIENT.id,
      OURA_CLIENT_SECRET: CLIENT.secret,
      WHOOP_API_URL: `${this.url}/whoop`,
      WHOOP_OAUTH_URL: `${this.url}/whoop/oauth/oauth2`,
      WHOOP_CLIENT_ID: CLIENT.id,
      WHOOP_CLIENT_SECRET: CLIENT.secret,
      BROKER_URL: `${this.url}/broker`,
    };
  }

  async newAthlete(provider: string, more: Record<string, unknown> = {}): Promise<string> {
    const { id } = await this.control('POST', '/athletes', { provider, activities: 1, nights: 1, ...more });
    return id as string;
  }

  fault(vendor: string, endpoint: string, kind: string, more: Record<string, unknown> = {}) {
    return this.control('POST', '/faults', { vendor, endpoint, kind, ...more });
  }

  async clearFaults(): Promise<void> {
    await this.control('DELETE', '/faults');
  }

  async deauthorize(provider: string, id: string): Promise<void> {
    await this.control('POST', '/deauthorize', { athlete_id: id, provider });
  }

  /** How often that endpoint was called, ever. */
  async calls(vendor: string, endpoint: string): Promise<number> {
    const stats = await this.control<Record<string, VendorCounts>>('GET', '/stats');
    return stats[vendor]?.by_endpoint[endpoint] ?? 0;
  }

  /** Whether any grant of that person lives. */
  async isConnected(id: string): Promise<boolean> {
    const { athletes } = await this.control<Overview>('GET', '/overview');
    return athletes.some((athlete) => athlete.id === id && athlete.connected);
  }

  /** A person says yes, leaving all boxes ticked or those given; answers where the vendor sends the browser. */
  async consent(authorizeUrl: string, choice: Readonly<Record<string, string>>): Promise<URL> {
    const url = new URL(authorizeUrl);
    for (const [name, value] of Object.entries(choice)) url.searchParams.set(name, value);
    const { headers, status } = await fetch(url, { redirect: 'manual' });
    const location = headers.get('location');
    if (!location) throw new Error(`The authorize page answered ${status}`);
    return new URL(location);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  async control<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.url}/__sim${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text ? JSON.parse(text) : {}) as T;
  }
}
