import { randomUUID } from 'node:crypto';
import { type Sql } from '../../libs/platform/src/database/database.js';

export async function newAthlete(sql: Sql): Promise<string> {
  const id = randomUUID();
  await sql.query('insert into athlete (id, issuer, subject) values ($1, $2, $3)', [id, 'test', id]);
  return id;
}
