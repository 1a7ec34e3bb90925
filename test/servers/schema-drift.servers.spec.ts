import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { Athlete, Connection, OAuthFlow, Revocation } from '#connections';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const entities = [Athlete, Connection, OAuthFlow, Revocation];

@Entity('athlete')
class Drifted {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'athlete_pkey' })
  id: string;

  @Column('int')
  shoe_size: number;
}

describe('the schema that the migrations make', () => {
  let current: OpenDatabase;
  let drifted: OpenDatabase;
  beforeAll(async () => {
    current = await openTestDatabase(entities);
    drifted = await openTestDatabase([Drifted]);
  });
  afterAll(() => Promise.all([current.close(), drifted.close()]));

  const differences = async ({ dataSource }: OpenDatabase) =>
    (await dataSource.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query);

  it('is the one that the entities describe', async () => {
    expect(await differences(current)).toEqual([]);
  });

  it('would be seen to differ', async () => {
    expect((await differences(drifted)).join()).toContain('shoe_size');
  });
});
