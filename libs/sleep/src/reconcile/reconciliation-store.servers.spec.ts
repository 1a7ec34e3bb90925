import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ClaimLost, fenceRejected } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type ReconciliationClaim, ReconciliationStore } from './reconciliation-store.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TIMES = { leaseMs: HOUR_MS, historyDays: 90 };

describe('the fence of a sleep reconciliation', () => {
  let open: OpenDatabase;
  let store: ReconciliationStore;
  beforeAll(async () => {
    open = await openTestDatabase();
    store = new ReconciliationStore(open.database);
  });
  afterAll(() => open.close());

  beforeEach(async () => {
    await open.database.query('delete from connection');
    const athleteId = await newAthlete(open.database);
    await open.database.query(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'oura', $2, '{}', '', '', 1, now())`,
      [athleteId, athleteId],
    );
  });

  const claim = async () => (await store.claim('oura', TIMES)) as ReconciliationClaim;
  const endLease = () => open.database.query('update sleep_comparison set leased_until = now()');
  const row = async () => (await open.database.query('select * from sleep_comparison')).rows[0];

  const writes: ReadonlyArray<readonly [string, (claim: ReconciliationClaim) => Promise<unknown>]> = [
    ['postpone', (held) => store.claims.postpone(held, HOUR_MS)],
    ['fail', (held) => store.claims.failed(held, HOUR_MS, HOUR_MS)],
    ['move on', (held) => store.moveOn(held, '2026-01-01')],
    ['finish', (held) => store.finish(held, DAY_MS)],
  ];

  it.each(writes)(
    'the write "%s" changes nothing, and is counted, if another worker has claimed the sleep reconciliation since',
    async (_, write) => {
      const frozen = await claim();
      await endLease();
      await claim();
      const claimed = await row();
      fenceRejected.reset();
      const answer = await write(frozen).catch((error: unknown) => error);
      expect(answer === false || answer instanceof ClaimLost).toBe(true);
      expect(await store.claims.renew(frozen, HOUR_MS)).toBe(false);
      expect(await row()).toEqual(claimed);
      expect((await fenceRejected.get()).values).toMatchObject([
        { labels: { kind: 'sleep_reconciliation' }, value: 1 },
      ]);
    },
  );

  it.each(writes)(
    'the write "%s" succeeds after the first slice of a sleep reconciliation',
    async (_, write) => {
      const held = await claim();
      await store.moveOn(held, held.since);
      expect(await write(held)).not.toBe(false);
    },
  );

  it.each([
    ['the history of a new connection', 'null', 90],
    ['a later reconciliation', "now() - interval '25 hours'", 15],
    ['a reconciliation after a long pause', "now() - interval '40 days'", 54],
  ])('%s compares no night that the retention would delete', async (_, comparedAt, days) => {
    const daysOf = async (retentionDays?: number) => {
      await open.database.query(
        `update sleep_comparison
         set compared_at = ${comparedAt}, next_at = now(), begun_at = null, since = null, until = null, leased_until = null`,
      );
      const { since, claimed_at } = (await store.claim('oura', {
        ...TIMES,
        retentionDays,
      })) as ReconciliationClaim;
      return Math.floor((claimed_at.getTime() - Date.parse(since)) / DAY_MS);
    };
    // 25 hours ago was yesterday, or the day before if it is early.
    expect(Math.abs((await daysOf()) - days)).toBeLessThanOrEqual(1);
    expect(await daysOf(7)).toBe(7);
  });

  it('a held sleep reconciliation is claimed by no other worker, a postponed one only after its pause', async () => {
    const held = await claim();
    expect(await claim()).toBeUndefined();
    await store.claims.postpone(held, HOUR_MS);
    expect(await claim()).toBeUndefined();
    await open.database.query('update sleep_comparison set next_at = now()');
    expect(await claim()).toMatchObject({ fence: '2', until: held.until });
  });

  it('the pause after a failed sleep reconciliation doubles, a new consent ends it, and a stored slice begins it anew', async () => {
    const pause = async () => {
      await store.claims.failed(await claim(), HOUR_MS, DAY_MS);
      const hours = 'round(extract(epoch from next_at - postponed_at) / 3600)::int as hours';
      return (await open.database.query<{ hours: number }>(`select ${hours} from sleep_comparison`)).rows[0]
        ?.hours;
    };
    const consent = () => open.database.query('update connection set connected_at = clock_timestamp()');
    const pauses = [];
    for (let failures = 0; failures < 6; failures += 1) {
      pauses.push(await pause());
      expect(await claim()).toBeUndefined();
      await consent();
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 24]);
    const held = await claim();
    await store.moveOn(held, held.since);
    await store.claims.postpone(held, 0);
    expect(await pause()).toBe(1);
  });

  const finished = async () => {
    const held = await claim();
    await store.finish(held, DAY_MS);
    return held;
  };
  const dueInHours = async () => {
    const hours = 'round(extract(epoch from next_at - clock_timestamp()) / 3600)::int as hours';
    return (await open.database.query<{ hours: number }>(`select ${hours} from sleep_comparison`)).rows[0]
      ?.hours;
  };

  it('the reconciliation of a new connection is due at once, and the next one a day after its beginning', async () => {
    expect(await finished()).toMatchObject({ is_history: true });
    expect(await claim()).toBeUndefined();
    expect(await dueInHours()).toBe(24);
    await open.database.query('update sleep_comparison set next_at = now()');
    expect(await claim()).toMatchObject({ is_history: false });
  });

  it('a new consent makes a sleep reconciliation due, also if the consent comes during one', async () => {
    const consent = () => open.database.query('update connection set connected_at = clock_timestamp()');
    await finished();
    await consent();
    const held = await claim();
    await consent();
    await store.claims.postpone(held, 0);
    await finished();
    expect(await claim()).toMatchObject({ is_history: false });
  });

  it('a sleep reconciliation is claimed only for its own vendor, and only while the connection is active', async () => {
    expect(await store.claim('whoop', TIMES)).toBeUndefined();
    await open.database.query("update connection set status = 'needs_reauth'");
    expect(await claim()).toBeUndefined();
    await open.database.query("update connection set status = 'active'");
    expect(await claim()).toBeDefined();
  });
});
