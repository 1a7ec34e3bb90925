import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { beginUnannouncedDeletion } from '#platform';
import { announced } from '../../../../test/harness/announced.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { Nights } from '../nights/nights.js';

let open: OpenDatabase;
beforeAll(async () => (open = await openTestDatabase()));
afterAll(() => open.close());

const SAVE = `
  insert into sleep_data (user_id, date, duration_minutes, quality_score, vendor, captured_at, event_id)
  values ($1, '2026-11-18', $2, 80.5, 'oura', '2026-11-18T07:00:00.120Z', $3)
  on conflict (user_id, date) do update
  set duration_minutes = excluded.duration_minutes, event_id = excluded.event_id`;
const NIGHT = '2026-11-18';

const save = (subject: string, minutes: number) =>
  open.database.query(SAVE, [subject, minutes, randomUUID()]);
const listed = async (subject: string) =>
  JSON.parse(
    JSON.stringify((await new Nights(open.database).list(subject, { limit: 10 })).items),
  ) as object[];

async function join(subject: string): Promise<string> {
  const id = randomUUID();
  await open.database.query("insert into athlete (id, issuer, subject) values ($1, 'test', $2)", [
    id,
    subject,
  ]);
  return id;
}

it('a night is announced as the API lists it, again only if it differs, and once it is removed', async () => {
  const subject = `auth0|${randomUUID()}`;
  const athlete = await join(subject);
  for (const minutes of [420, 420, 430, 430]) {
    await save(subject, minutes);
    const [data] = await listed(subject);
    const told = await announced(open.database, athlete);
    if (told.length > 0) expect(told).toEqual([{ type: 'sleep.stored', subject_id: NIGHT, data }]);
    else expect(data).toMatchObject({ duration_minutes: minutes });
  }
  await save(subject, 440);
  await save(subject, 440);
  expect(await announced(open.database, athlete)).toHaveLength(1);
  await open.database.query('delete from sleep_data where user_id = $1', [subject]);
  expect(await announced(open.database, athlete)).toEqual([
    { type: 'sleep.removed', subject_id: NIGHT, data: null },
  ]);
});

it('a night that was sent before its athlete exists is announced when the athlete comes', async () => {
  const subject = randomUUID();
  await save(subject, 400);
  const athlete = await join(subject);
  const [data] = await listed(subject);
  expect(await announced(open.database, athlete)).toEqual([
    { type: 'sleep.stored', subject_id: NIGHT, data },
  ]);
});

it('a deletion announces no removed night', async () => {
  const subject = randomUUID();
  const athlete = await join(subject);
  await save(subject, 400);
  await announced(open.database, athlete);
  await open.database.transaction(async (sql) => {
    await beginUnannouncedDeletion(sql, 'account');
    await sql.query('delete from sleep_data where user_id = $1', [subject]);
  });
  expect(await announced(open.database, athlete)).toEqual([]);
});
