import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger, SignedTimes, type Sql, SystemClock } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { modelRuns } from '../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { type OwnerClaim, EventQueue } from './event-queue.js';
import { deliveryOf, SENDERS_CONFIG } from './events.harness.js';
import { WebhookInbox } from './webhook-inbox.js';

const OWNERS = ['1', '2', '3'];
const UNKNOWN = '9';
const HOUR_MS = 3_600_000;

interface ModelOwner {
  /** The objects with waiting events. */
  readonly waiting: Map<string, 'due' | 'later'>;
  /** Set by a postponement that holds the owner; cleared by a new event or when the model's time passes. */
  isHeld: boolean;
  lease: OwnerClaim | undefined;
}

const owner = fc.constantFrom(...OWNERS);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('receive' as const), owner, object: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('receive of unknown owner' as const),
      owner,
      object: fc.nat(3),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('claim' as const), owner, object: fc.constant(0) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('finish' as const), owner, object: fc.constant(0) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('postpone' as const), owner, object: fc.constant(0) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('hold' as const), owner, object: fc.constant(0) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('worker dies' as const), owner, object: fc.constant(0) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('time passes' as const), owner, object: fc.constant(0) }),
  },
);

describe('EventQueue', () => {
  let open: OpenDatabase;
  let sql: Sql;
  let queue: EventQueue;
  let inbox: WebhookInbox;
  let second = 0;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    queue = new EventQueue('strava', open.database);
    inbox = new WebhookInbox(
      open.database,
      { secretsOf: () => Promise.resolve([]) },
      SENDERS_CONFIG,
      new SignedTimes([], new SystemClock(), createLogger({ level: 'silent', process: 'test' })),
      () => undefined,
    );
    for (const vendorId of OWNERS)
      await sql.query(
        `insert into connection (
           athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at
         )
         values ($1, 'strava', $2, '{}', '', '', 1, now())`,
        [await newAthlete(sql), vendorId],
      );
  });
  afterAll(() => open.close());

  const storedEvents = async () => (await sql.query('select from webhook_event')).count;
  /** Returns how many events the delivery stored. */
  const receive = async (ownerId: string, object: number) => {
    const before = await storedEvents();
    const event = { owner: ownerId, object: `${ownerId}0${object}`, second: (second += 1) };
    await inbox.receive('strava', deliveryOf('strava', { aspect: 'update', ...event }));
    return (await storedEvents()) - before;
  };

  const back = (table: string, column: string) =>
    `update ${table} set ${column} = ${column} - interval '2 hours'`;

  it('gives exactly the owners with a due event to one worker at a time, in any order of operations (model)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50 }), async (steps) => {
        await sql.query('truncate webhook_event, webhook_owner');
        const model = new Map<string, ModelOwner>(
          OWNERS.map((id) => [id, { waiting: new Map(), isHeld: false, lease: undefined }]),
        );
        for (const { kind, owner: id, object } of steps) {
          const one = model.get(id)!;
          const { lease } = one;
          if (kind === 'receive') {
            expect(await receive(id, object)).toBe(1);
            one.waiting.set(`${id}0${object}`, 'due');
            // A new event ends the hold, because the event may need no call. While a worker holds the claim, a new event changes no hold.
            if (!lease) one.isHeld = false;
          } else if (kind === 'receive of unknown owner') {
            expect(await receive(UNKNOWN, object)).toBe(0);
          } else if (kind === 'claim') {
            const claimable = [...model].filter(
              ([, each]) => !each.lease && !each.isHeld && [...each.waiting.values()].includes('due'),
            );
            const claim = await queue.claim(30_000);
            if (claimable.length === 0) expect(claim).toBeUndefined();
            else {
              expect(claimable.map(([name]) => name)).toContain(claim?.ownerId);
              model.get(claim!.ownerId)!.lease = claim;
            }
          } else if (kind === 'worker dies') {
            await sql.query(back('webhook_owner', 'leased_until') + ' where leased_until is not null');
            for (const each of model.values()) {
              if (each.lease) each.isHeld = false;
              each.lease = undefined;
            }
          } else if (kind === 'time passes') {
            await sql.query(back('webhook_owner', 'turn_at') + ' where leased_until is null');
            await sql.query(back('webhook_event', 'next_attempt_at') + ' where processed_at is null');
            for (const each of model.values()) {
              each.isHeld = false;
              for (const name of each.waiting.keys()) each.waiting.set(name, 'due');
            }
          } else if (lease) {
            one.lease = undefined;
            if (kind === 'finish') {
              await queue.finish(lease, 'applied');
              await readWaiting(one, lease);
            } else {
              const holdsOwner = kind === 'hold';
              await queue.postpone(lease, {
                afterMs: HOUR_MS,
                error: 'later',
                counts: 'nothing',
                holdsOwner,
              });
              await readWaiting(one, lease);
              one.isHeld = holdsOwner;
            }
          }
          expect(await turns()).toEqual(
            [...model].filter(([, each]) => each.lease || each.waiting.size > 0).map(([name]) => name),
          );
        }
      }),
      modelRuns(60),
    );
  });

  /** Reads the waiting events from the table, since an event that arrives during the work is not part of the claim. */
  async function readWaiting(one: ModelOwner, { ownerId, group }: OwnerClaim): Promise<void> {
    const { rows } = await sql.query<{ object_id: string; is_due: boolean }>(
      `select object_id, bool_or(next_attempt_at <= now()) as is_due
       from webhook_event
       where owner_id = $1 and processed_at is null
       group by object_id`,
      [ownerId],
    );
    const inModel = [...one.waiting.keys()].filter((name) => name !== group?.objectId);
    expect(rows.map(({ object_id }) => object_id).filter((name) => name !== group?.objectId)).toEqual(
      expect.arrayContaining(inModel),
    );
    one.waiting.clear();
    for (const row of rows) one.waiting.set(row.object_id, row.is_due ? 'due' : 'later');
  }

  async function turns(): Promise<string[]> {
    const { rows } = await sql.query<{ owner_id: string }>('select owner_id from webhook_owner order by 1');
    return rows.map(({ owner_id }) => owner_id);
  }
});
