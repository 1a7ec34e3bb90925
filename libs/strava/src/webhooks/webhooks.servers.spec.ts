import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createLogger, createRedis, loadSql, timeScale } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { required } from '../../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { StravaAnswerMalformed, StravaNotFound, StravaOutage, StravaRateLimited } from '../strava.errors.js';
import { type DetailedActivity } from '../wire/activity.js';
import { EventEffects } from './event-effects.js';
import { EventRecords } from './event-records.js';
import { EventQueue } from './event-queue.js';
import { EventWorker } from './event-worker.js';
import { listenForNudges, nudger } from './nudge.js';
import { WebhookInbox } from './webhook-inbox.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const SECOND = 1_794_900_000;

interface Said {
  readonly aspect?: string;
  readonly object?: number | string;
  readonly owner?: number;
  readonly second?: number;
  readonly type?: string;
  readonly subscription?: number;
  readonly updates?: object;
}

function event({
  aspect = 'create',
  object = 1,
  owner = 10,
  second = 0,
  type = 'activity',
  subscription = 1,
  updates = {},
}: Said = {}): string {
  return (
    `{"aspect_type":"${aspect}","event_time":${SECOND + second},"object_id":${object},"object_type":"${type}",` +
    `"owner_id":${owner},"subscription_id":${subscription},"updates":${JSON.stringify(updates)}}`
  );
}

describe('the inbox and who works on it', () => {
  let open: OpenDatabase;
  let told: string[];
  let fetched: string[];
  let gone: Set<string>;
  /** What happens when an activity's change is told. */
  let onChange: (activityId: string, athleteId: string) => Promise<void> | void;
  let workers: EventWorker[];

  beforeAll(async () => (open = await openTestDatabase([], { poolSize: 20 })));
  afterAll(() => open.close());
  beforeEach(() => {
    told = [];
    fetched = [];
    gone = new Set();
    onChange = () => undefined;
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await open.database.query('truncate webhook_event, webhook_owner, webhook_subscription');
  });

  const inbox = (nudge = () => undefined as void) => new WebhookInbox(open.database, nudge);
  const receive = async (...said: Said[]) => {
    for (const one of said) expect(await inbox().receive(event(one))).toBe('received');
  };

  function worker(scale = 900): EventWorker {
    const effects = new EventEffects(
      {
        activity: (_, id) => {
          fetched.push(id);
          return gone.has(id)
            ? Promise.reject(new StravaNotFound())
            : Promise.resolve({ id } as DetailedActivity);
        },
        athlete: () => Promise.resolve({ id: '10' }),
      },
      {
        athleteOf: (id) =>
          Promise.resolve(
            Number(id) < 100 ? { athleteId: `athlete ${id}`, generation: 1, connectedAt: '' } : undefined,
          ),
      },
      {
        activityChanged: async ({ athleteId }, id, time, aspect) => {
          await onChange(id, athleteId);
          told.push(`${aspect} ${id} ${time.getTime() / 1_000 - SECOND}`);
        },
        activityDeleted: (_, id) => Promise.resolve(void told.push(`deleted ${id}`)),
        deauthorized: () => Promise.resolve(told.push('deauthorized') > 0),
      },
    );
    const made = new EventWorker(
      new EventQueue(open.database, timeScale(scale)),
      effects,
      timeScale(scale),
      logger,
    );
    workers.push(made);
    return made;
  }

  async function untilIdle(one = worker()): Promise<void> {
    while (await one.runOnce());
  }

  async function rows(): Promise<Array<{ object_id: string; outcome: string | null; attempts: number }>> {
    const statement = `select object_id, outcome, attempts, last_error, next_attempt_at > clock_timestamp() as waits,
      extract(epoch from next_attempt_at - clock_timestamp())::float8 as in_s from webhook_event order by id`;
    return (await open.database.query<never>(statement)).rows;
  }

  it('keeps an event once, to the letter, however often it comes', async () => {
    const raw = event({ object: '9223372036854775807' });
    const receipts = await Promise.all(Array.from({ length: 8 }, () => inbox().receive(raw)));
    expect(receipts.filter((receipt) => receipt === 'received')).toHaveLength(1);
    expect(receipts.filter((receipt) => receipt === 'duplicate')).toHaveLength(7);
    const { rows: kept } = await open.database.query('select raw, object_id from webhook_event');
    expect(kept).toEqual([{ raw, object_id: '9223372036854775807' }]);
    await untilIdle();
    expect(await inbox().receive(raw)).toBe('duplicate');
    await untilIdle();
    expect(told).toEqual(['create 9223372036854775807 0']);
  });

  it('keeps what cannot be stored in a text column, escaped as it came', async () => {
    await receive({ updates: { title: 'a\0b\ud800' } });
    await untilIdle();
    expect(told).toEqual(['create 1 0']);
  });

  it('ignores what comes from a subscription that is not ours, once that is known', async () => {
    expect(await inbox().receive(event({ subscription: 9 }))).toBe('received');
    await open.database.query("insert into webhook_subscription values ('strava', '1')");
    expect(await inbox().receive(event({ object: 2, subscription: 9 }))).toBe('ignored');
    expect(await inbox().receive(event({ object: 2, subscription: 1 }))).toBe('received');
    await untilIdle();
    expect(told).toEqual(['create 1 0', 'create 2 0']);
  });

  it('ignores owners it does not know, without a call', async () => {
    await receive({ owner: 500 }, { owner: 500, aspect: 'delete', second: 1 });
    await untilIdle();
    expect([told, fetched]).toEqual([[], []]);
    expect((await rows()).map(({ outcome }) => outcome)).toEqual(['ignored', 'ignored']);
  });

  it('works on one object once, however much waits about it', async () => {
    await receive({ second: 0 }, ...[1, 2, 3, 4].map((second) => ({ aspect: 'update', second })));
    await untilIdle();
    expect(told).toEqual(['create 1 0']);
    expect(await rows()).toMatchObject(
      Array.from({ length: 5 }, () => ({ outcome: 'applied', attempts: 1 })),
    );
  });

  it('puts a create and a delete right that came in the wrong order, both waiting', async () => {
    gone.add('1');
    await receive({ aspect: 'delete', second: 9 }, { aspect: 'create', second: 1 });
    await untilIdle();
    expect([told, fetched]).toEqual([['deleted 1'], ['1']]);
  });

  it('puts them right when the delete was worked on before the create came', async () => {
    gone.add('1');
    await receive({ aspect: 'delete', second: 9 });
    await untilIdle();
    await receive({ aspect: 'create', second: 1 });
    await untilIdle();
    expect([told, fetched]).toEqual([['deleted 1'], ['1']]);
    expect((await rows()).map(({ outcome }) => outcome)).toEqual(['deleted', 'superseded']);
    await receive({ aspect: 'create', second: 10 });
    await untilIdle();
    expect(told).toEqual(['deleted 1', 'create 1 10']);
  });

  it("works on an owner's events in their order, with any number of workers, one at a time", async () => {
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
    await eventually('all of it', () => told.length === 60, 30_000);
    for (const owner of owners) {
      const theirs = told.filter((line) => line.startsWith(`create ${owner}0`));
      expect(theirs).toEqual(theirs.toSorted());
      expect(theirs).toHaveLength(20);
    }
    expect(most).toBeGreaterThan(1);
  });

  it('is not held up by owners who have more to tell', async () => {
    for (const owner of [1, 2, 3, 4])
      for (let object = 1; object <= 10; object += 1)
        await receive({ owner, object: owner * 1_000 + object });
    await receive({ owner: 5, object: 5_000 });
    const one = worker();
    for (let round = 0; round < 6; round += 1) await one.runOnce();
    expect(told).toEqual([
      'create 1001 0',
      'create 2001 0',
      'create 3001 0',
      'create 4001 0',
      'create 5000 0',
      'create 1002 0',
    ]);
  });

  it('is found among what waits, however much was done', async () => {
    await open.database.query(`
      with event as (
        insert into webhook_event
          (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome)
        select 'strava', n, n % 10000, 'activity', n, 'create', now(), '{}', now(), 'applied'
        from generate_series(1, 100000) n
      )
      insert into webhook_owner (vendor, owner_id) select 'strava', n from generate_series(0, 9999) n`);
    for (let object = 1; object <= 50; object += 1) await receive({ owner: object % 10, object });
    await open.database.query('analyze webhook_event, webhook_owner');
    const { text } = loadSql(import.meta.url, './sql/claim-owner.sql');
    const { rows: plan } = await open.database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers, costs off, timing off, summary off) ${text}`,
      ['strava', randomUUID(), 30_000],
    );
    const lines = plan.map((row) => row['QUERY PLAN']);
    expect(lines.join('\n')).not.toContain('Seq Scan');
    expect(Number(/shared hit=(\d+)/.exec(lines.join('\n'))?.[1])).toBeLessThan(500);
  });

  it('does not lose what comes while its object is being worked on', async () => {
    onChange = async () => {
      onChange = () => undefined;
      await receive({ aspect: 'update', second: 5 });
    };
    await receive({});
    await untilIdle();
    expect(told).toEqual(['create 1 0', 'update 1 5']);
  });

  it('tries again later what failed, and meanwhile the next', async () => {
    let failures = 2;
    onChange = (id) => {
      if (id === '1' && (failures -= 1) >= 0) throw new Error('a bug');
    };
    await receive({ object: 1 }, { object: 2 }, { object: 3, owner: 11 });
    await untilIdle(worker(1));
    expect(told).toEqual(['create 3 0', 'create 2 0']);
    expect((await rows())[0]).toMatchObject({ outcome: null, attempts: 1, last_error: 'Error', waits: true });
    worker().start();
    await open.database.query('update webhook_event set next_attempt_at = clock_timestamp()');
    await eventually('the third attempt', () => told.includes('create 1 0'));
    await eventually('the end', async () => (await rows())[0]?.outcome === 'applied');
    expect((await rows())[0]).toMatchObject({ attempts: 3 });
  });

  it('sets aside what always fails, and goes on', async () => {
    onChange = (id) => {
      if (id === '1') throw new StravaAnswerMalformed('id: odd');
    };
    await receive({ object: 1 });
    const one = worker(1_000_000);
    one.start();
    await eventually('that', async () => (await rows())[0]?.outcome === 'set_aside');
    expect((await rows())[0]).toMatchObject({ attempts: 6, last_error: 'STRAVA.ANSWER_MALFORMED' });
    onChange = () => undefined;
    await receive({ object: 1, aspect: 'update', second: 4 });
    await eventually('the next', () => told.includes('update 1 4'));
  });

  it('sets aside what workers die of', async () => {
    await receive({ object: 1 });
    await open.database.query('update webhook_event set attempts = 6');
    await untilIdle();
    expect(told).toEqual([]);
    expect((await rows())[0]).toMatchObject({ outcome: 'set_aside', last_error: 'given up' });
  });

  it('never sets aside what a server that is away holds up', async () => {
    onChange = () => {
      throw new StravaOutage('status 503');
    };
    await receive({ object: 1 });
    for (let attempt = 0; attempt < 12; attempt += 1) {
      await open.database.query('update webhook_event set next_attempt_at = clock_timestamp()');
      await untilIdle(worker(1));
    }
    expect((await rows())[0]).toMatchObject({ outcome: null, waits: true, last_error: 'STRAVA.OUTAGE' });
    onChange = () => undefined;
    await open.database.query('update webhook_event set next_attempt_at = clock_timestamp()');
    await untilIdle(worker(1));
    expect(told).toEqual(['create 1 0']);
  });

  it('waits until the window ends when there is no call left, which is no attempt', async () => {
    onChange = () => {
      throw new StravaRateLimited('read 15min', 600_000, Date.now());
    };
    await receive({ object: 1 });
    await untilIdle();
    const [row] = (await rows()) as Array<{ in_s?: number; attempts: number; outcome: string | null }>;
    expect(row).toMatchObject({ outcome: null, attempts: 0 });
    expect(row?.in_s).toBeGreaterThan(590);
    expect(row?.in_s).toBeLessThanOrEqual(600);
  });

  it('takes over from a worker that died', async () => {
    await receive({ object: 1 });
    const dead = new EventQueue(open.database, timeScale(1));
    expect((await dead.claim())?.matter.events).toHaveLength(1);
    await untilIdle();
    expect(told).toEqual([]);
    await open.database.query(
      "update webhook_owner set leased_until = clock_timestamp() - interval '1 second'",
    );
    await untilIdle();
    expect(told).toEqual(['create 1 0']);
    expect((await rows())[0]).toMatchObject({ outcome: 'applied', attempts: 2 });
  });

  it('does not listen to a worker that was taken over from', async () => {
    await receive({ object: 1 });
    const queue = new EventQueue(open.database, timeScale(1));
    const slow = await queue.claim();
    await open.database.query(
      "update webhook_owner set leased_until = clock_timestamp() - interval '1 second'",
    );
    const other = await queue.claim();
    if (!slow || !other) throw new Error('no claim');
    await queue.finish(slow, 'ignored');
    expect((await rows())[0]).toMatchObject({ outcome: null });
    await queue.finish(other, 'applied');
    expect((await rows())[0]).toMatchObject({ outcome: 'applied' });
  });

  it('is claimed once by ten who ask at once', async () => {
    await receive({ object: 1 }, { object: 2 });
    const queue = new EventQueue(open.database, timeScale(1));
    const claims = await Promise.all(Array.from({ length: 10 }, () => queue.claim()));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it('is forgotten with its owner, and after a while by itself', async () => {
    await receive({ owner: 10 }, { owner: 11, object: 2 });
    expect(await new EventRecords(open.database).deleteSome(open.database, '', { strava: '10' })).toBe(1);
    expect((await rows()).map(({ object_id }) => object_id)).toEqual(['2']);
    await receive({ owner: 10 });
    await untilIdle();
    expect(told.toSorted()).toEqual(['create 1 0', 'create 2 0']);
    await open.database.query("update webhook_event set processed_at = processed_at - interval '7 days'");
    expect(await new EventQueue(open.database, timeScale(1)).purge()).toBe(2);
  });

  it('is worked on at once when somebody nudges, and soon when nobody does', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const config = { url: proxy.url, keyPrefix: `t:${randomUUID()}:` };
    const redis = createRedis(config, logger);
    const one = worker(1);
    one.start();
    let heard = 0;
    const nudges = listenForNudges(config, logger, () => {
      heard += 1;
      one.wake();
    });
    const nudge = nudger(config, redis, logger);
    await eventually('somebody who listens', () => (nudge(), heard > 0));
    const before = heard;
    await inbox(nudge).receive(event({ object: 1 }));
    await eventually('the event', () => told.length === 1);
    await eventually('the nudge', () => heard > before);

    proxy.cut();
    await inbox(nudge).receive(event({ object: 2 }));
    await eventually('the event without a nudge', () => told.length === 2);

    proxy.heal();
    const silent = heard;
    await eventually('the nudges again', () => (nudge(), heard > silent));
    nudges.close();
    redis.disconnect();
    await proxy.close();
  });
});
