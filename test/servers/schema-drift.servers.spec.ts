import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import {
  Athlete,
  Connection,
  OAuthFlow,
  Revocation,
  ServiceKeyRow,
  SessionRow,
  SignInCodeRow,
  VendorRow,
} from '#connections';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const entities = [
  Athlete,
  Connection,
  OAuthFlow,
  Revocation,
  ServiceKeyRow,
  SessionRow,
  SignInCodeRow,
  VendorRow,
];

@Entity('athlete')
class Drifted {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'athlete_pkey' })
  id: string;

  @Column('int')
  shoe_size: number;
}

describe('the migrated schema', () => {
  let current: OpenDatabase;
  let drifted: OpenDatabase;
  beforeAll(async () => {
    current = await openTestDatabase(entities);
    drifted = await openTestDatabase([Drifted]);
  });
  afterAll(() => Promise.all([current.close(), drifted.close()]));

  const differences = async ({ dataSource }: OpenDatabase) =>
    (await dataSource.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query);

  it('the migrated schema equals the schema of the entities', async () => {
    expect(await differences(current)).toEqual([]);
  });

  it('no column has a vendor as its default, so each row names its own', async () => {
    const { rows } = await current.database.query(
      `select table_name, column_name
       from information_schema.columns
       where table_schema = 'public'
         and exists (select 1 from vendor where column_default = quote_literal(id) || '::text')`,
    );
    expect(rows).toEqual([]);
  });

  it('the comparison of schema and entities reports a difference', async () => {
    expect((await differences(drifted)).join()).toContain('shoe_size');
  });
});
