import { type Database } from '#platform';

interface Announced {
  readonly type: string;
  readonly subject_id: string;
  readonly data: unknown;
}

/** The changes of an athlete that the outbox has, in the order in which they were made. Empties the athlete's outbox. */
export async function announced(database: Database, athleteId: string): Promise<Announced[]> {
  const { rows } = await database.query<Announced>(
    `with taken as (delete from change_outbox where athlete_id = $1 returning *)
     select type, subject_id, coalesce(data, to_json(activity)) as data from taken order by revision`,
    [athleteId],
  );
  return rows;
}
