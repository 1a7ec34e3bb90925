import { type ObjectType, type VendorId, vendorsWith } from '#vendors';
import { adaptorOf } from './vendor-adaptors.js';
import { type World } from './world.js';

/** An athlete of ours with an account at a simulated vendor. */
export interface Person {
  readonly vendor: VendorId;
  /** The subject of the athlete's tokens. */
  readonly athlete: string;
  readonly vendorAthleteId: string;
}

/** A record as the simulator made it. */
export interface TrueRecord {
  readonly id: string;
  /** The text by which the public API shows this record. */
  readonly shownAs: string;
}

/** A kind of record that vendors have. Its rows and routes are the same for all of them. */
export interface RecordKind {
  readonly objectType: ObjectType;
  /** Makes the athlete's record number `index` at the vendor; the vendor sends its event. */
  make(world: World, person: Person, index: number): Promise<TrueRecord>;
  /** The ids of the records that we have from this vendor, each as often as it is stored. */
  stored(world: World, person: Person): Promise<string[]>;
  /** The ids of the records that have all their parts, such as an activity's streams. */
  complete(world: World, person: Person): Promise<string[]>;
  /** The stored records by the public API. */
  shown(world: World, person: Person): Promise<string[]>;
  /** True once the first listing of the vendor's records is done. */
  isListed(world: World, person: Person): Promise<boolean>;
  /** Makes the athlete's next reconciliation due now. */
  makeReconciliationDue(world: World, person: Person): Promise<unknown>;
}

const DAY_MS = 86_400_000;

interface Listed<Item> {
  readonly items: readonly Item[];
}

const activity: RecordKind = {
  objectType: 'activity',
  async make(world, { vendorAthleteId: athlete_id, vendor: provider }) {
    const { id } = await world.control<{ id: string }>('POST', 'activities', {
      athlete_id,
      provider,
      duration_s: 1_200,
    });
    return { id, shownAs: id };
  },
  stored: (world, person) => storedActivities(world, person),
  complete: (world, person) =>
    storedActivities(
      world,
      person,
      vendorsWith('streams').includes(person.vendor) ? "stream_fetch_status = 'success'" : 'true',
    ),
  async shown(world, { athlete, vendor }) {
    type Shown = { readonly provider: string; readonly external_activity_id: string };
    const { body } = await world.call<Listed<Shown>>(athlete, 'GET', '/v1/activities?limit=200');
    return body.items
      .filter(({ provider }) => provider === vendor)
      .map(({ external_activity_id }) => external_activity_id);
  },
  async isListed(world, { athlete, vendor }) {
    const rows = await world.rows(
      `select 1
       from activity_sync join athlete on athlete.id = activity_sync.athlete_id
       where athlete.subject = $1 and provider = $2 and last_sync_at is not null`,
      [athlete, vendor],
    );
    return rows.length > 0;
  },
  makeReconciliationDue: (world, { athlete, vendor }) =>
    world.rows(
      `update activity_sync
       set last_sync_at = now() - interval '9 days', reconciled_at = null, whole_history_reconciled_at = null,
         reconcile_after = null
       from athlete
       where athlete.id = activity_sync.athlete_id and subject = $1 and provider = $2`,
      [athlete, vendor],
    ),
};

const night: RecordKind = {
  objectType: 'sleep',
  async make(world, { vendorAthleteId: athlete_id, vendor: provider }, index) {
    const date = new Date(Date.now() - (index + 2) * DAY_MS).toISOString().slice(0, 10);
    const order = { athlete_id, provider, date, duration_minutes: 400 + index, score: 50 + index };
    const made = await world.control<{ id: string; date: string }>('POST', 'sleep', order);
    return { id: adaptorOf(provider).namesNightsByDate ? made.date : made.id, shownAs: made.date };
  },
  stored: storedNights,
  complete: storedNights,
  async shown(world, { athlete, vendor: own }) {
    type Shown = { readonly vendor: string; readonly date: string };
    const { body } = await world.call<Listed<Shown>>(athlete, 'GET', '/v1/sleep');
    return body.items.filter(({ vendor }) => vendor === own).map(({ date }) => date);
  },
  async isListed(world, { athlete, vendor }) {
    const rows = await world.rows(
      `select 1
       from sleep_comparison
       join connection on connection.id = connection_id
       join athlete on athlete.id = connection.athlete_id
       where subject = $1 and connection.provider = $2 and compared_at is not null and begun_at is null`,
      [athlete, vendor],
    );
    return rows.length > 0;
  },
  makeReconciliationDue: (world, { athlete, vendor }) =>
    world.rows(
      `update sleep_comparison
       set compared_at = compared_at - interval '2 days', next_at = clock_timestamp()
       from connection join athlete on athlete.id = connection.athlete_id
       where connection.id = connection_id and subject = $1 and connection.provider = $2`,
      [athlete, vendor],
    ),
};

function storedActivities(world: World, { athlete, vendor }: Person, condition = 'true'): Promise<string[]> {
  const statement = `
    select external_activity_id as id
    from activity join athlete on athlete.id = activity.athlete_id
    where athlete.subject = $1 and activity.provider = $2 and detail_status = 'stored' and ${condition}`;
  return ids(world, statement, [athlete, vendor]);
}

function storedNights(world: World, { athlete, vendor }: Person): Promise<string[]> {
  const statement =
    "select record_id as id from sleep_session where user_id = $1 and source = $2 and state = 'scored'";
  return ids(world, statement, [athlete, vendor]);
}

async function ids(world: World, text: string, values: unknown[]): Promise<string[]> {
  const rows = await world.rows<{ id: string }>(text, values);
  return rows.map(({ id }) => id);
}

/** The kinds of records by the capability that brings them. */
export const RECORD_KINDS = { activities: activity, sleep: night } as const;
