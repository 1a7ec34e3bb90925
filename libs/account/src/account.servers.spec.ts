import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Athletes, type Connections, createConnections, NotConnected } from '#connections';
import {
  athleteIdOf,
  type Caller,
  ClaimLost,
  createLogger,
  DependencyUnavailable,
  fenceRejected,
  timeScale,
} from '#platform';
import { loadProductConfig } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { JWT_SECRET } from '../../../test/harness/environment.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { testWorkers } from '../../../test/harness/test-workers.js';
import { Account } from './account.js';
import { Deletions } from './deletions.js';
import { AccountBindings, type PersonalRecords, type Remains } from './personal-records.js';
import { type Deletion, type DepartureClaim, Receipts } from './receipts.js';

const config = { nats: { urls: [], replicas: 1, dlqRetentionDays: 7 }, changes: { retentionDays: 30 } };
const ENCRYPTION_KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const logger = createLogger({ level: 'silent', process: 'test' });
const untold = { tell: () => undefined };

/** The connections of this database. No vendor is offered, so no grant is revoked. */
function connectionsOf({ url, database }: OpenDatabase): Connections {
  const environment = {
    DATABASE_URL: url,
    REDIS_URL: 'redis://unused',
    NATS_URL: 'nats://unused',
    JWT_SECRET,
  };
  const http = { call: () => Promise.reject(new Error('no call to a vendor is expected')) };
  const productConfig = loadProductConfig({ ...environment, ENCRYPTION_KEYS });
  return createConnections({
    config: productConfig,
    database,
    http,
    workers: testWorkers(),
    timeScale: timeScale(1),
    logger,
  }).connections;
}

/** Connects Strava, also again. Returns the time of the connection. */
async function connectStrava({ database }: OpenDatabase, athleteId: string): Promise<string> {
  const { rows } = await database.query<{ at: string }>(
    `insert into connection
       (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
     values ($1, 'strava', $2, '{}', '', '', 1, now())
     on conflict (athlete_id, provider) do update set connected_at = now()
     returning connected_at::text as at`,
    [athleteId, athleteId],
  );
  return rows[0]?.at ?? '';
}

describe('the end of a connection', () => {
  let open: OpenDatabase;
  let receipts: Receipts;
  let connections: Connections;
  let account: Account;
  beforeAll(async () => {
    open = await openTestDatabase();
    receipts = new Receipts(open.database);
    connections = connectionsOf(open);
    account = new Account(receipts, connections, new Athletes(open.database), config);
  });
  afterAll(() => open.close());
  beforeEach(() => open.database.query('truncate receipt'));

  const connect = (athleteId: string) => connectStrava(open, athleteId);
  const isConnected = async (athleteId: string) => (await connections.list(athleteId)).length > 0;
  const receiptsOf = async (athleteId: string) =>
    (await open.database.query('select 1 from receipt where athlete_id = $1', [athleteId])).count;
  const deletionsWith = (its: Connections) =>
    new Deletions(
      receipts,
      its,
      untold,
      open.database,
      testWorkers(),
      noBindings(),
      config,
      timeScale(1),
      logger,
    );
  const noBindings = () => {
    const bindings = new AccountBindings();
    bindings.records.register([]);
    bindings.remains.register([]);
    return bindings;
  };

  /** Connections of a process that is frozen at its first call of `method`, while `meanwhile` happens. */
  function frozenAt(method: 'list' | 'disconnect', meanwhile: () => Promise<unknown>): Connections {
    let isAwake = false;
    const freeze = async (at: typeof method) => {
      if (at !== method || isAwake) return;
      isAwake = true;
      await meanwhile();
    };
    const list: Connections['list'] = async (...args) => {
      await freeze('list');
      return connections.list(...args);
    };
    const disconnect: Connections['disconnect'] = async (...args) => {
      await freeze('disconnect');
      return connections.disconnect(...args);
    };
    return { list, disconnect } as Connections;
  }

  it('a confirmed deauthorisation ends its connection and opens a receipt, and a repeated event does nothing more', async () => {
    const athleteId = await newAthlete(open.database);
    const connectedAt = await connect(athleteId);
    expect(await account.deauthorized(athleteId, 'strava', connectedAt)).toBe(true);
    expect(await account.deauthorized(athleteId, 'strava', connectedAt)).toBe(false);
    expect([await isConnected(athleteId), await receiptsOf(athleteId)]).toEqual([false, 1]);
  });

  it('a deauthorisation does not end a connection that was made after the deauthorisation', async () => {
    const athleteId = await newAthlete(open.database);
    const connectedAt = await connect(athleteId);
    await connect(athleteId);
    expect(await account.deauthorized(athleteId, 'strava', connectedAt)).toBe(false);
    expect([await isConnected(athleteId), await receiptsOf(athleteId)]).toEqual([true, 0]);
  });

  it('a deauthorisation does not end a connection that a concurrent transaction renews', async () => {
    const athleteId = await newAthlete(open.database);
    const connectedAt = await connect(athleteId);
    let answer: Promise<boolean> | undefined;
    await open.database.transaction(async (sql) => {
      await sql.query('update connection set connected_at = now() where athlete_id = $1', [athleteId]);
      answer = account.deauthorized(athleteId, 'strava', connectedAt);
      await sql.query('select pg_sleep(0.1)');
    });
    expect(await answer).toBe(false);
    expect([await isConnected(athleteId), await receiptsOf(athleteId)]).toEqual([true, 0]);
  });

  it('a disconnection of a vendor that is not connected is refused, and opens no receipt', async () => {
    const athleteId = await newAthlete(open.database);
    await expect(account.disconnect(athleteId, 'strava')).rejects.toThrow(NotConnected);
    expect(await receiptsOf(athleteId)).toBe(0);
  });

  const ends: ReadonlyArray<
    readonly [string, (its: Account, athleteId: string, at: string) => Promise<unknown>]
  > = [
    ['deauthorisation', (its, athleteId, at) => its.deauthorized(athleteId, 'strava', at)],
    ['disconnection', (its, athleteId) => its.disconnect(athleteId, 'strava')],
  ];
  it.each(ends)(
    'a %s ends the connection and opens the receipt in one transaction, so that a process frozen between the two cannot end a later connection',
    async (_, end) => {
      const athleteId = await newAthlete(open.database);
      const connectedAt = await connect(athleteId);
      let before = -1;
      const frozen = frozenAt('disconnect', async () => (before = await receiptsOf(athleteId)));
      await end(new Account(receipts, frozen, new Athletes(open.database), config), athleteId, connectedAt);
      expect([before, await receiptsOf(athleteId), await isConnected(athleteId)]).toEqual([0, 1, false]);
    },
  );

  it.each(['list', 'disconnect'] as const)(
    'a worker of a deletion that is frozen past its lease before `%s` does not end a connection that was made since',
    async (method) => {
      const athleteId = await newAthlete(open.database);
      await connect(athleteId);
      const receiptId = (await receipts.openForConnection(open.database, athleteId, 'strava', 'requested'))!;
      const frozen = frozenAt(method, async () => {
        await open.database.query('update receipt set leased_until = now()');
        await deletionsWith(connections).deleteRows();
        expect(await receipts.isOpen(athleteId, 'strava')).toBe(false);
        await connect(athleteId);
      });
      fenceRejected.reset();
      await deletionsWith(frozen).deleteRows();
      expect(await isConnected(athleteId)).toBe(true);
      expect((await fenceRejected.get()).values).toMatchObject([{ labels: { kind: 'deletion' }, value: 1 }]);
      expect(await receipts.find(receiptId)).toMatchObject({ status: 'pending' });
    },
  );
});

describe('an account that is deleted', () => {
  let open: OpenDatabase;
  let receipts: Receipts;
  let account: Account;
  let late: number[];
  let erase: Remains['erase'];
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(async () => {
    await open.database.query('truncate receipt');
    receipts = new Receipts(open.database);
    account = new Account(receipts, {} as Connections, new Athletes(open.database), config);
    late = [];
    erase = ([departed], count) => count(departed!, 3);
  });

  const deletions = (
    change: Partial<PersonalRecords> = {},
    { workers = testWorkers(), log = logger, changesDays = 30, factor = 1 } = {},
  ) => {
    const nights: PersonalRecords = {
      name: 'nights',
      provider: null,
      read: () => (async function* () {})(),
      deleteSome: () => Promise.resolve(late.shift() ?? 0),
      ...change,
    };
    const messages: Remains = { name: 'messages', erase: (...asked) => erase(...asked) };
    const bindings = new AccountBindings();
    bindings.records.register([nights]);
    bindings.remains.register([messages]);
    return new Deletions(
      receipts,
      { list: () => Promise.resolve([]) } as unknown as Connections,
      untold,
      open.database,
      workers,
      bindings,
      { ...config, changes: { retentionDays: changesDays } },
      timeScale(factor),
      log,
    );
  };
  const marginPasses = () =>
    open.database.query("update receipt set rows_deleted_at = rows_deleted_at - interval '1 second'");
  const eraseRemains = async () => {
    await marginPasses();
    await deletions().eraseRemains();
  };
  const callerOf = (athleteId: string) =>
    ({ athleteId, subject: athleteId, issuer: 'test' }) as unknown as Caller;
  const leaver = async () => callerOf(await newAthlete(open.database));

  it('Deletions completes a receipt after the rows and messages of the account are deleted, and waits while NATS is away', async () => {
    const caller = await leaver();
    const id = await account.delete(caller);
    let seen: unknown;
    erase = ([departed]) => {
      seen = departed;
      return Promise.reject(new DependencyUnavailable('nats'));
    };
    await deletions().deleteRows();
    await eraseRemains();
    expect(seen).toMatchObject({ athlete_id: caller.athleteId, subject: caller.subject, provider: null });
    expect(await receipts.find(id)).toMatchObject({ status: 'pending', until: null });
    // The claim was released, so another worker continues at once.
    erase = ([departed], count) => count(departed!, 3);
    await eraseRemains();
    expect(await receipts.find(id)).toMatchObject({
      status: 'completed',
      deleted: { nights: 0, messages: 3 },
    });
    const { rows } = await open.database.query('select subject, accounts from receipt');
    expect(rows).toEqual([{ subject: null, accounts: {} }]);
  });

  it.each([
    { changesDays: 30, factor: 1, ends: 'with athlete.deleted in the log of changes', days: 30 },
    { changesDays: 10, factor: 1, ends: 'with the memory of the deletion', days: 22 },
    {
      changesDays: 30,
      factor: 2,
      ends: 'with the memory of the deletion, which TIME_SCALE does not divide',
      days: 22,
    },
  ])(
    '`until` of a receipt is $days days after its completion, $ends, if changes are kept for $changesDays days at TIME_SCALE $factor',
    async ({ changesDays, factor, days }) => {
      const id = await account.delete(await leaver());
      await deletions().deleteRows();
      await marginPasses();
      await deletions({}, { changesDays, factor }).eraseRemains();
      const { completed_at, until } = await receipts.find(id);
      expect((until!.getTime() - completed_at!.getTime()) / 86_400_000).toBe(days);
    },
  );

  it('Deletions deletes no row while a call to a vendor may still begin, and ends at once if the process stops meanwhile', async () => {
    const id = await account.delete(await leaver());
    const steps: string[] = [];
    const open = [true, true, false];
    const hasOpenCalls = () => {
      const isOpen = open.shift() ?? false;
      steps.push(isOpen ? 'open' : 'none');
      return Promise.resolve(isOpen);
    };
    const deleteSome = () => {
      steps.push('deletes');
      return Promise.resolve(0);
    };
    const workers = testWorkers();
    const stopping = () => {
      void workers.beforeApplicationShutdown();
      return Promise.resolve(true);
    };
    await deletions({ hasOpenCalls: stopping, deleteSome }, { workers }).deleteRows();
    expect(steps).toEqual([]);
    await deletions({ hasOpenCalls, deleteSome }).deleteRows();
    expect(steps.slice(0, 4)).toEqual(['open', 'open', 'none', 'deletes']);
    await eraseRemains();
    expect(await receipts.find(id)).toMatchObject({ status: 'completed' });
  });

  it('Deletions deletes more batches if new data arrives between the last batch and the closing transaction', async () => {
    const id = await account.delete(await leaver());
    // The rows that each call deletes: 2, then 0, then 1 in the closing transaction, then 0 twice.
    late = [2, 0, 1, 0, 0];
    await deletions().deleteRows();
    await eraseRemains();
    expect(await receipts.find(id)).toMatchObject({ status: 'completed', deleted: { nights: 3 } });
  });

  it('Deletions ends after its present batch if the process stops, and another worker continues at once', async () => {
    const id = await account.delete(await leaver());
    const workers = testWorkers();
    let batches = 0;
    let stopped: Promise<void> | undefined;
    const deleteSome = () => {
      batches += 1;
      if (batches === 3) stopped = workers.beforeApplicationShutdown();
      return Promise.resolve(batches < 50 ? 1 : 0);
    };
    await deletions({ deleteSome }, { workers }).deleteRows();
    await stopped;
    expect(batches).toBe(3);
    await deletions().deleteRows();
    await eraseRemains();
    expect(await receipts.find(id)).toMatchObject({ status: 'completed', deleted: { nights: 3 } });
  });

  it('Deletions logs the completion of the receipts that it has completed, not of one that another worker has claimed since', async () => {
    const [mine, taken] = [await account.delete(await leaver()), await account.delete(await leaver())];
    await deletions().deleteRows();
    await marginPasses();
    erase = async () => {
      await open.database.query('update receipt set fence = fence + 1 where id = $1', [taken]);
    };
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const log = createLogger({ level: 'info', process: 'test', destination });
    await deletions({}, { log }).eraseRemains();
    const completed = lines.filter((line) => line.includes('deletion completed'));
    expect(completed.map((line) => JSON.parse(line) as object)).toMatchObject([{ receipt_id: mine }]);
    expect(await receipts.find(taken)).toMatchObject({ status: 'pending' });
  });

  it('Account returns the same receipt to every request to delete an account, also before the receipt is completed', async () => {
    const caller = await leaver();
    const id = await account.delete(caller);
    await deletions().deleteRows();
    expect(await account.delete(caller)).toBe(id);
    await eraseRemains();
    expect([await account.delete(caller), await account.delete(caller)]).toEqual([id, id]);
    const { count } = await open.database.query('select 1 from athlete where id = $1', [caller.athleteId]);
    expect(count).toBe(0);
  });

  it('Account returns the same receipt to tokens of an issuer that was configured after the account was created', async () => {
    const issuer = 'https://id.example';
    const subject = `auth0|${randomUUID()}`;
    const caller = (of: string) => ({ athleteId: athleteIdOf(of, subject), subject, issuer: of }) as Caller;
    await new Athletes(open.database).ensure(caller(''));
    const athletes = () => new Athletes(open.database, { auth: { issuer } });
    const asking = () => new Account(receipts, {} as Connections, athletes(), config).delete(caller(issuer));
    const id = await asking();
    await deletions().deleteRows();
    expect(await asking()).toBe(id);
    expect((await open.database.query('select 1 from athlete where subject = $1', [subject])).count).toBe(0);
    await athletes().ensure(caller(issuer));
    expect(await asking()).not.toBe(id);
  });

  it('Account returns the same receipt to a service key that lost the answer, and 404 for an athlete whom it never knew', async () => {
    const leaving = await leaver();
    const ofKey = (athleteId: string) =>
      ({ kind: 'service', actor: 'key:1', athleteId, subject: '', issuer: '' }) as unknown as Caller;
    const id = await account.delete({ ...leaving, kind: 'service', actor: 'key:1' } as Caller);
    await deletions().deleteRows();
    expect(await account.delete(ofKey(leaving.athleteId))).toBe(id);
    await expect(account.delete(ofKey(randomUUID()))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const { count } = await open.database.query("select from athlete where subject = ''");
    expect(count).toBe(0);
  });

  it('Account opens a new receipt if the account exists again, or if its deletion is no longer remembered', async () => {
    const caller = await leaver();
    const ids = [await account.delete(caller)];
    await deletions().deleteRows();
    await new Athletes(open.database).ensure(caller);
    ids.push(await account.delete(caller));
    await deletions().deleteRows();
    await open.database.query(
      "update receipt set rows_deleted_at = rows_deleted_at - interval '22 days 1 minute'",
    );
    ids.push(await account.delete(caller));
    expect(new Set(ids).size).toBe(3);
  });

  it('Receipts deletes the receipt of a deleted account after its retention, and not before', async () => {
    const id = await account.delete(await leaver());
    await deletions().deleteRows();
    await eraseRemains();
    const age = (days: number) =>
      open.database.query(`update receipt set completed_at = now() - $1 * interval '1 day'`, [days]);
    await age(29);
    expect(await receipts.purge(30 * 24 * HOUR_MS)).toBe(0);
    expect(await receipts.find(id)).toMatchObject({ id });
    await age(31);
    expect(await receipts.purge(30 * 24 * HOUR_MS)).toBe(1);
    await expect(receipts.find(id)).rejects.toThrow('No such receipt');
  });

  const HOUR_MS = 3_600_000;
  const whole = async () => (await open.database.query('select * from receipt')).rows;
  const leasesEnd = () => open.database.query('update receipt set leased_until = now()');

  const rowWrites: ReadonlyArray<readonly [string, (claim: Deletion) => Promise<unknown>]> = [
    ['count of deleted rows', (claim) => receipts.countRows(open.database, claim, 'nights', 2)],
    ['end of the deleted rows', (claim) => receipts.rowsDeleted(open.database, claim, new Date())],
    ['release', (claim) => receipts.release([claim])],
  ];

  it.each(rowWrites)(
    'the %s of a deletion that another worker has claimed since changes nothing, and is counted',
    async (_, write) => {
      await account.delete(await leaver());
      const frozen = (await receipts.claim(HOUR_MS))!;
      await leasesEnd();
      await receipts.claim(HOUR_MS);
      const claimed = await whole();
      fenceRejected.reset();
      const answer = await write(frozen).catch((error: unknown) => error);
      expect(answer === false || answer instanceof ClaimLost).toBe(true);
      expect(await receipts.renew(frozen, HOUR_MS)).toBe(false);
      expect(await whole()).toEqual(claimed);
      expect((await fenceRejected.get()).values).toMatchObject([{ labels: { kind: 'deletion' }, value: 1 }]);
    },
  );

  const departureWrites: ReadonlyArray<readonly [string, (claims: DepartureClaim[]) => Promise<unknown>]> = [
    ['count of erased messages', ([claim]) => receipts.countErased(claim!, 'messages', 2)],
    ['release', (claims) => receipts.release(claims)],
    ['completion', async (claims) => (await receipts.complete(claims, HOUR_MS)).length > 0],
  ];

  it.each(departureWrites)(
    'the %s of a departure that another worker has claimed since changes nothing, and is counted',
    async (_, write) => {
      await account.delete(await leaver());
      await deletions().deleteRows();
      await marginPasses();
      const frozen = [...(await receipts.claimDepartures(HOUR_MS, 10))];
      await leasesEnd();
      await receipts.claimDepartures(HOUR_MS, 10);
      const claimed = await whole();
      fenceRejected.reset();
      expect(await write(frozen)).not.toBe(true);
      expect(await receipts.renewDepartures(frozen, HOUR_MS)).toBe(false);
      expect(await whole()).toEqual(claimed);
      expect((await fenceRejected.get()).values).toMatchObject([{ labels: { kind: 'deletion' }, value: 1 }]);
    },
  );

  it('a worker that loses its claim during a deletion rolls its batch back and ends, and the other one completes it', async () => {
    const id = await account.delete(await leaver());
    const other = deletions();
    late = [5, 0, 0];
    const frozen = deletions({
      deleteSome: async () => {
        await leasesEnd();
        await other.deleteRows();
        return 7;
      },
    });
    await frozen.deleteRows();
    expect(await receipts.find(id)).toMatchObject({ deleted: { nights: 5 } });
  });
});
