// For specs only.
import { CLIENT, SimulatorProcess } from '../../../../test/harness/simulator.js';
import { timeScale } from '#platform';
import { type GrantedPermit, type VendorBudget } from '#rate-limit';
import { type OutboundCaller } from '#reliability';
import { type TokenAccess, type TokenSource } from '../call/token-source.js';
import { type CallBudget, VendorCalls } from '../call/vendor-calls.js';
import { strava } from './vendor.js';

/** An athlete of the simulator who has connected the app, with their tokens. */
export interface Connected {
  readonly vendorAthleteId: string;
  accessToken: string;
  refreshToken: string;
}

type Json = Record<string, unknown>;

export type GaugedBudget = CallBudget & Pick<VendorBudget, 'gauges'>;

/** Returns the budget with permits that are stale while `isStale` returns true. */
export function ageing(budget: GaugedBudget, isStale: () => boolean): GaugedBudget {
  const aged = (permit: GrantedPermit): GrantedPermit => ({
    ...permit,
    isFresh: () => !isStale() && permit.isFresh(),
  });
  return {
    gauges: () => budget.gauges(),
    waitForPermit: async (call, wait) => {
      const outcome = await budget.waitForPermit(call, wait);
      return outcome.kind === 'granted' ? aged(outcome) : outcome;
    },
  };
}

export const REVOKED: TokenAccess = { kind: 'revoked', reason: 'Strava has ended the connection' };

/** The calls to Strava of one process, with parts of the test. */
export function stravaCalls(
  apiUrl: string,
  caller: OutboundCaller,
  budget: GaugedBudget,
  tokens: TokenSource,
): VendorCalls {
  return new VendorCalls(strava, { apiUrl, caller, budget, tokens, scale: timeScale(1) });
}

/** The simulator's Strava, in a process of its own. */
export class SimulatedStrava {
  private constructor(private readonly simulator: SimulatorProcess) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<SimulatedStrava> {
    return new SimulatedStrava(await SimulatorProcess.start(env));
  }

  get apiUrl(): string {
    return `${this.simulator.url}/api/v3`;
  }

  get env(): Record<string, string> {
    return this.simulator.env;
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

  /** One person's access tokens in place of those of `Connections`, for any athlete's id. */
  tokensOf(person: Connected): TokenSource {
    const access = (): TokenAccess => ({
      kind: 'token',
      token: person.accessToken,
      connection: 'one',
    });
    return {
      access: () => Promise.resolve(access()),
      rejected: () => this.refresh(person).then(access, () => REVOKED),
      isConnected: () => Promise.resolve(true),
    };
  }

  fault(endpoint: string, kind: string, more: Json = {}): Promise<Json> {
    return this.simulator.fault('strava', endpoint, kind, more);
  }

  heal(): Promise<void> {
    return this.simulator.clearFaults();
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

  deauthorize(athleteId: string): Promise<void> {
    return this.simulator.deauthorize('strava', athleteId);
  }

  async stats(): Promise<{
    over_limit: number;
    by_endpoint: Record<string, number>;
    webhooks: Record<string, number>;
  }> {
    return (await this.control('GET', '/stats')).strava as never;
  }

  calls(endpoint: string): Promise<number> {
    return this.simulator.calls('strava', endpoint);
  }

  /** The app's only subscription, if it has one. */
  async subscription(): Promise<{ id: number; callback_url: string } | undefined> {
    const query = new URLSearchParams({ client_id: CLIENT.id, client_secret: CLIENT.secret });
    const answer = await fetch(`${this.apiUrl}/push_subscriptions?${query.toString()}`);
    return ((await answer.json()) as Array<{ id: number; callback_url: string }>)[0];
  }

  control(method: string, path: string, body?: Json): Promise<Json> {
    return this.simulator.control(method, path, body);
  }

  stop(): Promise<void> {
    return this.simulator.stop();
  }

  private async token(fields: Record<string, string>) {
    const body = new URLSearchParams({ client_id: CLIENT.id, client_secret: CLIENT.secret, ...fields });
    const answer = await fetch(`${this.simulator.url}/oauth/token`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`token: ${answer.status}`);
    const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
    return { accessToken: access_token ?? '', refreshToken: refresh_token ?? '' };
  }
}
