import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, createRedis, type RedisClient } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { ArchivePlaces, ArchivesBusy, ArchiveUnderWay } from './archive-places.js';

const logger = createLogger({ level: 'silent', process: 'test' });

describe('the archives of two replicas', () => {
  let proxy: Proxy;
  let own: RedisClient;
  let others: RedisClient;
  let here: ArchivePlaces;
  let elsewhere: ArchivePlaces;
  let ends: (() => void)[];

  beforeEach(async () => {
    proxy = await Proxy.before(required('REDIS_URL'));
    const keyPrefix = `t:${randomUUID()}:`;
    own = createRedis({ url: proxy.url, keyPrefix }, logger);
    // The timeout is long, so that a busy machine does not fail the test.
    others = createRedis({ url: required('REDIS_URL'), keyPrefix }, logger, { commandTimeout: 30_000 });
    here = new ArchivePlaces(own, logger);
    elsewhere = new ArchivePlaces(others, logger);
    ends = [];
  });
  afterEach(async () => {
    for (const end of ends) end();
    own.disconnect();
    others.disconnect();
    await proxy.close();
  });

  async function take(places: ArchivePlaces, athlete: string): Promise<() => void> {
    const end = await places.take(athlete);
    ends.push(end);
    return end;
  }

  it('ArchivePlaces refuses an athlete a second archive until the first has ended', async () => {
    const end = await take(here, 'a');
    await expect(take(here, 'a')).rejects.toThrow(ArchiveUnderWay);
    end();
    await take(here, 'a');
  });

  it('ArchivePlaces refuses an athlete a second archive at another replica until the first has ended', async () => {
    const end = await take(elsewhere, 'a');
    // The refused request takes no place, so two other athletes get a place each.
    await expect(take(here, 'a')).rejects.toThrow(ArchiveUnderWay);
    await take(here, 'b');
    await take(here, 'c');
    end();
    await eventually('the key is gone', async () => (await others.exists('archive:a')) === 0);
    ends[1]?.();
    await take(here, 'a');
  });

  it('ArchivePlaces refuses a third archive in one process until an archive ends, and accepts it in another process', async () => {
    const [end] = await Promise.all(['a', 'b'].map((athlete) => take(here, athlete)));
    await expect(take(here, 'c')).rejects.toThrow(ArchivesBusy);
    await expect(take(here, 'a')).rejects.toThrow(ArchiveUnderWay);
    const elsewhereEnds = await take(elsewhere, 'c');
    elsewhereEnds();
    end?.();
    await take(here, 'c');
  });

  it('ArchiveLease is renewed while its archive is made, and never takes the lease from an archive of another replica', async () => {
    await take(elsewhere, 'a');
    expect(await others.pttl('archive:a')).toBeLessThanOrEqual(15_000);
    await others.pexpire('archive:a', 14_000);
    await eventually('it is renewed', async () => (await others.pttl('archive:a')) > 14_000);
    // The lease ends, as if no renewal came in time.
    await others.del('archive:a');
    await take(here, 'a');
    // A late renewal of the first archive does not take the lease from the second archive.
    const token = await others.get('archive:a');
    await others.pexpire('archive:a', 14_000);
    await eventually('it is renewed by its owner', async () => (await others.pttl('archive:a')) > 14_000);
    expect(await others.get('archive:a')).toBe(token);
  });

  it.each(['cut', 'freeze'] as const)(
    'ArchivePlaces allows an athlete one archive per process while Redis is away (%s), and takes the lease when Redis is back',
    async (way) => {
      proxy[way]();
      const end = await take(here, 'a');
      await expect(take(here, 'a')).rejects.toThrow(ArchiveUnderWay);
      proxy.heal();
      await eventually('it has the lease', async () => (await others.exists('archive:a')) === 1);
      await expect(take(elsewhere, 'a')).rejects.toThrow(ArchiveUnderWay);
      end();
      await eventually('the lease is over', async () => (await others.exists('archive:a')) === 0);
    },
  );
});
