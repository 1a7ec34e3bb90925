import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CLIENT, SimulatorProcess } from '../../../test/harness/simulator.js';
import { type CallOutcome, ok } from './call/call-outcome.js';
import { type VendorCalls, type VendorRequest } from './call/vendor-calls.js';
import { OuraSleeps } from './oura/sleep.js';
import { WhoopSleeps } from './whoop/sleep.js';

const CONTEXT = { athleteId: 'ann', class: 'backfill' } as const;
const HOUR_MS = 3_600_000;
const VENDORS = {
  oura: { token: '/oura/oauth/token', api: '/oura', Sleeps: OuraSleeps },
  whoop: { token: '/whoop/oauth/oauth2/token', api: '/whoop', Sleeps: WhoopSleeps },
} as const;

let simulator: SimulatorProcess;
beforeAll(async () => (simulator = await SimulatorProcess.start()));
afterAll(() => simulator.stop());

/** Calls of the simulated vendor with one person's token, without a budget. */
async function personAt(vendor: keyof typeof VENDORS) {
  const { token, api } = VENDORS[vendor];
  const made = { provider: vendor, nights: 0 };
  const { id, code } = await simulator.control<{ id: string; code: string }>('POST', '/athletes', made);
  const fields = {
    grant_type: 'authorization_code',
    code,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
  };
  const body = new URLSearchParams(fields);
  const granted = await fetch(`${simulator.url}${token}`, { method: 'POST', body });
  const { access_token } = (await granted.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}` };
  const call = async <T>(
    _: unknown,
    { path }: VendorRequest,
    parse: (json: unknown) => T,
  ): Promise<CallOutcome<T>> => {
    const answer = await fetch(`${simulator.url}${api}${path}`, { headers });
    return ok(parse(await answer.json()));
  };
  return { id, calls: { call } as unknown as VendorCalls };
}

it.each(['oura', 'whoop'] as const)(
  'the list of one date at %s has the night that was under way when the date began, whatever the hour of waking',
  async (vendor) => {
    const { id, calls } = await personAt(vendor);
    const sleeps = new VENDORS[vendor].Sleeps(calls);
    const missing: string[] = [];
    // Each night ends an hour earlier in the day than the one after it.
    for (let night = 1; night <= 24; night += 1) {
      const ends_at = new Date(Date.now() - night * 25 * HOUR_MS).toISOString();
      const sleep = { athlete_id: id, provider: vendor, ends_at, duration_minutes: 600 };
      const made = await simulator.control<{ id: string; date: string }>('POST', '/sleep', sleep);
      const list = await sleeps.list(CONTEXT, made.date, made.date);
      const found = list.kind === 'ok' ? list.value.records.map((record) => record.id) : [];
      if (!found.includes(made.id)) missing.push(ends_at);
    }
    expect(missing).toEqual([]);
  },
);
