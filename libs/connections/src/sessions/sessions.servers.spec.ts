import { hash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { athleteIdOf, type Person } from '#platform';
import { Proxy } from '../../../../test/harness/proxy.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { Athletes } from '../athletes.js';
import { SessionRecords } from './session-records.js';
import { Sessions } from './sessions.js';
import { SignInCodes } from './sign-in-codes.js';

const HOUR_MS = 3_600_000;
const http = { publicUrl: 'http://127.0.0.1:3000' };
const wrongSecret = () => randomBytes(32).toString('base64url');

describe('sessions', () => {
  let open: OpenDatabase;
  let codes: SignInCodes;
  beforeAll(async () => {
    open = await openTestDatabase();
    codes = new SignInCodes(open.database);
  });
  afterAll(() => open.close());
  beforeEach(() => open.database.query('delete from athlete'));

  const replica = (database = open.database) => new Sessions(database, new Athletes(database), { http });
  const person = (expiresAtMs = Date.now() + 24 * HOUR_MS, subject = 'auth0|ann'): Person => ({
    kind: 'person',
    athleteId: athleteIdOf('', subject),
    subject,
    issuer: '',
    role: 'admin',
    account: 'Ann (auth0|ann)',
    expiresAtMs,
  });
  /** A code of a person whose row exists, as after any request. */
  async function codeOf(one: Person): Promise<string> {
    await new Athletes(open.database).ensure(one);
    return (await codes.create(one)).code;
  }
  const rowsIn = async (table: string) =>
    (await open.database.query<{ row: string }>(`select to_jsonb(t)::text as row from ${table} t`)).rows;
  const expire = (table: string) =>
    open.database.query(`update ${table} set expires_at = clock_timestamp() - interval '1 second'`);

  it('a session is valid on every replica at once, as the person of its token', async () => {
    const [one, other] = [replica(), replica()];
    const { secret, person: begun } = await one.begin(person());
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(other.recall(secret)).toBeUndefined();
    const found = await other.verify(secret);
    expect(found).toEqual(begun);
    expect(found).toMatchObject({
      kind: 'person',
      athleteId: person().athleteId,
      subject: 'auth0|ann',
      role: 'admin',
      account: 'Ann (auth0|ann)',
    });
    expect(other.recall(secret)).toBe(found);
  });

  it('a session lasts 12 hours, and no longer than its token', async () => {
    const lasts = async (tokenMs: number) =>
      (await replica().begin(person(tokenMs))).person.expiresAtMs - Date.now();
    expect(await lasts(Date.now() + 24 * HOUR_MS)).toBeGreaterThan(12 * HOUR_MS - 60_000);
    expect(await lasts(Date.now() + 24 * HOUR_MS)).toBeLessThanOrEqual(12 * HOUR_MS + 1_000);
    expect(await lasts(1e300)).toBeLessThanOrEqual(12 * HOUR_MS + 1_000);
    const endMs = Math.floor(Date.now() / 1_000) * 1_000 + HOUR_MS;
    expect((await replica().begin(person(endMs))).person.expiresAtMs).toBe(endMs);
    await expect(replica().begin(person(Date.now() - 5_000))).rejects.toThrow('Token expired');
  });

  it('no table has the secret of a session or a code, nor the CSRF token', async () => {
    const { secret, person: begun } = await replica().begin(person());
    const code = await codeOf(person());
    const stored = [...(await rowsIn('session')), ...(await rowsIn('sign_in_code'))];
    expect(stored).toHaveLength(2);
    for (const hidden of [secret, code, begun.session.csrfToken])
      for (const { row } of stored) expect(row).not.toContain(hidden);
    expect(stored[0]?.row).toContain(hash('sha256', secret, 'hex'));
    expect(begun.session.csrfToken).not.toBe(secret);
  });

  it.each([
    ['unknown', wrongSecret()],
    ['empty', ''],
    ['too long', 'a'.repeat(10_000)],
    ['not base64url', `${'a'.repeat(42)}'`],
  ])('a session is refused if its secret is %s', async (_, secret) => {
    await expect(replica().verify(secret)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('a session that has ended is refused at once here, and by another replica that remembered it within 5 s', async () => {
    const [one, other] = [replica(), replica()];
    const { secret, person: begun } = await one.begin(person());
    await one.verify(secret);
    await other.verify(secret);
    const endedAtMs = performance.now();
    await one.end(begun.session.hash);
    expect(one.recall(secret)).toBeUndefined();
    await expect(one.verify(secret)).rejects.toThrow('has ended');
    while (other.recall(secret)) await new Promise(setImmediate);
    expect(performance.now() - endedAtMs).toBeLessThan(5_500);
    await expect(other.verify(secret)).rejects.toThrow('has ended');
  });

  it('a session that has expired is refused and purged, and a purge leaves the others', async () => {
    const { secret } = await replica().begin(person());
    await codeOf(person());
    await expire('session');
    await expire('sign_in_code');
    await expect(replica().verify(secret)).rejects.toThrow('has ended');
    const { secret: live } = await replica().begin(person());
    await codeOf(person());
    expect(await replica().purge()).toBe(1);
    expect(await codes.purge()).toBe(1);
    await replica().verify(live);
    expect(await rowsIn('sign_in_code')).toHaveLength(1);
  });

  it('a remembered session ends with its token, also within the 5 s', async () => {
    const { secret } = await replica().begin(person());
    await open.database.query(`update session set expires_at = clock_timestamp() + interval '1 second'`);
    const one = replica();
    const beganAtMs = performance.now();
    await one.verify(secret);
    while (one.recall(secret)) await new Promise(setImmediate);
    expect(performance.now() - beganAtMs).toBeLessThan(2_000);
  });

  it('a thousand different wrong cookies cost few statements', async () => {
    const counted = { statements: 0 };
    const database = {
      query: (...args: Parameters<typeof open.database.query>) => {
        counted.statements += 1;
        return open.database.query(...args);
      },
    } as typeof open.database;
    const one = replica(database);
    const refused = await Promise.allSettled(Array.from({ length: 1_000 }, () => one.verify(wrongSecret())));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(counted.statements).toBeLessThanOrEqual(2);
  });

  it('a code signs in exactly one of eight requests, as the person who made it', async () => {
    const code = await codeOf(person());
    const begun = await Promise.allSettled(Array.from({ length: 8 }, () => replica().beginByCode(code)));
    const won = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(won).toHaveLength(1);
    for (const one of begun)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'SIGN_IN_CODE_INVALID' });
    expect(await replica().verify(won[0]?.secret ?? '')).toMatchObject({
      athleteId: person().athleteId,
      subject: 'auth0|ann',
      role: 'admin',
    });
    expect(await rowsIn('sign_in_code')).toEqual([]);
  });

  it('a code is refused if it is unknown or expired, and its session ends with the token of the person who made it', async () => {
    await expect(replica().beginByCode(wrongSecret())).rejects.toMatchObject({
      code: 'SIGN_IN_CODE_INVALID',
    });
    const expired = await codeOf(person());
    await expire('sign_in_code');
    await expect(replica().beginByCode(expired)).rejects.toMatchObject({ code: 'SIGN_IN_CODE_INVALID' });
    const endMs = Math.floor(Date.now() / 1_000) * 1_000 + 2 * HOUR_MS;
    const code = await codeOf(person(endMs));
    expect((await replica().beginByCode(code)).person.expiresAtMs).toBe(endMs);
  });

  it('a code is valid for an hour, and no longer than the token', async () => {
    await new Athletes(open.database).ensure(person());
    const validMs = async (tokenMs: number) =>
      (await codes.create(person(tokenMs))).expiresAt.getTime() - Date.now();
    expect(await validMs(1e300)).toBeGreaterThan(HOUR_MS - 60_000);
    expect(await validMs(1e300)).toBeLessThanOrEqual(HOUR_MS + 1_000);
    expect(await validMs(Date.now() + 60_000)).toBeLessThanOrEqual(61_000);
  });

  it('the sessions and codes of an athlete are deleted with the athlete’s row', async () => {
    const { secret } = await replica().begin(person());
    const code = await codeOf(person());
    await open.database.query('delete from athlete where id = $1', [person().athleteId]);
    expect([...(await rowsIn('session')), ...(await rowsIn('sign_in_code'))]).toEqual([]);
    await expect(replica().verify(secret)).rejects.toThrow('has ended');
    await expect(replica().beginByCode(code)).rejects.toMatchObject({ code: 'SIGN_IN_CODE_INVALID' });
  });

  it('a sign-in by code that waits for a deletion of the account is refused, and neither of the two fails', async () => {
    const code = await codeOf(person());
    let signingIn: Promise<unknown> | undefined;
    await open.database.transaction(async (sql) => {
      await sql.query('select 1 from athlete where id = $1 for update', [person().athleteId]);
      signingIn = replica()
        .beginByCode(code)
        .catch((error: unknown) => error);
      await sql.query('delete from athlete where id = $1', [person().athleteId]);
    });
    expect(await signingIn).toMatchObject({ code: 'SIGN_IN_CODE_INVALID' });
  });

  it('the export of an athlete has the sessions without their secrets', async () => {
    const { secret } = await replica().begin(person());
    const pages = [];
    for await (const page of new SessionRecords(open.database).read(person().athleteId)) pages.push(...page);
    expect(pages).toEqual([
      {
        role: 'admin',
        account: 'Ann (auth0|ann)',
        created_at: expect.any(Date),
        expires_at: expect.any(Date),
      },
    ]);
    expect(JSON.stringify(pages)).not.toContain(hash('sha256', secret, 'hex').slice(0, 16));
  });

  it('while Postgres is away, a remembered session is recalled, and another one is answered with DependencyUnavailable', async () => {
    const proxy = await Proxy.before(open.url);
    const pool = await openPool(proxy.url);
    const one = replica(pool.database);
    const { secret } = await replica().begin(person());
    const { secret: other } = await replica().begin(person());
    await one.verify(secret);
    await proxy.close();
    expect(one.recall(secret)).toBeDefined();
    await expect(one.verify(other)).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' });
    await pool.close();
  });
});
