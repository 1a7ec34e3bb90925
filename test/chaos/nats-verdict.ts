import { type Pool } from 'pg';
import { connectNats, CORE_STREAM, DLQ_STREAM, storedMessages } from '#platform';
import { type NatsConnection } from '@nats-io/transport-node';
import { arrivalOf } from './change-readers.js';
import { type Arrival, committedIds, judge, logOf } from './ledger.js';
import { type SleepLoad } from './sleep-load.js';

const RAW = 'athlete-ally.sleep.raw-received';
const STORED = 'athlete-ally.sleep.normalized-stored';
const CHANGES = 'athlete-ally.changes.>';

/** `mustBeZero`: another number is a bug. NATS may have a message twice, because delivery is at least once. */
export interface Count {
  readonly what: string;
  readonly count: number;
  readonly mustBeZero: boolean;
}

const figure = (what: string, count: number): Count => ({ what, count, mustBeZero: false });
const bug = (what: string, count: number): Count => ({ what, count, mustBeZero: true });

/** Compares what was acknowledged, what the vendors have and what was committed with the database and with NATS, id by id. */
export async function verdict(pool: Pool, natsUrls: readonly string[], load: SleepLoad): Promise<Count[]> {
  const connection = await connectNats({ urls: natsUrls }, 'verdict');
  try {
    return [...(await ofNights(pool, connection, load)), ...(await ofChanges(pool, connection))];
  } finally {
    await connection.close();
  }
}

/** Acknowledged nights that are not in the database; with `first`, only the oldest that many are looked for. */
export async function missing(pool: Pool, load: SleepLoad, first = Infinity): Promise<number> {
  const { rows } = await pool.query<{ user_id: string }>('select user_id from sleep_data');
  const stored = new Set(rows.map(({ user_id }) => user_id));
  return [...load.acknowledged.keys()].slice(0, first).filter((user) => !stored.has(user)).length;
}

/** Nights that a vendor has announced and that are not in the database. */
export async function missingOfVendors(pool: Pool, load: SleepLoad): Promise<number> {
  const { rows } = await pool.query<{ night: string }>(
    "select concat_ws(' ', user_id, date, duration_minutes) as night from sleep_data",
  );
  const stored = new Set(rows.map(({ night }) => night));
  return load.vendorNights.filter(
    ({ athlete, date, minutes }) => !stored.has(`${athlete} ${date} ${minutes}`),
  ).length;
}

async function ofNights(pool: Pool, connection: NatsConnection, load: SleepLoad): Promise<Count[]> {
  const received = counted(
    (await messagesOn(connection, RAW)).map((message) => message.json<{ eventId: string }>().eventId),
  );
  const stored = await messagesOn(connection, STORED);
  const announced = new Set(stored.map((message) => nameOf(message.json<{ record: Night }>().record)));
  const dead = await messagesOn(connection, 'dlq.>', DLQ_STREAM);
  const { rows: nights } = await pool.query<Night & { readonly event_id: string }>(
    `select user_id as "userId", date::text, duration_minutes as "durationMinutes", event_id from sleep_data`,
  );
  const { rows: doubled } = await pool.query(
    "select from sleep_session where state = 'scored' group by user_id, date having count(*) > 1",
  );
  const events = new Map(nights.map(({ userId, event_id }) => [userId, event_id]));
  const acknowledged = [...load.acknowledged];
  // The writer of changes stores nights of its own, which no event announces.
  const sent = new Set(load.vendorNights.map(({ athlete, date }) => `${athlete} ${date}`));
  const ours = nights.filter(
    ({ userId, date }) => load.acknowledged.has(userId) || sent.has(`${userId} ${date}`),
  );
  return [
    figure('ingest requests that were acknowledged', acknowledged.length),
    bug('… and whose night the database lacks', await missing(pool, load)),
    bug('… or has with another event', acknowledged.filter(([user, id]) => events.get(user) !== id).length),
    bug('… or that NATS lacks', acknowledged.filter(([, id]) => !received.has(id)).length),
    figure('… or has twice', repeatedIn(received)),
    figure('nights that vendors announced', load.vendorNights.length),
    bug('… and that the database lacks', await missingOfVendors(pool, load)),
    bug('nights that the database has twice', doubled.length),
    bug(
      'nights in the database that NATS lacks',
      ours.filter((night) => !announced.has(nameOf(night))).length,
    ),
    figure('… or has more than once', stored.length - announced.size),
    bug('dead letters', dead.length),
  ];
}

async function ofChanges(pool: Pool, connection: NatsConnection): Promise<Count[]> {
  const committed = await committedIds(pool);
  const onNats = judge('NATS', (await messagesOn(connection, CHANGES)).map(arrivalIn), committed);
  const log = judge('the log', (await logOf(pool)).map(logged), committed);
  return [
    figure('changes that were committed', committed.size),
    bug('… and that the log lacks', log.lost),
    bug('… or has twice', log.doubled),
    bug('… or that NATS lacks', onNats.lost),
    figure('… or has twice', onNats.doubled),
    bug('changes on NATS that were never committed', onNats.invented),
  ];
}

async function messagesOn(connection: NatsConnection, subject: string, stream = CORE_STREAM) {
  const all = [];
  for await (const batch of storedMessages(connection, { stream, subject })) all.push(...batch);
  return all;
}

interface Night {
  readonly userId: string;
  readonly date: string;
  readonly durationMinutes: number;
}

const nameOf = ({ userId, date, durationMinutes }: Night): string => `${userId} ${date} ${durationMinutes}`;
const arrivalIn = (message: { json<T>(): T }): Arrival => arrivalOf(message.json());
const logged = (id: string): Arrival => ({ id, subject: id, revision: 1 });

function counted(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

const repeatedIn = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
