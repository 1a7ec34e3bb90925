import { eventually } from '../harness/eventually.js';
import { CLIENT } from '../harness/simulator.js';
import { type World } from '../harness/world.js';

const DEADLINE_MS = 300_000;

export interface Athlete {
  readonly id: string;
  readonly vendorId: string;
}

interface Expected {
  readonly athletes: readonly Athlete[];
  /** Ids of the events of nights that an answer has acknowledged. */
  readonly nights: ReadonlySet<string>;
  /** Ids of activities that were uploaded at the vendor. */
  readonly uploads: ReadonlySet<string>;
}

/** Waits for all that is on its way, and counts what the vendor has, or an answer acknowledged, and our database lacks. */
export async function compareWithVendor(
  world: World,
  expected: Expected,
): Promise<Readonly<Record<string, number>>> {
  // If something is lost, the counts below say what.
  await eventually('everything has arrived', () => hasArrived(world, expected), DEADLINE_MS).catch(() =>
    console.log('not everything has arrived'),
  );
  // The vendor's own list comes last, because its token ends the product's.
  const atVendor = new Set<string>();
  for (const athlete of expected.athletes)
    for (const id of await idsAtVendor(world, athlete)) atVendor.add(id);
  const idsIn = async (statement: string) =>
    new Set((await world.rows<{ id: string }>(statement)).map(({ id }) => id));
  const activities = await idsIn('select external_activity_id as id from activity');
  const recorded = await idsIn(
    `select external_activity_id as id from activity where stream_fetch_status = 'success'`,
  );
  const nights = await idsIn('select event_id::text as id from sleep_data');
  const without = (wanted: ReadonlySet<string>, have: ReadonlySet<string>) =>
    [...wanted].filter((id) => !have.has(id)).length;
  return {
    'activities at the vendor': atVendor.size,
    '… uploaded meanwhile': expected.uploads.size,
    '… and missing here': without(new Set([...atVendor, ...expected.uploads]), activities),
    'activities without their streams': without(atVendor, recorded),
    'nights acknowledged': expected.nights.size,
    '… and missing from the table': without(expected.nights, nights),
  };
}

async function hasArrived(world: World, expected: Expected): Promise<boolean> {
  interface Overview {
    readonly athletes: ReadonlyArray<{ readonly id: string; readonly records: number }>;
  }
  const { athletes } = await world.control<Overview>('GET', 'overview');
  const ours = athletes.filter(({ id }) => expected.athletes.some(({ vendorId }) => vendorId === id));
  const atVendor = ours.reduce((sum, { records }) => sum + records, 0);
  const [here] = await world.rows<{ activities: number; waiting: number; nights: number }>(
    `select
       (select count(*) from activity)::int as activities,
       (select count(*) from activity where stream_fetch_status in ('pending', 'deferred'))::int as waiting,
       (select count(*) from sleep_data)::int as nights`,
  );
  return here?.activities === atVendor && here.waiting === 0 && here.nights >= expected.nights.size;
}

/** Lists the athlete's activities at the vendor with a token of its own. */
async function idsAtVendor(world: World, { id, vendorId }: Athlete): Promise<string[]> {
  const { body } = await world.call<{ authorize_url: string }>(id, 'POST', '/v1/connections/strava', {});
  const consent = await world.simulator.consent(body.authorize_url, { athlete_id: vendorId });
  const answer = await fetch(`${world.simulator.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      grant_type: 'authorization_code',
      code: consent.searchParams.get('code') ?? '',
    }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  const ids: string[] = [];
  for (let page = 1; ; page += 1) {
    const url = `${world.simulator.url}/api/v3/athlete/activities?per_page=200&page=${page}`;
    const list = await fetch(url, { headers: { authorization: `Bearer ${access_token}` } });
    if (!list.ok) throw new Error(`the vendor's list: ${list.status} ${await list.text()}`);
    const found = ((await list.json()) as Array<{ id: number }>).map((activity) => String(activity.id));
    if (found.length === 0) return ids;
    ids.push(...found);
  }
}
