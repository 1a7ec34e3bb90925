import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { athleteIdOf, type Person } from '#platform';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { Athletes } from './athletes.js';

const ISSUER = 'https://id.example';

describe('Athletes.ensure', () => {
  let open: OpenDatabase;
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(() => open.database.query('delete from athlete'));

  const caller = (issuer: string, subject = 'auth0|ann'): Person => ({
    kind: 'person',
    athleteId: athleteIdOf(issuer, subject),
    subject,
    issuer,
    role: 'athlete',
    expiresAtMs: 0,
    account: subject,
  });
  /** `Athletes` of a process that has this JWT_ISSUER, or none if `issuer` is absent. */
  const athletes = (issuer?: string) => new Athletes(open.database, { auth: { issuer } });
  const rows = async () =>
    (
      await open.database.query<{ id: string; issuer: string }>(
        'select id, issuer from athlete order by issuer',
      )
    ).rows;

  it('creates one athlete if eight processes receive their first call at the same time', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => athletes(ISSUER).ensure(caller(ISSUER))));
    expect(new Set(ids)).toEqual(new Set([caller(ISSUER).athleteId]));
    expect(await rows()).toHaveLength(1);
  });

  it.each([
    ['any text', 'auth0|ann'],
    ['a UUID', '7b0c1f8e-2f4c-4a39-9a0d-0d7a5f1c2e11'],
  ])('keeps the athlete id after an issuer is configured, if the subject is %s', async (_, subject) => {
    const before = await athletes().ensure(caller('', subject));
    const ids = await Promise.all(
      Array.from({ length: 8 }, () => athletes(ISSUER).ensure(caller(ISSUER, subject))),
    );
    expect(new Set(ids)).toEqual(new Set([before]));
    expect(await rows()).toEqual([{ id: before, issuer: ISSUER }]);
    const again = athletes(ISSUER);
    await again.ensure(caller(ISSUER, subject));
    expect(again.knownId(caller(ISSUER, subject))).toBe(before);
  });

  it('a deletion that is told while the athlete is looked up leaves nothing in the cache', async () => {
    const told: { forget?: () => void } = {};
    const database = {
      query: async (...args: Parameters<typeof open.database.query>) => {
        const answer = await open.database.query(...args);
        told.forget?.();
        return answer;
      },
    } as unknown as typeof open.database;
    const api = new Athletes(database, { auth: { issuer: ISSUER } });
    const id = await api.ensure(caller(ISSUER));
    expect(api.knownId(caller(ISSUER))).toBe(id);
    told.forget = () => api.forget(id);
    expect(await api.ensure(caller(ISSUER))).toBe(id);
    expect(api.knownId(caller(ISSUER))).toBeUndefined();
  });

  it('creates another athlete for the same subject if the token’s issuer is not configured', async () => {
    const before = await athletes().ensure(caller(''));
    expect(await athletes().ensure(caller('https://elsewhere.example'))).not.toBe(before);
    expect(await rows()).toHaveLength(2);
  });

  it('returns the athlete with the token’s issuer, not another athlete with the same subject and no issuer', async () => {
    const before = await athletes().ensure(caller(''));
    const own = caller(ISSUER);
    await open.database.query('insert into athlete (id, issuer, subject) values ($1, $2, $3)', [
      own.athleteId,
      ISSUER,
      own.subject,
    ]);
    expect(await athletes(ISSUER).ensure(own)).toBe(own.athleteId);
    expect(await rows()).toEqual([
      { id: before, issuer: '' },
      { id: own.athleteId, issuer: ISSUER },
    ]);
  });

  it('finds the same athlete for a UUID subject, whichever issuer the token has', async () => {
    const subject = '7b0c1f8e-2f4c-4a39-9a0d-0d7a5f1c2e11';
    for (const issuer of ['', ISSUER, 'https://elsewhere.example'])
      expect(await athletes().ensure(caller(issuer, subject))).toBe(subject);
    expect(await rows()).toHaveLength(1);
  });
});
