import { Inject, Injectable } from '@nestjs/common';
import { type JsMsg } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import {
  CORE_STREAM,
  Database,
  deleteMessages,
  DLQ_STREAM,
  storedMessages,
  NATS,
  newestMessageAt,
  receivedAt,
} from '#platform';
import { sleepNormalizedStored, sleepRemoved } from '../contract/night-events.js';
import { NATIVE_VENDORS } from '../contract/native-vendor.js';
import { type NightSource } from '../normalise/session.js';
import { endErasures } from './erasures.js';
import { type NamedPerson, personNamedIn } from './person-named-in.js';
import { UnpublishedNights } from './unpublished-nights.js';

/** A deletion whose rows in Postgres are deleted already. Without a provider the whole account is deleted. */
interface Departure {
  readonly athlete_id: string;
  readonly subject: string | null;
  readonly provider: string | null;
  readonly accounts: Readonly<Record<string, string>>;
  readonly rows_deleted_at: Date;
}

type Count<Counted> = (departure: Counted, deleted: number) => Promise<void>;

const DEAD_LETTERS = { stream: DLQ_STREAM, subject: 'dlq.>' };
// `ChangeRemains` deletes `athlete-ally.changes.>`.
const EVENTS = { stream: CORE_STREAM, subject: 'athlete-ally.sleep.>' };
// Dead letters are read before the events, because a dead letter replayed after the pass over the events would be missed. They are read
// again afterwards, because an event may become a dead letter during that pass.
const PASSES = [DEAD_LETTERS, EVENTS, DEAD_LETTERS];

/**
 * Erases the messages in NATS about people whose rows are deleted, and then publishes `removed` for their nights.
 *
 * Each pass reads a whole stream for all deletions: NATS subjects name no person, and stored sequences are wrong after a fail-over.
 * `removed` messages are not erased. Without its `removed` message, a consumer that is behind would keep a night. A `removed` message has
 * only user and date, and NATS deletes it after seven days. Not guaranteed: a worker that handles a message during all passes may publish
 * or dead-letter a message afterwards. Its stream keeps that message for the usual time, and no row is made from it.
 */
@Injectable()
export class SleepRemains {
  readonly name = 'sleep_messages';

  constructor(
    @Inject(NATS) private readonly connection: NatsConnection,
    private readonly database: Database,
    private readonly unpublished: UnpublishedNights,
  ) {}

  async erase<Counted extends Departure>(
    departures: readonly Counted[],
    count: Count<Counted>,
  ): Promise<void> {
    const known = departures.filter(
      ({ provider }) => provider === null || NATIVE_VENDORS.some((vendor) => vendor === provider),
    );
    if (known.length === 0) return;
    const index = new DepartureIndex(known, await this.erasuresOf(known));
    for (const pass of PASSES)
      for await (const batch of storedMessages(this.connection, pass))
        for (const [departure, messages] of index.ownersOf(batch)) {
          const seqs = (await this.withoutPresentNights(departure, messages)).map(({ seq }) => seq);
          const deleted = await deleteMessages(this.connection, pass.stream, seqs);
          if (deleted > 0) await count(departure, deleted);
        }
    await this.unpublished.runOnce();
  }

  /**
   * All messages that the stream has now are from before the deletions. If the stream was created again and is empty, a dead letter may still
   * be replayed.
   */
  private async erasuresOf(departures: readonly Departure[]): Promise<readonly Erasure[]> {
    const userIds = departures.flatMap(({ subject }) => subject ?? []);
    const { rows: asked } = await this.database.query<{ at: string }>('select clock_timestamp()::text as at');
    const askedAt = asked[0]?.at ?? '';
    const newest =
      (await newestMessageAt(this.connection, CORE_STREAM)) ??
      (await newestMessageAt(this.connection, DLQ_STREAM)) ??
      new Date(0);
    await endErasures(this.database, userIds, { askedAt, newest });
    const { rows } = await this.database.query<Erasure>(
      'select user_id as "userId", source, received_until as until from sleep_erasure where user_id = any($1)',
      [userIds],
    );
    return rows;
  }

  /**
   * An athlete who has disconnected one vendor may keep nights of another vendor. The messages with the present state of those nights must
   * stay. The rows are read after the messages, because a night is stored before it is published.
   */
  private async withoutPresentNights(
    { provider, subject }: Departure,
    messages: readonly JsMsg[],
  ): Promise<readonly JsMsg[]> {
    const isStored = (message: JsMsg) => message.subject === sleepNormalizedStored.name;
    if (provider === null || subject === null || !messages.some(isStored)) return messages;
    const present = await this.presentNights(subject);
    return messages.filter((message) => !isStored(message) || !present.has(nightOf(message)));
  }

  private async presentNights(userId: string): Promise<ReadonlySet<string>> {
    const { rows } = await this.database.query<PresentNight>(
      `select
         user_id as "userId", to_char(date, 'YYYY-MM-DD') as date, duration_minutes as "durationMinutes", vendor,
         captured_at as "capturedAt"
       from sleep_data
       where user_id = $1`,
      [userId],
    );
    return new Set(rows.map(nameOf));
  }
}

interface PresentNight {
  readonly userId: string;
  readonly date: string;
  readonly durationMinutes: number;
  readonly vendor: string;
  readonly capturedAt: Date | string;
}

const nameOf = ({ userId, date, durationMinutes, vendor, capturedAt }: PresentNight) =>
  [userId, date, durationMinutes, vendor, new Date(capturedAt).getTime()].join('\n');

function nightOf(message: JsMsg): string {
  const person = personNamedIn(message.string());
  return person.kind === 'user' ? nameOf(person.night) : '';
}

/** Events of this source that were received until then are erased. */
interface Erasure {
  readonly userId: string;
  readonly source: NightSource;
  readonly until: Date;
}

/** Finds the deletion that a message belongs to with one lookup. Only an unreadable message is compared with each deletion. */
class DepartureIndex<Counted extends Departure> {
  private readonly bySubject = new Map<string, Counted[]>();
  private readonly byAccount = new Map<string, Counted[]>();
  private readonly untils: ReadonlyMap<string, Date>;

  constructor(
    private readonly departures: readonly Counted[],
    erasures: readonly Erasure[],
  ) {
    this.untils = new Map(erasures.map(({ userId, source, until }) => [`${userId}\n${source}`, until]));
    for (const departure of departures) {
      const { subject, accounts } = departure;
      if (subject !== null) add(this.bySubject, subject, departure);
      for (const [vendor, account] of Object.entries(accounts))
        add(this.byAccount, `${vendor}\n${account}`, departure);
    }
  }

  ownersOf(batch: readonly JsMsg[]): ReadonlyMap<Counted, JsMsg[]> {
    const owners = new Map<Counted, JsMsg[]>();
    for (const message of batch) {
      if (message.subject === sleepRemoved.name) continue;
      const person = personNamedIn(message.string());
      const owner = this.candidates(person).find((departure) =>
        this.isFromBefore(departure, message, person),
      );
      if (owner) add(owners, owner, message);
    }
    return owners;
  }

  /**
   * The clock of NATS tells which messages were stored before an account was deleted. A message that was stored later may still be about an
   * event from before. Its header says when that was received, by the clock of its source.
   */
  private isFromBefore(departure: Counted, { headers, time }: JsMsg, person: NamedPerson): boolean {
    const { provider } = departure;
    if (provider === null && time <= this.untilOf(departure, 'ingest')) return true;
    const vendor = person.kind === 'user' ? person.vendor : undefined;
    const source = provider ?? NATIVE_VENDORS.find((one) => one === vendor) ?? 'ingest';
    return receivedAt(headers, time) <= this.untilOf(departure, source);
  }

  private untilOf({ subject, rows_deleted_at }: Counted, source: string): Date {
    return this.untils.get(`${subject}\n${source}`) ?? rows_deleted_at;
  }

  private candidates(person: NamedPerson): readonly Counted[] {
    switch (person.kind) {
      case 'account':
        return this.byAccount.get(`${person.vendor}\n${person.account}`) ?? [];
      case 'user':
        return (this.bySubject.get(person.night.userId) ?? []).filter(
          ({ provider }) => provider === null || provider === person.vendor,
        );
      case 'unreadable':
        return this.departures.filter(
          ({ provider, subject }) => provider === null && subject !== null && person.mentions(subject),
        );
    }
  }
}

function add<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}
