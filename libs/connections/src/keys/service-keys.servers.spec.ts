import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { athleteIdOf, canonicalSubject, createLogger, type Database, OperatorActions } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { AthleteDirectory } from '../athlete-directory.js';
import { Athletes } from '../athletes.js';
import { ServiceKeys } from './service-keys.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const UNKNOWN_ID = '7b0c1f8e-2f4c-4a39-9a0d-0d7a5f1c2e11';
const wrongKey = (filling: string) => `pk_${filling.repeat(43)}`;

describe('service keys', () => {
  let open: OpenDatabase;
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(() => open.database.query('truncate service_key, operator_action'));

  const keysOf = (database: Database) => new ServiceKeys(database, new OperatorActions(database), logger);
  const replica = () => keysOf(open.database);
  const newKey = (keys: ServiceKeys, name = 'backend') =>
    keys.create({ name, scopes: ['read', 'events'], actor: 'an operator' });

  it('a service key has 256 random bits, and no table has more of it than its hash', async () => {
    const made = await newKey(replica());
    expect(made).toMatchObject({ name: 'backend', scopes: ['read', 'events'] });
    expect(made.key).toMatch(/^pk_[\w-]{43}$/);
    expect((await newKey(replica())).key).not.toBe(made.key);
    for (const table of ['service_key', 'operator_action']) {
      const { rows } = await open.database.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${table} t`,
      );
      expect(rows).toHaveLength(2);
      expect(rows.some(({ row }) => row.includes(made.key.slice(3, 20)))).toBe(false);
    }
  });

  it('a service key works at once on every replica, and only with its own scopes', async () => {
    const [one, other] = [replica(), replica()];
    await newKey(one);
    await expect(other.verify(wrongKey('a'))).rejects.toThrow('unknown or revoked');
    const { id, key } = await newKey(one, 'new');
    expect(await other.verify(key)).toEqual({ id, name: 'new', scopes: ['read', 'events'] });
    expect(other.recall(key)).toMatchObject({ id });
  });

  it('a revoked key is refused at once by the replica that revoked it, and a second revocation changes nothing', async () => {
    const keys = replica();
    const { id, key } = await newKey(keys);
    await keys.verify(key);
    await keys.revoke(id, 'an operator');
    await expect(keys.verify(key)).rejects.toThrow('unknown or revoked');
    const [first] = (await keys.list(undefined, 10)).items;
    await keys.revoke(id, 'an operator');
    expect((await keys.list(undefined, 10)).items).toEqual([first]);
    await expect(keys.revoke(UNKNOWN_ID, 'an operator')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const { rows } = await open.database.query(
      'select actor, action, target, detail from operator_action order by id',
    );
    expect(rows).toEqual([
      {
        actor: 'an operator',
        action: 'key.create',
        target: id,
        detail: { name: 'backend', scopes: ['read', 'events'] },
      },
      { actor: 'an operator', action: 'key.revoke', target: id, detail: { name: 'backend' } },
    ]);
  });

  it('the list of keys has pages, newest first, with the last use', async () => {
    const keys = replica();
    for (const name of ['a', 'b', 'c']) await newKey(keys, name);
    const { key } = await newKey(keys, 'd');
    await keys.verify(key);
    await eventually('the use is noted', async () => (await keys.list(undefined, 1)).items[0]?.last_used_at);
    const first = await keys.list(undefined, 2);
    const second = await keys.list(first.next_cursor ?? '', 2);
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['d', 'c', 'b', 'a']);
    expect(second.next_cursor).toBeNull();
    expect(second.items[0]).toMatchObject({ revoked_at: null, last_used_at: null });
    expect(JSON.stringify(first)).not.toContain(key);
  });

  it('the last use of a key is written once, however often a process uses the key within a minute', async () => {
    const keys = replica();
    const { key } = await newKey(keys);
    await keys.verify(key);
    const version = async () =>
      (
        await open.database.query(
          'select xmin::text as version from service_key where last_used_at is not null',
        )
      ).rows[0];
    const written = await eventually('the use is noted', version);
    for (let use = 0; use < 1_000; use += 1) expect(keys.recall(key)).toBeDefined();
    await keys.list(undefined, 1);
    expect(await version()).toEqual(written);
  });

  it('no more than 1,000 keys are in use, and a revoked one makes room', async () => {
    await open.database.query(
      "insert into service_key (name, scopes, hash) select 'many', '{read}', sha256(n::text::bytea) from generate_series(1, 999) n",
    );
    const keys = replica();
    const { id } = await newKey(keys);
    await expect(newKey(keys)).rejects.toMatchObject({ code: 'TOO_MANY_KEYS' });
    await keys.revoke(id, 'an operator');
    expect((await newKey(keys)).key).toMatch(/^pk_/);
  });

  it('while Postgres is frozen, a known key is accepted from memory for up to 5 s, and other keys fail as unavailable', async () => {
    const proxy = await Proxy.before(open.url);
    const pool = await openPool(proxy.url, [], { statementTimeoutMs: 200 });
    try {
      const keys = keysOf(pool.database);
      const { key } = await newKey(replica());
      await keys.verify(key);
      proxy.cut();
      expect(keys.recall(key)).toBeDefined();
      await expect(keys.verify(wrongKey('b'))).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' });
      await expect(keys.verify('pk_malformed')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    } finally {
      await pool.close();
      await proxy.close();
    }
  });
});

describe('the athletes that a service key sees', () => {
  const ISSUER = 'https://id.example';
  let open: OpenDatabase;
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(() => open.database.query('delete from athlete'));

  const login = (sub: string) => {
    const subject = canonicalSubject(sub);
    return { athleteId: athleteIdOf(ISSUER, subject), issuer: ISSUER, subject };
  };
  const athletes = () => new Athletes(open.database, { auth: { issuer: ISSUER } });
  const directory = () => new AthleteDirectory(open.database, athletes());

  it.each([
    ['any text', 'auth0|ann'],
    ['a UUID in upper case', '7B0C1F8E-2F4C-4A39-9A0D-0D7A5F1C2E11'],
  ])(
    'registering an athlete gives the id of the first login, and creates one athlete, if the subject is %s',
    async (_, subject) => {
      const made = await Promise.all(Array.from({ length: 8 }, () => directory().register(subject)));
      expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
      const ids = new Set(made.map(({ athlete }) => athlete.id));
      expect(ids.size).toBe(1);
      const person = login(subject);
      expect(await athletes().ensure(person)).toBe([...ids][0]);
      expect(made[0]?.athlete).toMatchObject({ subject: person.subject, connections: [] });
    },
  );

  it('the list of athletes has every athlete once, oldest first, also those created between the pages', async () => {
    const all = directory();
    for (let n = 0; n < 5; n += 1) await all.register(`athlete ${n}`);
    const first = await all.list(undefined, 3);
    await all.register('athlete 5');
    const second = await all.list(first.next_cursor ?? '', 3);
    expect([...first.items, ...second.items].map(({ subject }) => subject)).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => `athlete ${n}`),
    );
    expect(second.next_cursor).toBeNull();
    await expect(all.list('nonsense', 3)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('a deleted athlete is unknown to a new process, and to others after their cache has expired', async () => {
    const { athlete } = await directory().register('ann');
    const all = directory();
    expect(await all.find(athlete.id)).toEqual({
      athleteId: athlete.id,
      issuer: ISSUER,
      subject: 'ann',
      account: 'ann',
    });
    expect(all.recall(athlete.id)).toBeDefined();
    await open.database.query('delete from athlete');
    expect(await directory().find(athlete.id)).toBeUndefined();
  });
});
