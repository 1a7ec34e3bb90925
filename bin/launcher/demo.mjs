import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from './failure.mjs';
import { say, step } from './progress.mjs';

// Enough to meet Strava's limit of 100 a window, and to be through within a few of TIME_SCALE's seconds.
const ACTIVITIES = 240;
const LOOK_AGAIN_MS = 100;
const TELL_AGAIN_MS = 1_000;
const UNFINISHED = ['queued', 'started', 'rate_limited'];

/** Both athletes exist from their first call on. */
export async function introduce({ api, tokens }) {
  for (const token of [tokens.athlete, tokens.other]) await call({ api, token }, 'GET', '/v1/me');
}

/** The first athlete connects an account at the simulator, as a person would, and its history is imported. */
export async function importDemoAthlete({ api, simulator, tokens }) {
  const client = { api, token: tokens.athlete };
  const { items } = await call(client, 'GET', '/v1/connections');
  if (items.some(({ provider }) => provider === 'strava')) return;
  await step('connecting a demo athlete', () => connect(client, simulator));
  const { id } = await call(client, 'POST', '/v1/imports', { type: 'full' });
  await step(`importing ${ACTIVITIES} activities`, () => follow(client, id));
}

async function connect(client, simulator) {
  const vendorAthlete = await control(simulator, 'athletes', { provider: 'strava', activities: ACTIVITIES });
  const { authorize_url: authorizeUrl } = await call(client, 'POST', '/v1/connections/strava', {});
  const consent = await fetch(`${authorizeUrl}&athlete_id=${vendorAthlete.id}`, { redirect: 'manual' });
  const callback = await fetch(consent.headers.get('location') ?? '', { redirect: 'manual' });
  if (callback.status >= 400)
    throw new Failure(`The demo athlete could not be connected: ${await callback.text()}`);
}

/** Says how far it is, each change of state and otherwise once a second. */
async function follow(client, id) {
  let toldStatus;
  let toldAt = 0;
  for (;;) {
    const { status, message } = await call(client, 'GET', `/v1/imports/${id}`);
    if (status !== toldStatus || Date.now() - toldAt > TELL_AGAIN_MS) {
      say(`  ${message}`);
      toldStatus = status;
      toldAt = Date.now();
    }
    if (!UNFINISHED.includes(status)) return;
    await pause(LOOK_AGAIN_MS);
  }
}

async function call({ api, token }, method, path, body) {
  const answer = await fetch(`${api}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Failure(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function control(simulator, path, body) {
  const answer = await fetch(`${simulator}/__sim/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Failure(`simulator ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
