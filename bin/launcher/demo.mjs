// The demo of `npm start`: an athlete who is connected to every vendor of the simulator, with a history to import and with nights.
import { call, control } from './api-call.mjs';
import { DemoWatch, USABLE_WITH } from './demo-watch.mjs';
import { environment, Failure, isTerminal, step } from './terminal.mjs';

/*
 * The import makes one call for each activity and the backfill one for each activity with streams. Strava allows 1,000 calls a day. So 900
 * activities take two days, which are two minutes with TIME_SCALE=900. This is for a person who watches: once a day's calls are used
 * up, every other import waits for the next day too. A program that reads a pipe gets 240 activities, which take half a day's calls.
 */
const ACTIVITIES = isTerminal ? 900 : USABLE_WITH;
// One person at all vendors: Jonas of Girona, a runner and cyclist with a power meter. Athletes without a seed get the seeds 1, 2, 3 …
const SEED = 39;
const DAY_MS = 86_400_000;

// Connected first: the nights of the others come after the import, because they would delay it.
const strava = { provider: 'strava', records: { activities: ACTIVITIES } };
// Polar shows nothing that was recorded before the connection. If a run ends before these nights, the next one finds Oura missing.
const polar = { provider: 'polar', records: { activities: 0, nights: 0 }, nightsAfter: [1, 2, 3, 6, 7, 10] };
const oura = { provider: 'oura', records: { nights: 75 } };
// WHOOP and Polar record some of the nights that Oura records too.
const whoop = {
  provider: 'whoop',
  records: { nights: 0 },
  nightsBefore: [1, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15],
};

/** Makes a call as each athlete, because Pacekeeper creates an athlete at the first call. */
export async function createAthletes({ api, tokens }) {
  for (const token of [tokens.athlete, tokens.other]) await call({ api, token }, 'GET', '/v1/me');
}

/**
 * Connects the first athlete to the vendors that are missing. If Strava was missing, its import begins, and this waits until Pacekeeper is
 * usable. An import that a former run has begun goes on by itself. The result shows what is left.
 * `context` has `timeScale` and the `children` of the run.
 */
export async function startDemo(description, context) {
  const { api, simulator, tokens } = description;
  const client = { api, token: tokens.athlete };
  const { items: connected } = await call(client, 'GET', '/v1/connections');
  const idAt = (provider) => connected.find((one) => one.provider === provider)?.vendor_athlete_id;
  const isMissing = ({ provider }) => isSimulated(provider) && !idAt(provider);
  const setUp = async (account) => {
    const id = idAt(account.provider) ?? (await connect(client, simulator, account));
    // A night with the same date replaces the first one.
    await addNights(simulator, id, account.provider, account.nightsAfter);
  };

  const watch = new DemoWatch(description, context);
  if (isMissing(strava)) {
    await step('connecting a demo athlete', () => setUp(strava));
    // The connection has begun an import, which this request returns. Without it, this request begins one.
    await call(client, 'POST', '/v1/imports', { type: 'full', provider: strava.provider });
    await watch.untilUsable(`importing ${ACTIVITIES} activities`);
  }
  const wearables = [polar, oura, whoop];
  if (wearables.some(isMissing))
    await step('connecting Polar, Oura, WHOOP', async () => {
      for (const account of wearables) if (isSimulated(account.provider)) await setUp(account);
    });
  return watch;
}

/** False if the environment names one of the vendor's URLs: the demo connects no real vendor. */
function isSimulated(provider) {
  const urlOf = new RegExp(`^${provider}_(API|OAUTH|TOKEN)_URL$`, 'i');
  return !Object.keys(environment).some((name) => urlOf.test(name));
}

async function connect(client, simulator, { provider, records, nightsBefore }) {
  const { id } = await control(simulator, 'athletes', { provider, seed: SEED, ...records });
  await addNights(simulator, id, provider, nightsBefore);
  const { authorize_url: authorizeUrl } = await call(client, 'POST', `/v1/connections/${provider}`, {});
  const consent = await fetch(`${authorizeUrl}&athlete_id=${id}`, { redirect: 'manual' });
  const callback = await fetch(consent.headers.get('location') ?? '', {
    redirect: 'manual',
    headers: { accept: 'application/json' },
  });
  if (!callback.ok)
    throw new Failure(`The demo athlete could not be connected to ${provider}: ${await callback.text()}`);
  const { confirm } = await callback.json();
  await call(client, 'POST', `/v1/connections/${provider}/confirm`, { confirm });
  return id;
}

async function addNights(simulator, athleteId, provider, daysAgo = []) {
  const dates = daysAgo.map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10));
  await Promise.all(
    dates.map((date) => control(simulator, 'sleep', { athlete_id: athleteId, provider, date })),
  );
}
