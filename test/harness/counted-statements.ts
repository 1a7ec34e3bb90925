import { type Database } from '../../libs/platform/src/database/database.js';

/** The same database. `counts` has the number of rows of each statement outside of transactions. */
export function countedStatements(database: Database): { database: Database; counts: readonly number[] } {
  const counts: number[] = [];
  const counted = Object.create(database) as Database;
  counted.query = async <Row extends object>(...given: Parameters<Database['query']>) => {
    const result = await database.query<Row>(...given);
    counts.push(result.count);
    return result;
  };
  return { database: counted, counts };
}
