// For specs only.
import { CLIENT, SimulatorProcess } from '../../../test/harness/simulator.js';
import { type AccessTokens } from './access-tokens.js';

/** A person who has connected the app, with their tokens. */
export interface Connected {
  readonly vendorAthleteId: string;
  accessToken: string;
  refreshToken: string;
}

type Json = Record<string, unknown>;

/** Strava as the simulator plays it, in a process of its own. */
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

  /** The one subscription of the app, if there is one. */
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
