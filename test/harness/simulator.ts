import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { SHORT_LIVED } from './process.js';
import { within } from './within.js';

const MAIN = resolve('dist/apps/simulator/src/main.js');
// The simulator waits for no server. It starts within seconds, also on a busy machine.
const START_MS = 60_000;

interface SimulatedVendors {
  readonly vendorPaths: Readonly<Record<string, string>>;
  readonly vendorClients: Readonly<Record<string, string>>;
}

/** The vendors of `npm start`. */
const { href } = pathToFileURL(resolve('bin/launcher/vendors.mjs'));
const { vendorPaths, vendorClients } = (await import(href)) as SimulatedVendors;

export const CLIENT = { id: '4711', secret: 'the-secret-of-the-app' };

/** The same app at every vendor. */
const CREDENTIALS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(vendorClients).flatMap((name) => [
    [name, CLIENT.id],
    [name.replace(/_ID$/, '_SECRET'), CLIENT.secret],
  ]),
);

interface Overview {
  readonly athletes: ReadonlyArray<{ readonly id: string; readonly connected: boolean }>;
}

interface VendorCounts {
  readonly by_endpoint: Readonly<Record<string, number>>;
}

/** The vendors' simulator as a separate process. Its statistics count the requests that reach its sockets. */
export class SimulatorProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<SimulatorProcess> {
    const child = spawn(process.execPath, [...SHORT_LIVED, MAIN], {
      env: {
        PATH: process.env.PATH,
        SIMULATOR_PORT: '0',
        ...CREDENTIALS,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`the simulator ended with ${code}`)),
    );
    const first = once(createInterface(child.stdout), 'line');
    try {
      const [line] = (await within('the simulator', START_MS, Promise.race([first, ended]))) as [string];
      return new SimulatorProcess(child, line.replace('simulator ', ''));
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    } finally {
      // The simulator ends after the test has stopped it.
      ended.catch(() => undefined);
    }
  }

  /** The environment with which a process of the product uses this simulator. */
  get env(): Record<string, string> {
    const urls = Object.entries(vendorPaths).map(([name, path]) => [name, `${this.url}${path}`]);
    return {
      ...(Object.fromEntries(urls) as Record<string, string>),
      ...CREDENTIALS,
      STRAVA_WEBHOOK_VERIFY_TOKEN: 'verify-token',
      STRAVA_WEBHOOK_PATH_SECRET: 'a-path-nobody-guesses',
    };
  }

  async newAthlete(provider: string, more: Record<string, unknown> = {}): Promise<string> {
    const { id } = await this.control('POST', '/athletes', { provider, activities: 1, nights: 1, ...more });
    return id as string;
  }

  fault(vendor: string, endpoint: string, kind: string, more: Record<string, unknown> = {}) {
    return this.control('POST', '/faults', { vendor, endpoint, kind, ...more });
  }

  /** Changes the simulator's behaviour in cases that the vendor does not document. */
  async habit(vendor: string, habits: Record<string, unknown>): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(habits);
    const answer = await fetch(`${this.url}/${vendor}/__sim/habits`, { method: 'PUT', headers, body });
    if (!answer.ok) throw new Error(`habits of ${vendor}: ${answer.status} ${await answer.text()}`);
  }

  async clearFaults(): Promise<void> {
    await this.control('DELETE', '/faults');
  }

  async deauthorize(provider: string, id: string): Promise<void> {
    await this.control('POST', '/deauthorize', { athlete_id: id, provider });
  }

  /** The number of calls to that endpoint since the simulator's start. */
  async calls(vendor: string, endpoint: string): Promise<number> {
    const stats = await this.control<Record<string, VendorCounts>>('GET', '/stats');
    return stats[vendor]?.by_endpoint[endpoint] ?? 0;
  }

  /** True if the app holds a grant of that person. */
  async isConnected(id: string): Promise<boolean> {
    const { athletes } = await this.control<Overview>('GET', '/overview');
    return athletes.some((athlete) => athlete.id === id && athlete.connected);
  }

  /** Answers the consent page for a person, with `choice` as its fields. Returns the URL to which the vendor redirects the browser. */
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
