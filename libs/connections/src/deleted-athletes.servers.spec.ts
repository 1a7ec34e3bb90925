import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { athleteIdOf, createLogger, createRedis, type RedisClient } from '#platform';
import { required } from '../../../test/harness/servers.js';
import { eventually } from '../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { AthleteDirectory } from './athlete-directory.js';
import { Athletes } from './athletes.js';
import { DeletedAthletes } from './deleted-athletes.js';

const ISSUER = 'https://id.example';
const logger = createLogger({ level: 'silent', process: 'test' });

describe('DeletedAthletes', () => {
  let open: OpenDatabase;
  let redis: RedisClient;
  const config = { redis: { url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` } };
  beforeAll(async () => {
    open = await openTestDatabase();
    redis = createRedis(config.redis, logger);
  });
  afterAll(async () => {
    redis.disconnect();
    await open.close();
  });

  /** The caches of one process. */
  const processWith = (issuer?: string) => {
    const athletes = new Athletes(open.database, { auth: { issuer } });
    const directory = new AthleteDirectory(open.database, athletes);
    return { athletes, directory, deleted: new DeletedAthletes(athletes, directory, config, redis, logger) };
  };
  const identity = (issuer: string, subject: string) => ({
    athleteId: athleteIdOf(issuer, subject),
    issuer,
    subject,
  });

  it('makes an api forget an athlete whom another process has deleted, and nobody else', async () => {
    const [api, worker] = [processWith(ISSUER), processWith()];
    // Ann's row is older than the issuer, so that her id is not the one of her token.
    const annsId = await worker.athletes.ensure(identity('', 'ann'));
    const [ann, bob] = [identity(ISSUER, 'ann'), identity(ISSUER, 'bob')];
    expect(await api.athletes.ensure(ann)).toBe(annsId);
    const bobsId = await api.athletes.ensure(bob);
    for (const id of [annsId, bobsId]) await api.directory.find(id);
    api.deleted.listen();

    await eventually('Ann is unknown', () => {
      worker.deleted.tell(annsId);
      return api.athletes.knownId(ann) === undefined;
    });
    expect(api.directory.recall(annsId)).toBeUndefined();
    expect(api.athletes.knownId(bob)).toBe(bobsId);
    expect(api.directory.recall(bobsId)).toMatchObject({ subject: 'bob' });
    api.deleted.beforeApplicationShutdown();
  });
});
