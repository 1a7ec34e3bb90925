import { type PersonalRecords } from '#account';
import { ChangeRecords, SentDeliveries, UnsentDeliveries } from '#push';
import { personalRecords } from '#activities';
import { processingRecords } from '#processing';
import { type Database, type Sql } from '#platform';
import { sleepRecords } from '#sleep';
import { StreamRecords } from '#streams';
import { EventRecords } from '#webhooks';
import { WriteBackRecords } from '#write-back';

type Deleting = Pick<PersonalRecords, 'deleteSome'>;

class RolledBack extends Error {}

/** The statements of a deletion in one transaction, in the order of the worker. It is rolled back, so that it can be repeated. */
export function deletionOf(sql: Database, athleteId: string): () => Promise<void> {
  const kinds = [EventRecords, StreamRecords, WriteBackRecords, ...processingRecords, ...personalRecords];
  const records = [
    ...[...kinds, ...sleepRecords].map((Kind) => new (Kind as new (sql: Database) => Deleting)(sql)),
    ...[ChangeRecords, UnsentDeliveries, SentDeliveries].map((Kind): Deleting => new Kind()),
  ];
  return async () => {
    const work = sql.transaction(async (inside) => {
      const accounts = await accountsOf(inside, athleteId);
      await inside.query('delete from connection where athlete_id = $1', [athleteId]);
      for (const one of records)
        while (one.deleteSome && (await one.deleteSome(inside, athleteId, accounts, null)) > 0);
      await inside.query('delete from athlete where id = $1', [athleteId]);
      throw new RolledBack();
    });
    await work.catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
  };
}

async function accountsOf(sql: Sql, athleteId: string): Promise<Record<string, string>> {
  const { rows } = await sql.query<{ provider: string; vendor_athlete_id: string }>(
    'select provider, vendor_athlete_id from connection where athlete_id = $1',
    [athleteId],
  );
  return Object.fromEntries(rows.map(({ provider, vendor_athlete_id: id }) => [provider, id]));
}
