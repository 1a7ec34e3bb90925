import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadConfig } from '#platform';
import { ConnectionsHarness, connect, keys, newAthlete, type Worker } from '../connections.harness.js';
import { rotateKeys } from './rotate-keys.js';
import { SecretUnreadable, Vault } from './vault.js';

const MAIN = new URL('../../../../dist/libs/connections/src/crypto/rotate-keys.main.js', import.meta.url)
  .pathname;

let harness: ConnectionsHarness;
let old: Worker;
const athletes: string[] = [];
beforeAll(async () => {
  harness = await ConnectionsHarness.open();
  old = await harness.worker();
  for (let count = 0; count < 7; count += 1) {
    const athlete = await newAthlete(old);
    athletes.push(athlete);
    const athlete_id = await harness.simulator.newAthlete('oura');
    await connect(harness, old, athlete, 'oura', { athlete_id });
  }
  await harness.simulator.fault('oura', 'revoke', 'http_500');
  await old.connections.disconnect(athletes.pop() ?? '', 'oura');
  await harness.simulator.clearFaults();
});
afterAll(() => harness.close());

const vault = (...versions: number[]) =>
  new Vault(loadConfig({ ...harness.env, ENCRYPTION_KEYS: keys(...versions) }).encryptionKeys);
const versions = async () => {
  const { rows } = await old.database.query<{ version: number; count: number }>(
    `select key_version as version, count(*)::int as count
     from (select key_version from connection union all select key_version from revocation) as every
     group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map(({ version, count }) => [version, count]));
};
const tokens = (worker: Worker) =>
  Promise.all(athletes.map(async (id) => (await worker.connections.access(id, 'oura')).token));

it('is resumable and idempotent, loses nothing, and lets the old key go', async () => {
  const before = await tokens(old);
  // Stopped in the middle of the second batch.
  let writes = 0;
  const dying = {
    query: (statement: never, values: never) => {
      if (String(statement).startsWith('update') && (writes += 1) > 3) throw new Error('killed');
      return old.database.query(statement, values);
    },
  };
  await expect(rotateKeys(dying as never, vault(2, 1), 2)).rejects.toThrow('killed');
  expect(await versions()).toEqual({ 1: 4, 2: 3 });

  expect(await rotateKeys(old.database, vault(2, 1), 2)).toEqual({ resealed: 4, unreadable: 0 });
  expect(await rotateKeys(old.database, vault(2, 1), 2)).toEqual({ resealed: 0, unreadable: 0 });
  expect(await versions()).toEqual({ 2: 7 });
  const onlyNew = await harness.worker({ env: { ENCRYPTION_KEYS: keys(2) } });
  expect(await tokens(onlyNew)).toEqual(before);
  await old.database.query('update revocation set next_attempt_at = now()');
  expect(await onlyNew.revocations.runOnce()).toBe(1);
  await expect(tokens(old)).rejects.toThrow(SecretUnreadable);
});

it('does not overwrite tokens that were renewed meanwhile', async () => {
  const [athlete = ''] = athletes;
  const newest = await harness.worker({ env: { ENCRYPTION_KEYS: keys(3, 2) } });
  let renewed = '';
  const racing = {
    query: async (statement: never, values: never) => {
      if (String(statement).startsWith('update') && !renewed) {
        await old.database.query('update connection set expires_at = now() where athlete_id = $1', [athlete]);
        renewed = (await newest.connections.access(athlete, 'oura')).token;
      }
      return old.database.query(statement, values);
    },
  };
  await rotateKeys(racing as never, vault(3, 2));
  expect((await newest.connections.access(athlete, 'oura')).token).toBe(renewed);
});

it('as a command says what it did, and complains of what it cannot read', async () => {
  const run = (...versions: number[]) =>
    promisify(execFile)(process.execPath, [MAIN], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: harness.env.DATABASE_URL,
        ENCRYPTION_KEYS: keys(...versions),
      },
    });
  expect((await run(4, 3)).stdout).toBe('6 rows encrypted anew with key 4\n');
  await expect(run(5)).rejects.toMatchObject({
    code: 1,
    stdout: '0 rows encrypted anew with key 5\n',
    stderr: '6 rows cannot be read: is an older key missing in ENCRYPTION_KEYS?\n',
  });
  // A row's tokens in another row are worth nothing.
  const { rows } = await old.database.query<{ id: string }>('select id from connection order by id limit 2');
  await old.database.query(
    'update connection set access_token = (select access_token from connection where id = $2) where id = $1',
    rows.map(({ id }) => id),
  );
  const newest = await harness.worker({ env: { ENCRYPTION_KEYS: keys(4) } });
  await expect(tokens(newest)).rejects.toThrow(SecretUnreadable);
  await expect(run(5, 4)).rejects.toMatchObject({ stdout: '5 rows encrypted anew with key 5\n' });
});
