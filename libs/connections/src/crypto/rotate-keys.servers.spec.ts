import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadProductConfig } from '#vendors';
import {
  ConnectionsHarness,
  connect,
  keys,
  newAthlete,
  tokenIn,
  type ConnectionsWorker,
} from '../connections.harness.js';
import { rotateKeys } from './rotate-keys.js';
import { endpointPlace, SecretUnreadable, Vault } from './vault.js';

const MAIN = new URL('../../../../dist/libs/connections/src/crypto/rotate-keys.main.js', import.meta.url)
  .pathname;

let harness: ConnectionsHarness;
let old: ConnectionsWorker;
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
  new Vault(loadProductConfig({ ...harness.env, ENCRYPTION_KEYS: keys(...versions) }).encryptionKeys);
const versions = async () => {
  const { rows } = await old.database.query<{ version: number; count: number }>(
    `select key_version as version, count(*)::int as count
     from (select key_version from connection union all select key_version from revocation) as every
     group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map(({ version, count }) => [version, count]));
};
const tokens = (worker: ConnectionsWorker) =>
  Promise.all(athletes.map((id) => tokenIn(worker.tokens.access(id, 'oura'))));

it('a key rotation resumes after a kill, changes nothing in a further run, and leaves no row that needs the old key', async () => {
  const before = await tokens(old);
  // The rotation stops in the middle of the second batch.
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
  expect(await onlyNew.revokeDue()).toBe(1);
  await expect(tokens(old)).rejects.toThrow(SecretUnreadable);
});

it('a key rotation does not overwrite tokens that are renewed while it runs', async () => {
  const [athlete = ''] = athletes;
  const newest = await harness.worker({ env: { ENCRYPTION_KEYS: keys(3, 2) } });
  let renewed = '';
  const racing = {
    query: async (statement: never, values: never) => {
      if (String(statement).startsWith('update') && !renewed) {
        await old.database.query('update connection set expires_at = now() where athlete_id = $1', [athlete]);
        renewed = await tokenIn(newest.tokens.access(athlete, 'oura'));
      }
      return old.database.query(statement, values);
    },
  };
  await rotateKeys(racing as never, vault(3, 2));
  expect(await tokenIn(newest.tokens.access(athlete, 'oura'))).toBe(renewed);
});

it('a key rotation encrypts the secrets of webhook endpoints anew, the previous secret included', async () => {
  const id = randomUUID();
  const sealed = ['whsec_current', 'whsec_previous'].map((secret) =>
    vault(2).seal(secret, endpointPlace(id)),
  );
  await old.database.query(
    `insert into webhook_endpoint (id, url, types, secret, previous_secret, key_version)
     values ($1, 'https://app.example/', '{*}', $2, $3, 2)`,
    [id, ...sealed],
  );
  await rotateKeys(old.database, vault(3, 2));
  const { rows } = await old.database.query<{ secret: string; previous_secret: string }>(
    'delete from webhook_endpoint where id = $1 returning secret, previous_secret',
    [id],
  );
  const opened = [rows[0]?.secret, rows[0]?.previous_secret].map((text) =>
    vault(3).open(text ?? '', endpointPlace(id)),
  );
  expect(opened).toEqual(['whsec_current', 'whsec_previous']);
});

it('rotate-keys prints the number of rotated rows, and exits with 1 if rows cannot be decrypted', async () => {
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
  // A token that is copied into another row cannot be decrypted there.
  const { rows } = await old.database.query<{ id: string }>('select id from connection order by id limit 2');
  await old.database.query(
    'update connection set access_token = (select access_token from connection where id = $2) where id = $1',
    rows.map(({ id }) => id),
  );
  const newest = await harness.worker({ env: { ENCRYPTION_KEYS: keys(4) } });
  await expect(tokens(newest)).rejects.toThrow(SecretUnreadable);
  await expect(run(5, 4)).rejects.toMatchObject({ stdout: '5 rows encrypted anew with key 5\n' });
});
