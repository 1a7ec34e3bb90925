import { type Sql } from '#platform';

/** Sleep knows its user by the subject of their tokens. */
export async function subjectOf(sql: Sql, athleteId: string): Promise<string | null> {
  const { rows } = await sql.query<{ subject: string }>('select subject from athlete where id = $1', [
    athleteId,
  ]);
  return rows[0]?.subject ?? null;
}
