import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { register } from 'prom-client';
import {
  type Clock,
  createLogger,
  createRedis,
  type Database,
  DependencyUnavailable,
  fenceRejected,
  type Logger,
  MessageMalformed,
  SignedTimes,
  type Sql,
  subscribeToWakeUps,
  SystemClock,
  timeScale,
  wakeUpPublisher,
  Worker,
} from '#platform';
import { type VendorId, VENDORS, vendorsWith, type Webhook, type WebhookDelivery } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { EventQueue, purgeEvents } from './event-queue.js';
import { EventRecords } from './event-records.js';
import { EventWork } from './event-work.js';
import {
  deliveryOf,
  floodOf,
  senderOf,
  SENDERS_CONFIG,
  SENDERS_SECRET,
  type SentEvent,
} from './events.harness.js';
import { done, type EventGroup, type HandlerAnswer } from './handlers.js';
import { WebhookInbox } from './webhook-inbox.js';
import { webhookEvents } from './webhook-metrics.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const OWNERS = [1, 2, 3, 4, 5, 10, 11];
const LIMIT = { kind: 'notNow', because: 'limit', retryAfterMs: 600_000, reason: 'full' } as const;
const OUTAGE = { kind: 'broken', because: 'outage', reason: 'status 503' } as const;
const NO_TOKEN = { ...LIMIT, because: 'tokenUnavailable' } as const;
const NO_BUDGET = { ...LIMIT, because: 'budgetUnavailable' } as const;
const MALFORMED = { kind: 'broken', because: 'malformed', reason: 'id: odd' } as const;
const REFUSED = { kind: 'refused', status: 403, reason: 'status 403' } as const;

/** Inserts a connection. Events of owners without a connection are ignored. */
async function connectOwner(sql: Sql, vendor: VendorId, owner: number): Promise<void> {
  await sql.query(
    `insert into connection (
       athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at
     )
     values ($1, $3, $2, '{}', '', '', 1, now())`,
    [await newAthlete(sql), String(owner), vendor],
  );
}

interface StoredEvent {
  readonly object_id: string;
  readonly outcome: string | null;
  readonly attempts: number;
  /** Seconds until the next attempt. */
  readonly in_s: number;
}

const lanesOf = (vendor: VendorId) => (VENDORS[vendor].webhook as Webhook).lanes;

type EventsWorker = Pick<Worker<never, never>, 'start' | 'wake' | 'stop' | 'runOne'>;

// The lease that a worker without a process holds.
const LEASE_MS = 30_000;

describe.each(vendorsWith('webhook'))('the inbox and the worker of events of %s', (vendor) => {
  let open: OpenDatabase;
  let applied: string[];
  let gone: Set<string>;
  /** Runs while a change is applied; its answer replaces that of the handler. */
  let onChange: (
    objectId: string,
    athleteId: string,
    attempts: number,
  ) => Promise<HandlerAnswer | undefined | void> | HandlerAnswer | undefined | void;
  let workers: EventsWorker[];

  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 20 });
    for (const owner of OWNERS) await connectOwner(open.database, vendor, owner);
  });
  afterAll(() => open.close());
  beforeEach(() => {
    applied = [];
    gone = new Set();
    onChange = () => undefined;
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await open.database.query('truncate webhook_event, webhook_owner, webhook_subscription');
  });

  const inbox = (
    wakeWorkers: (vendor: VendorId) => void = () => undefined,
    clock: Clock = new SystemClock(),
    to: Logger = logger,
  ) => {
    const secrets = { secretsOf: () => Promise.resolve([SENDERS_SECRET]) };
    const times = new SignedTimes([vendor], clock, to);
    return new WebhookInbox(open.database, secrets, SENDERS_CONFIG, times, wakeWorkers);
  };
  const receive = async (...events: SentEvent[]) => {
    for (const one of events) expect(await inbox().receive(vendor, deliveryOf(vendor, one))).toBe('genuine');
  };
  /** Receives an event and returns whether its owner has one more event now. */
  const result = async (event: SentEvent) => {
    const before = (await rows()).length;
    await receive(event);
    return (await rows()).length > before ? 'received' : 'ignored';
  };
  const queue = (of = vendor) => new EventQueue(of, open.database);

  function worker(scale = 900, of = vendor): EventsWorker {
    const owners = {
      athleteOf: (_: string, id: string) =>
        Promise.resolve(
          Number(id) < 100 ? { athleteId: `athlete ${id}`, generation: 1, connectedAt: '' } : undefined,
        ),
    };
    const handler = {
      handle: async ({ athleteId }: { athleteId: string }, group: EventGroup): Promise<HandlerAnswer> => {
        const { objectId, latest } = group;
        if (latest.aspect === 'delete' && gone.has(objectId)) {
          applied.push(`deleted ${objectId}`);
          return done('deleted');
        }
        const instead = await onChange(objectId, athleteId, latest.attempts);
        if (instead) return instead;
        applied.push(`applied ${objectId}`);
        return done('applied');
      },
    };
    const work = new EventWork(queue(of), owners, { of: () => handler }, timeScale(scale), logger);
    const made = new Worker(work, timeScale(scale), logger);
    workers.push(made);
    return made;
  }

  async function dueNow(): Promise<void> {
    await open.database.query('update webhook_event set next_attempt_at = clock_timestamp()');
    await open.database.query('update webhook_owner set turn_at = clock_timestamp()');
  }

  async function untilIdle(one = worker()): Promise<void> {
    while (await one.runOne());
  }

  async function rows(): Promise<StoredEvent[]> {
    const statement = `select object_id, outcome, attempts, last_error, next_attempt_at > clock_timestamp() as waits,
      extract(epoch from next_attempt_at - clock_timestamp())::float8 as in_s from webhook_event order by id`;
    return (await open.database.query<never>(statement)).rows;
  }

  it(`stores an event of ${vendor} once, byte for byte, when it arrives eight times at the same moment`, async () => {
    const delivery = deliveryOf(vendor, { object: '9223372036854775807' });
    await Promise.all(Array.from({ length: 8 }, () => inbox().receive(vendor, delivery)));
    const { rows: stored } = await open.database.query(
      'select raw, object_id, object_type from webhook_event',
    );
    const { objectType: object_type } = senderOf(vendor);
    expect(stored).toEqual([{ raw: delivery.body, object_id: '9223372036854775807', object_type }]);
    await untilIdle();
    await inbox().receive(vendor, delivery);
    await untilIdle();
    expect(applied).toEqual(['applied 9223372036854775807']);
  });

  it(`refuses a forged delivery of ${vendor}, and stores nothing`, async () => {
    const genuine = deliveryOf(vendor);
    const forged = { ...genuine, headers: {}, pathSecret: 'another-path-nobody-guesses' };
    expect(['not found', 'unauthenticated']).toContain(await inbox().receive(vendor, forged));
    expect(await inbox().receive('nobody', genuine)).toBe('not found');
    expect(await rows()).toEqual([]);
  });

  const secrets = { config: SENDERS_CONFIG.vendors[vendor], subscriptionSecrets: [SENDERS_SECRET] };
  const verdictOf = (delivery: WebhookDelivery) =>
    (VENDORS[vendor].webhook as Webhook).verify(delivery, secrets);
  const itIfTimesAreSigned = typeof verdictOf(deliveryOf(vendor)) === 'string' ? it.skip : it;

  itIfTimesAreSigned(
    `refuses a delivery of ${vendor} signed more than five minutes earlier or later by our clock, counts the difference, and logs one line`,
    async () => {
      const lines: Array<Record<string, unknown>> = [];
      const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
      const warning = createLogger({ level: 'warn', process: 'test', destination });
      const delivery = deliveryOf(vendor);
      const { signedAtMs } = verdictOf(delivery) as { signedAtMs: number };
      const clock = { nowMs: () => signedAtMs };
      const one = inbox(undefined, clock, warning);
      const at = (aheadMs: number, sent = delivery) => {
        clock.nowMs = () => signedAtMs + aheadMs;
        return one.receive(vendor, sent);
      };
      for (const aheadMs of [300_001, 600_000, -300_001, -86_400_000])
        expect(await at(aheadMs)).toBe('unauthenticated');
      // A wrong signature says nothing about a clock.
      expect(await at(600_000, { ...delivery, body: `${delivery.body} ` })).toBe('unauthenticated');
      expect(await rows()).toEqual([]);
      expect(lines).toEqual([
        expect.objectContaining({ level: 'warn', signer: vendor, clock: 'ahead', seconds: 300 }),
      ]);
      const metric = await register.getSingleMetricAsString('signed_time_refusals_seconds');
      for (const state of ['ahead', 'behind'])
        expect(metric).toContain(`_count{signer="${vendor}",clock="${state}"} 2`);
      for (const aheadMs of [300_000, -300_000]) expect(await at(aheadMs)).toBe('genuine');
    },
  );

  it(`stores nothing of an event of an unconnected owner at ${vendor}, counts it as ignored, and keeps it once the owner has connected`, async () => {
    webhookEvents.reset();
    const stranger = 500_000 + vendorsWith('webhook').indexOf(vendor);
    await receive({ owner: stranger }, { owner: stranger }, { owner: stranger, aspect: 'delete', second: 1 });
    const { values } = await webhookEvents.get();
    expect(values).toEqual([{ labels: { vendor, result: 'ignored' }, value: 3 }]);
    for (const table of ['webhook_event', 'webhook_owner'])
      expect((await open.database.query(`select from ${table}`)).count).toBe(0);
    await untilIdle();
    expect(applied).toEqual([]);
    await connectOwner(open.database, vendor, stranger);
    expect(await result({ owner: stranger })).toBe('received');
  });

  it(`leaves no turn for an owner who disconnects ${vendor} after their event was received`, async () => {
    await receive({ owner: 11 });
    const { rows: cut } = await open.database.query<{ athlete_id: string }>(
      "delete from connection where vendor_athlete_id = '11' returning athlete_id",
    );
    await untilIdle();
    await open.database.query('delete from athlete where id = $1', [cut[0]!.athlete_id]);
    await connectOwner(open.database, vendor, 11);
    expect((await open.database.query('select from webhook_owner')).count).toBe(0);
  });

  it(`ignores an event of ${vendor} after waiting for a disconnection of its owner, and while a connection is not committed`, async () => {
    const cut = open.database.transaction(async (sql) => {
      await sql.query("delete from connection where vendor_athlete_id = '10'");
      const received = result({ owner: 10 });
      await eventually('the event waits for the lock', async () => {
        const { count } = await sql.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return count > 0;
      });
      return { received };
    });
    expect(await (await cut).received).toBe('ignored');
    await open.database.transaction(async (sql) => {
      await connectOwner(sql, vendor, 10);
      // The connection is not committed yet. The import lists the activities after the commit, so it finds this one.
      expect(await result({ owner: 10, second: 1 })).toBe('ignored');
    });
    expect(await result({ owner: 10, second: 2 })).toBe('received');
  });

  const itAtStrava = vendor === 'strava' ? it : it.skip;
  const receiveFrom = async (subscription: number, object: number, updates = '{}') => {
    const { body, ...rest } = deliveryOf(vendor, { object });
    const other = body
      .replace('"subscription_id":1', `"subscription_id":${subscription}`)
      .replace('"updates":{}', `"updates":${updates}`);
    expect(await inbox().receive(vendor, { ...rest, body: other })).toBe('genuine');
    return (await rows()).at(-1)?.outcome;
  };

  itAtStrava(
    'stores an event with characters that Postgres cannot store, since its JSON stays escaped',
    async () => {
      await receiveFrom(1, 1, JSON.stringify({ title: 'a\0b\ud800' }));
      await untilIdle();
      expect(applied).toEqual(['applied 1']);
    },
  );

  itAtStrava('ignores events of another Strava subscription once the id of ours is stored', async () => {
    expect(await receiveFrom(9, 1)).toBeNull();
    await open.database.query(
      "insert into webhook_subscription (vendor, topic, subscription_id) values ('strava', 'all', '1')",
    );
    expect(await receiveFrom(9, 2)).toBe('ignored');
    expect(await receiveFrom(1, 3)).toBeNull();
    await untilIdle();
    expect(applied).toEqual(['applied 1', 'applied 3']);
  });

  it('handles five waiting events about one object once', async () => {
    await receive({ second: 0 }, ...[1, 2, 3, 4].map((second) => ({ aspect: 'update' as const, second })));
    await untilIdle();
    expect(applied).toEqual(['applied 1']);
    expect(await rows()).toMatchObject(
      Array.from({ length: 5 }, () => ({ outcome: 'applied', attempts: 1 })),
    );
  });

  const { hasTimes, hidesDeletions } = senderOf(vendor);
  const itWithDeletions = hidesDeletions ? it.skip : it;
  const itWithTimes = hasTimes ? itWithDeletions : it.skip;

  itWithTimes(
    'applies the delete event of an object although its create event arrives later, if both wait',
    async () => {
      gone.add('1');
      await receive({ aspect: 'delete', second: 9 }, { aspect: 'create', second: 1 });
      await untilIdle();
      expect(applied).toEqual(['deleted 1']);
    },
  );

  itWithTimes(
    'ignores an older event that arrives after the delete event of its object was handled',
    async () => {
      gone.add('1');
      await receive({ aspect: 'delete', second: 9 });
      await untilIdle();
      await receive({ aspect: 'create', second: 1 });
      await untilIdle();
      expect(applied).toEqual(['deleted 1']);
      expect((await rows()).map(({ outcome }) => outcome)).toEqual(['deleted', 'superseded']);
      await receive({ aspect: 'create', second: 10 });
      await untilIdle();
      expect(applied).toEqual(['deleted 1', 'applied 1']);
    },
  );

  itWithDeletions(
    'lets the newest event about an object decide, by the time of the vendor or of arrival',
    async () => {
      gone.add('1');
      await receive({ aspect: 'update', second: 1 }, { aspect: 'delete', second: 2 });
      await untilIdle();
      expect(applied).toEqual(['deleted 1']);
    },
  );

  it("handles an owner's events in order and one at a time with three workers", async () => {
    const owners = [1, 2, 3];
    for (let object = 1; object <= 20; object += 1)
      for (const owner of owners) await receive({ owner, object: owner * 1_000 + object });
    const busy = new Set<string>();
    let most = 0;
    onChange = async (_, athleteId) => {
      expect(busy.has(athleteId)).toBe(false);
      busy.add(athleteId);
      most = Math.max(most, busy.size);
      await open.database.query('select pg_sleep(0.005)');
      busy.delete(athleteId);
    };
    for (const one of [worker(), worker(), worker()]) one.start();
    await eventually('all events', () => applied.length === 60, 30_000);
    for (const owner of owners) {
      const theirs = applied.filter((line) => line.startsWith(`applied ${owner}0`));
      expect(theirs).toEqual(theirs.toSorted());
      expect(theirs).toHaveLength(20);
    }
    expect(most).toBeGreaterThan(1);
  });

  it('serves an owner with one event before the second events of other owners', async () => {
    for (const owner of [1, 2, 3, 4])
      for (let object = 1; object <= 10; object += 1)
        await receive({ owner, object: owner * 1_000 + object });
    await receive({ owner: 5, object: 5_000 });
    const one = worker();
    for (let round = 0; round < 6; round += 1) await one.runOne();
    expect(applied).toEqual([
      'applied 1001',
      'applied 2001',
      'applied 3001',
      'applied 4001',
      'applied 5000',
      'applied 1002',
    ]);
  });

  it("handles a new owner's event within two passes while another owner has 20,000 waiting", async () => {
    await floodOf(open.database, { vendor, owners: [1], each: 20_000 });
    const one = worker();
    await one.runOne();
    await receive({ owner: 5, object: 5_000 });
    await one.runOne();
    await one.runOne();
    expect(applied).toContain('applied 5000');
  });

  it('makes no further call for an owner after one call was refused because the budget is spent', async () => {
    onChange = () => LIMIT;
    await floodOf(open.database, { vendor, owners: [1, 2], each: 50 });
    let passes = 0;
    const one = worker();
    while (await one.runOne()) passes += 1;
    expect(passes).toBe(2);
    expect(await queue().claim(LEASE_MS)).toBeUndefined();
  });

  it('deletes the turn of an owner without a waiting event', async () => {
    await open.database.query("insert into webhook_owner (vendor, owner_id) values ($1, '10')", [vendor]);
    await receive({ owner: 11 });
    await untilIdle();
    expect(applied).toEqual(['applied 1']);
    expect((await open.database.query('select from webhook_owner')).count).toBe(0);
  });

  it('loses no event that arrives while a worker releases its owner', async () => {
    const workers = [worker(), worker(), worker()];
    for (const one of workers) one.start();
    await Promise.all(
      [1, 2, 3, 4].map(async (owner) => {
        for (let object = 1; object <= 60; object += 1)
          await receive({ owner, object: owner * 1_000 + object });
      }),
    );
    await eventually('all events', () => new Set(applied).size === 240, 30_000);
    await eventually(
      'no owner with a turn',
      async () => (await open.database.query('select from webhook_owner')).count === 0,
    );
  });

  it('handles an event that arrives while its activity is being handled', async () => {
    onChange = async () => {
      onChange = () => undefined;
      await receive({ aspect: 'update', second: 5 });
    };
    await receive({});
    await untilIdle();
    expect(applied).toEqual(['applied 1', 'applied 1']);
  });

  it('retries a failed event later, and handles the next events meanwhile', async () => {
    let failures = 2;
    onChange = (id) => {
      if (id === '1' && (failures -= 1) >= 0) throw new Error('a bug');
    };
    await receive({ object: 1 }, { object: 2 }, { object: 3, owner: 11 });
    await untilIdle(worker(1));
    expect(applied).toEqual(['applied 3', 'applied 2']);
    expect((await rows())[0]).toMatchObject({ outcome: null, attempts: 1, last_error: 'Error', waits: true });
    worker().start();
    await dueNow();
    await eventually('the third attempt', () => applied.includes('applied 1'));
    await eventually('the end', async () => (await rows())[0]?.outcome === 'applied');
    expect((await rows())[0]).toMatchObject({ attempts: 3 });
  });

  it('sets an event aside after twenty failed attempts, and handles the next event of its object', async () => {
    onChange = (id) => (id === '1' ? MALFORMED : undefined);
    await receive({ object: 1 });
    const one = worker(1_000_000);
    one.start();
    await eventually('the event is set aside', async () => (await rows())[0]?.outcome === 'set_aside');
    expect((await rows())[0]).toMatchObject({ attempts: 20, last_error: 'VENDOR_ANSWER_MALFORMED' });
    onChange = () => undefined;
    await receive({ object: 1, aspect: 'update', second: 4 });
    await eventually('the next', () => applied.includes('applied 1'));
  });

  it('sets an event aside after one attempt if our own message about its record is malformed', async () => {
    onChange = () => {
      throw new MessageMalformed('sleep.raw', ['date: too late']);
    };
    await receive({ object: 1 });
    await untilIdle();
    expect((await rows())[0]).toMatchObject({
      outcome: 'set_aside',
      attempts: 1,
      last_error: 'EVENT_MALFORMED',
    });
  });

  it('sets an event aside without another attempt if workers died during twenty attempts', async () => {
    await receive({ object: 1 });
    await open.database.query('update webhook_event set attempts = 20');
    await untilIdle();
    expect(applied).toEqual([]);
    expect((await rows())[0]).toMatchObject({ outcome: 'set_aside', last_error: 'given up' });
  });

  it.each([
    ['an outage of the vendor', 'VENDOR_OUTAGE', 900, () => OUTAGE],
    ['an outage of the vendor’s token endpoint', 'VENDOR_CALL_LATER', 900, () => NO_TOKEN],
    ['a budget that neither Redis nor Postgres knows', 'VENDOR_BUDGET_UNAVAILABLE', 30, () => NO_BUDGET],
    [
      'an outage of one of our servers',
      'DEPENDENCY_UNAVAILABLE',
      30,
      () => Promise.reject(new DependencyUnavailable('nats')),
    ],
  ] as const)(
    'retries an event without end during %s, and sets it aside only after six refusals that follow',
    async (_, error, longest, answer) => {
      const one = worker(1);
      const seen: number[] = [];
      let now: () => HandlerAnswer | Promise<never> = answer;
      onChange = (_id, _athlete, attempts) => {
        seen.push(attempts);
        return now();
      };
      const again = async (times: number) => {
        for (let attempt = 0; attempt < times; attempt += 1) {
          await dueNow();
          await untilIdle(one);
        }
        return (await rows())[0]!;
      };
      await receive({ object: 1 });
      const { in_s, ...event } = await again(21);
      expect(event).toMatchObject({ outcome: null, attempts: 0, last_error: error });
      expect(in_s).toBeGreaterThan(longest / 2);
      expect(in_s).toBeLessThanOrEqual(longest);
      expect(new Set(seen)).toEqual(new Set([1]));
      now = () => REFUSED;
      expect(await again(5)).toMatchObject({ outcome: null, attempts: 5 });
      expect(await again(1)).toMatchObject({ outcome: 'set_aside', attempts: 6 });
    },
  );

  it('the pauses of an event begin anew with an outage that follows an answer of the vendor', async () => {
    onChange = () => OUTAGE;
    await receive({ object: 1 });
    const one = worker(1);
    const pauseAfter = async (answer: HandlerAnswer) => {
      onChange = () => answer;
      await dueNow();
      await untilIdle(one);
      return (await rows())[0]!.in_s;
    };
    for (let outage = 0; outage < 7; outage += 1) await pauseAfter(OUTAGE);
    expect(await pauseAfter(OUTAGE)).toBeGreaterThan(320);
    expect(await pauseAfter(MALFORMED)).toBeLessThanOrEqual(5);
    expect(await pauseAfter(OUTAGE)).toBeLessThanOrEqual(5);
  });

  it('postpones an event to the end of a full window, and counts no attempt', async () => {
    onChange = () => LIMIT;
    await receive({ object: 1 });
    await untilIdle();
    const [row] = await rows();
    expect(row).toMatchObject({ outcome: null, attempts: 0 });
    expect(row?.in_s).toBeGreaterThan(590);
    expect(row?.in_s).toBeLessThanOrEqual(600);
  });

  it('sets an event aside after the vendor has refused the request six times, twenty minutes apart', async () => {
    onChange = () => REFUSED;
    await receive({ object: 1 });
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await dueNow();
      await untilIdle(worker(1));
      const [row] = await rows();
      expect(row).toMatchObject({ attempts: attempt, outcome: attempt < 6 ? null : 'set_aside' });
      if (attempt < 6) expect(row?.in_s).toBeGreaterThan(1_100);
    }
  });

  it('ignores an event of an athlete whose token the vendor refuses', async () => {
    onChange = () => ({ kind: 'revoked', reason: 'the grant has ended' });
    await receive({ object: 1 });
    await untilIdle();
    expect((await rows())[0]).toMatchObject({ outcome: 'ignored', last_error: 'VENDOR_TOKEN_REVOKED' });
  });

  it('handles the events of as many owners at the same time as the vendor has lanes', async () => {
    const most = lanesOf(vendor);
    const owners = Array.from({ length: 20 }, (_, n) => n + 12);
    await floodOf(open.database, { vendor, owners, each: 1 });
    let [busy, seen] = [0, 0];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    onChange = async () => {
      busy += 1;
      seen = Math.max(seen, busy);
      await released;
      busy -= 1;
    };
    worker().start();
    await eventually('all lanes are busy', () => busy === most, 30_000);
    release();
    await eventually('all events', () => applied.length === 20, 30_000);
    expect(seen).toBe(most);
  });

  it('events of another vendor are handled while each lane of this one waits for its vendor', async () => {
    const other = vendor === 'oura' ? 'whoop' : 'oura';
    await connectOwner(open.database, other, 99);
    const owners = Array.from({ length: 20 }, (_, n) => n + 12);
    await floodOf(open.database, { vendor, owners, each: 1 });
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let busy = 0;
    onChange = async () => {
      busy += 1;
      await released;
    };
    const lanes = lanesOf(vendor);
    worker().start();
    await eventually('all lanes are busy', () => busy === lanes, 30_000);
    onChange = () => undefined;
    worker(900, other).start();
    await inbox().receive(other, deliveryOf(other, { owner: 99, object: 'theirs' }));
    await eventually('the event of the other vendor', () => applied.includes('applied theirs'), 30_000);
    expect(applied).toEqual(['applied theirs']);
    release();
    await eventually('all events', () => applied.length === 21, 30_000);
  });

  it('handles an event again after the lease of a dead worker has ended', async () => {
    await receive({ object: 1 });
    const dead = queue();
    expect((await dead.claim(LEASE_MS))?.group.events).toHaveLength(1);
    await untilIdle();
    expect(applied).toEqual([]);
    await open.database.query(
      "update webhook_owner set leased_until = clock_timestamp() - interval '1 second'",
    );
    await untilIdle();
    expect(applied).toEqual(['applied 1']);
    expect((await rows())[0]).toMatchObject({ outcome: 'applied', attempts: 2 });
  });

  it('rejects the outcome of a worker whose lease another worker has taken over', async () => {
    await receive({ object: 1 });
    const one = queue();
    const slow = await one.claim(LEASE_MS);
    await open.database.query(
      "update webhook_owner set leased_until = clock_timestamp() - interval '1 second'",
    );
    const other = await one.claim(LEASE_MS);
    if (!slow || !other) throw new Error('no claim');
    fenceRejected.reset();
    expect([await one.renew(slow, LEASE_MS), await one.renew(other, LEASE_MS)]).toEqual([false, true]);
    expect(await one.finish(slow, 'ignored')).toBe(false);
    const postponement = { afterMs: 0, error: 'late', counts: 'attempt' } as const;
    expect(await one.postpone(slow, postponement)).toBeUndefined();
    expect((await fenceRejected.get()).values).toMatchObject([{ labels: { kind: 'webhook' }, value: 2 }]);
    expect((await rows())[0]).toMatchObject({ outcome: null });
    await one.finish(other, 'applied');
    expect((await rows())[0]).toMatchObject({ outcome: 'applied' });
  });

  it('counts no attempt for a worker that loses its lease between the claim and the first read, and gives it no events', async () => {
    await receive({ object: 1 });
    const other = queue();
    let theirs: Awaited<ReturnType<EventQueue['claim']>>;
    const frozen = Object.create(open.database) as Database;
    frozen.query = async <Row extends object>(...statement: Parameters<Database['query']>) => {
      const result = await open.database.query<Row>(...statement);
      if (!theirs) {
        await open.database.query(
          "update webhook_owner set leased_until = clock_timestamp() - interval '1 second'",
        );
        theirs = await other.claim(LEASE_MS);
      }
      return result;
    };
    expect(await new EventQueue(vendor, frozen).claim(LEASE_MS)).toBeUndefined();
    expect(theirs?.attempts).toBe(1);
    expect((await rows())[0]).toMatchObject({ outcome: null, attempts: 1 });
    expect(await other.finish(theirs!, 'applied')).toBe(true);
  });

  it('gives an owner to one of ten simultaneous claims', async () => {
    await receive({ object: 1 }, { object: 2 });
    const one = queue();
    const claims = await Promise.all(Array.from({ length: 10 }, () => one.claim(LEASE_MS)));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it('deletes the events of a deleted account, and purges handled events after their retention', async () => {
    await receive({ owner: 10 }, { owner: 11, object: 2 });
    expect(await new EventRecords(open.database).deleteSome(open.database, '', { [vendor]: '10' })).toBe(1);
    expect((await rows()).map(({ object_id }) => object_id)).toEqual(['2']);
    await receive({ owner: 10 });
    await untilIdle();
    expect(applied.toSorted()).toEqual(['applied 1', 'applied 2']);
    await open.database.query("update webhook_event set processed_at = processed_at - interval '7 days'");
    expect(await purgeEvents(open.database, 7 * 86_400_000)).toBe(2);
  });

  it('handles an event at once after a wake-up, and by the poll while Redis is cut', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const config = { url: proxy.url, keyPrefix: `t:${randomUUID()}:` };
    const redis = createRedis(config, logger);
    const one = worker(1);
    one.start();
    let received = 0;
    const subscription = subscribeToWakeUps(config, logger, [vendor], () => {
      received += 1;
      one.wake();
    });
    const wakeWorkers = wakeUpPublisher(config, redis, logger);
    await eventually('a subscribed worker', () => (wakeWorkers(vendor), received > 0));
    const before = received;
    await inbox(wakeWorkers).receive(vendor, deliveryOf(vendor, { object: 1 }));
    await eventually('the event', () => applied.length === 1);
    await eventually('the wake-up', () => received > before);

    proxy.cut();
    await inbox(wakeWorkers).receive(vendor, deliveryOf(vendor, { object: 2 }));
    await eventually('the event without a wake-up', () => applied.length === 2);

    proxy.heal();
    const beforeHealing = received;
    await eventually('the wake-ups again', () => (wakeWorkers(vendor), received > beforeHealing));
    subscription.close();
    redis.disconnect();
    await proxy.close();
  });
});
