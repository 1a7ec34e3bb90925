import { type Pool } from 'pg';
import { connectNats, CORE_STREAM, DLQ_STREAM, storedMessages } from '#platform';
import { type World } from '../../harness/world.js';
import { type Arrival, committedIds, judge, logOf, withdrawnIds } from '../ledger.js';
import { type Account, type VendorRecords } from './accounts.js';
import { activityLine, nightLine } from './copy.js';
import { type Followers } from './followers.js';
import { type PulseNights } from './pulse-nights.js';

/** One comparison: how many records were compared, and how many differ. `examples` names some of them. */
export interface Line {
  readonly what: string;
  readonly tried: number;
  readonly lost: number;
  readonly doubled: number;
  /** Another content, or something that the other side does not have. */
  readonly wrong: number;
  readonly examples: readonly string[];
}

export const isWrong = ({ lost, doubled, wrong }: Line): boolean => lost + doubled + wrong > 0;

interface Night {
  readonly minutes: number;
  readonly score: number | null;
}

interface Compared {
  readonly pool: Pool;
  readonly world: World;
  readonly natsUrls: readonly string[];
  readonly accounts: readonly Account[];
  readonly pulse: Pick<PulseNights, 'athletes' | 'last'>;
  readonly followers: Followers;
  readonly unreadable: readonly string[];
  /** Athletes whose account was deleted. */
  readonly deleted: readonly string[];
}

/** Compares the vendors' data with the database, and the database with what every follower has got, id by id. */
export class Oracle {
  constructor(private readonly compared: Compared) {}

  async lines(): Promise<Line[]> {
    const { accounts } = this.compared;
    const kept = accounts.filter(({ wanted }) => wanted === 'connected');
    const records = new Map<Account, VendorRecords>();
    for (const account of kept) records.set(account, await account.atVendor());
    return [
      ...(await this.ofActivities(records)),
      await this.ofJobs(),
      await this.ofNights(records),
      await this.ofPosts(),
      await this.ofLeavers(),
      await this.ofDeleted(),
      await this.ofDeadLetters(),
      await this.ofNightEvents(),
      ...(await this.ofChanges()),
      await this.ofCopy(),
    ];
  }

  private async ofActivities(records: ReadonlyMap<Account, VendorRecords>): Promise<Line[]> {
    const [activities, streams] = [new Tally('activities at the vendors'), new Tally('streams')];
    for (const [account, { activities: all }] of records) {
      if (!account.hasActivities) continue;
      const { athlete, provider } = account;
      const rows = await this.rows<{ id: string; name: string; streams: string }>(
        `select external_activity_id as id, name, stream_fetch_status as streams from activity where athlete_id = $1 and provider = $2`,
        [athlete, provider],
      );
      const stored = new Map(rows.map((row) => [row.id, row]));
      activities.doubled += rows.length - stored.size;
      const shown = all.filter((one) => account.seesPrivate || !one.private);
      for (const { id, name, has_streams } of shown) {
        const row = stored.get(id);
        const label = `${provider} ${id} of ${athlete}`;
        if (!row) activities.miss(label);
        // Polar's activities have no name of their own.
        else if (provider === 'strava' && row.name !== name)
          activities.fault(`${label}: ${row.name} is ${name}`);
        else activities.tried += 1;
        if (!row) continue;
        if (!has_streams || row.streams === 'success') streams.tried += 1;
        else streams.miss(`${label}: ${row.streams}`);
        stored.delete(id);
      }
      for (const id of stored.keys()) activities.fault(`${provider} ${id} of ${athlete} is not shown there`);
    }
    return [activities, streams];
  }

  /** Each activity whose streams are settled is processed, and no job has succeeded twice. */
  private async ofJobs(): Promise<Line> {
    const tally = new Tally('activities processed');
    const rows = await this.rows<{ id: string; is_done: boolean }>(
      `select activity.id, processed_activities.activity_id is not null as is_done
       from activity left join processed_activities on processed_activities.activity_id = activity.id`,
    );
    for (const { id, is_done } of rows)
      if (is_done) tally.tried += 1;
      else tally.miss(id);
    const doubled = await this.rows(
      "select from runs where status = 'succeeded' group by job_id having count(*) > 1",
    );
    tally.doubled += doubled.length;
    return tally;
  }

  private async ofNights(records: ReadonlyMap<Account, VendorRecords>): Promise<Line> {
    const tally = new Tally('nights at the vendors');
    for (const athlete of new Set([...records.keys()].map((account) => account.athlete))) {
      const expected = new Map<string, Night>();
      for (const [account, { nights }] of records)
        if (account.athlete === athlete)
          for (const { date, duration_minutes: minutes, score, counts } of nights)
            if (counts && minutes > (expected.get(date)?.minutes ?? -1))
              expected.set(date, { minutes, score });
      const rows = await this.rows<Night & { date: string }>(
        'select date::text, duration_minutes as minutes, quality_score as score from sleep_data where user_id = $1',
        [athlete],
      );
      const stored = new Map(rows.map((row) => [row.date, row]));
      for (const [date, { minutes, score }] of expected) {
        const row = stored.get(date);
        stored.delete(date);
        if (!row) tally.miss(`${athlete} ${date}`);
        else if (row.minutes !== minutes || row.score !== score)
          tally.fault(`${athlete} ${date}: ${row.minutes}, ${row.score} is ${minutes}, ${score}`);
        else tally.tried += 1;
      }
      for (const date of stored.keys()) tally.fault(`${athlete} ${date} is at no vendor`);
    }
    return tally;
  }

  private async ofPosts(): Promise<Line> {
    const tally = new Tally('nights that an app posted');
    const rows = await this.rows<{ night: string; minutes: number }>(
      "select concat_ws(' ', user_id, date) as night, duration_minutes as minutes from sleep_data where user_id = any($1)",
      [this.compared.pulse.athletes],
    );
    const stored = new Map(rows.map(({ night, minutes }) => [night, minutes]));
    for (const [night, minutes] of this.compared.pulse.last)
      if (!stored.has(night)) tally.miss(night);
      else if (stored.get(night) !== minutes) tally.fault(`${night}: ${stored.get(night)} is ${minutes}`);
      else tally.tried += 1;
    return tally;
  }

  /** An athlete who has ended the access is not connected. Without a connection there is no data of that vendor. */
  private async ofLeavers(): Promise<Line> {
    const tally = new Tally('accounts that left');
    for (const { athlete, provider, wanted } of this.compared.accounts) {
      if (wanted === 'connected') continue;
      const values = [athlete, provider];
      const [connection] = await this.rows<{ status: string }>(
        'select status from connection where athlete_id = $1 and provider = $2',
        values,
      );
      const left = await this.rows(
        `select from activity where athlete_id = $1 and provider = $2
         union all select from sleep_data where user_id = $1::text and vendor = $2`,
        values,
      );
      if (connection?.status === 'active') tally.fault(`${provider} of ${athlete} is still connected`);
      else if (!connection && left.length > 0)
        tally.fault(`${left.length} rows of ${provider} of ${athlete} are left`);
      else tally.tried += 1;
    }
    return tally;
  }

  private async ofDeleted(): Promise<Line> {
    const tally = new Tally('deleted athletes');
    for (const athlete of this.compared.deleted) {
      const left = await this.rows(
        `select from athlete where id::text = $1
         union all select from activity where athlete_id::text = $1
         union all select from connection where athlete_id::text = $1
         union all select from sleep_data where user_id = $1
         union all select from receipt where athlete_id::text = $1 and completed_at is null`,
        [athlete],
      );
      if (left.length > 0) tally.fault(`${left.length} rows of ${athlete} are left`);
      else tally.tried += 1;
    }
    return tally;
  }

  /** Each message that nobody can read is a dead letter, once, however often it was replayed; nothing else is. */
  private async ofDeadLetters(): Promise<Line> {
    const tally = new Tally('unreadable messages');
    const letters = (await this.messages('dlq.>', DLQ_STREAM)).map(({ text }) => text);
    const known = new Set<string>();
    for (const mark of this.compared.unreadable) {
      const found = letters.filter((text) => text.includes(mark));
      found.forEach((text) => known.add(text));
      if (found.length === 0) tally.miss(mark);
      else tally.tried += 1;
      tally.doubled += Math.max(0, found.length - 1);
    }
    for (const text of letters) if (!known.has(text)) tally.fault(text.slice(0, 300));
    return tally;
  }

  /** The last event about each night on NATS says what the database says. */
  private async ofNightEvents(): Promise<Line> {
    const tally = new Tally('nights as NATS last told them');
    const last = new Map<string, string | undefined>();
    for (const { text, subject } of await this.messages('athlete-ally.sleep.*')) {
      if (subject.endsWith('raw-received')) continue;
      const { record } = JSON.parse(text) as {
        record: { userId: string; date: string; durationMinutes?: number; vendor?: string };
      };
      const told = subject.endsWith('removed') ? undefined : `${record.durationMinutes} ${record.vendor}`;
      last.set(`${record.userId} ${record.date}`, told);
    }
    const rows = await this.rows<{ night: string; told: string }>(
      "select concat_ws(' ', user_id, date) as night, concat_ws(' ', duration_minutes, vendor) as told from sleep_data",
    );
    for (const { night, told } of rows) {
      if (!last.has(night)) tally.miss(night);
      else if (last.get(night) !== told) tally.fault(`${night}: told ${last.get(night)}, is ${told}`);
      else tally.tried += 1;
      last.delete(night);
    }
    for (const [night, told] of last) if (told) tally.fault(`${night} is told and gone`);
    return tally;
  }

  private async ofChanges(): Promise<Line[]> {
    const { pool, followers } = this.compared;
    const committed = await committedIds(pool);
    const log = await logOf(pool);
    const withdrawn = await withdrawnIds(pool);
    const verdict = (reader: string, arrivals: readonly Arrival[], isOrdered: boolean): Line => {
      const got = new Set(arrivals.map(({ id }) => id));
      // A deletion takes changes back, also those that a reader has not got yet.
      const isExpected = (id: string) => got.has(id) || !withdrawn.has(id);
      const expected = new Set([...committed].filter(isExpected));
      const found = judge(reader, arrivals, expected, isOrdered ? log.filter(isExpected) : undefined);
      return {
        ...{ what: reader, tried: expected.size, lost: found.lost, examples: [] },
        doubled: isOrdered ? found.doubled : 0,
        wrong: found.invented + found.disordered,
      };
    };
    const logged = log.map((id) => ({ id, subject: id, revision: 1 }));
    return [
      verdict('changes in the log', logged, false),
      verdict('GET /v1/changes', followers.feed.arrivals, true),
      verdict('GET /v1/events', followers.events.arrivals, true),
      verdict('changes on NATS', followers.nats.arrivals, false),
      ...followers.endpoints.map(([name, { arrivals }]) => verdict(name, arrivals, false)),
    ];
  }

  private async ofCopy(): Promise<Line> {
    const tally = new Tally('a copy kept by reading changes');
    const activities = await this.rows<Parameters<typeof activityLine>[0]>(
      'select athlete_id, id, provider, external_activity_id, name, stream_fetch_status from activity',
    );
    const nights = await this.rows<Parameters<typeof nightLine>[0]>(
      `select athlete.id as athlete_id, date::text, duration_minutes, quality_score, vendor
       from sleep_data join athlete on athlete.subject = sleep_data.user_id`,
    );
    const copied = new Set(this.compared.followers.copy.lines());
    for (const line of [...activities.map(activityLine), ...nights.map(nightLine)])
      if (copied.delete(line)) tally.tried += 1;
      else tally.miss(line);
    for (const line of copied) tally.fault(line);
    return tally;
  }

  private async messages(
    subject: string,
    stream = CORE_STREAM,
  ): Promise<{ text: string; subject: string }[]> {
    const connection = await connectNats({ urls: this.compared.natsUrls }, 'oracle');
    try {
      const all = [];
      for await (const batch of storedMessages(connection, { stream, subject }))
        all.push(...batch.map((message) => ({ text: message.string(), subject: message.subject })));
      return all;
    } finally {
      await connection.close();
    }
  }

  private async rows<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.compared.pool.query<Row>(text, values)).rows;
  }
}

const MOST_EXAMPLES = 5;

class Tally implements Line {
  tried = 0;
  lost = 0;
  doubled = 0;
  wrong = 0;
  readonly examples: string[] = [];

  constructor(readonly what: string) {}

  miss(example: string): void {
    this.tried += 1;
    this.lost += 1;
    if (this.examples.length < MOST_EXAMPLES) this.examples.push(`lost: ${example}`);
  }

  fault(example: string): void {
    this.tried += 1;
    this.wrong += 1;
    if (this.examples.length < MOST_EXAMPLES) this.examples.push(`wrong: ${example}`);
  }
}
