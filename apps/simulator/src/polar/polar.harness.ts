import { type Answer, type Harness } from '../simulator.harness.js';
import { CLIENT_ID, SECRETS } from '../wearables/wearable.harness.js';

export const BASIC = basic(CLIENT_ID, SECRETS.polar);

export function basic(id: string, secret: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}

export function askToken(
  sim: Harness,
  code: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = BASIC,
): Promise<Answer> {
  return sim.form('/polar/v2/oauth2/token', { grant_type: 'authorization_code', code, ...fields }, headers);
}

/** An athlete who has just consented; the app has not exchanged the code yet. */
export function consented(sim: Harness, order: Record<string, unknown> = {}) {
  const athlete = { provider: 'polar', activities: 0, nights: 0, ...order };
  return sim.sim('/athletes', athlete) as Promise<{ id: string; code: string }>;
}

/** An athlete with a token, not registered yet. */
export async function authorized(sim: Harness, order: Record<string, unknown> = {}) {
  const { id, code } = await consented(sim, order);
  const answer = await askToken(sim, code);
  return { id, code, token: (answer.body as { access_token: string }).access_token };
}

export function register(sim: Harness, token: string, memberId = `member-${token.slice(0, 12)}`) {
  return sim.json('POST', '/polar/v3/users', { 'member-id': memberId }, token);
}

/** A registered athlete, whose new data the app can read. */
export async function connect(sim: Harness, order: Record<string, unknown> = {}) {
  const athlete = await authorized(sim, order);
  await register(sim, athlete.token);
  return athlete;
}

export function setHabits(sim: Harness, habits: Record<string, unknown>): Promise<Answer> {
  return sim.json('PUT', '/polar/__sim/habits', habits);
}

/** A session as `POST /__sim/activities` answers it. */
interface Made {
  readonly id: string;
  readonly start_date: string;
  readonly elapsed_time_s: number;
  readonly distance_m: number;
  readonly stops: readonly { at_s: number; seconds: number; paused: boolean }[];
}

export function train(sim: Harness, athleteId: string, order: Record<string, unknown> = {}): Promise<Made> {
  return sim.sim('/activities', { athlete_id: athleteId, duration_s: 600, ...order }) as Promise<Made>;
}

export function webhookCall(sim: Harness, method: string, below = '', body?: unknown): Promise<Answer> {
  return sim.call(method, `/polar/v3/webhooks${below}`, {
    headers: { ...BASIC, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}
