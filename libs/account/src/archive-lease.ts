import { randomUUID } from 'node:crypto';
import { type Logger, LuaScript, type RedisClient, releaseLock } from '#platform';

// If a process is killed, its athletes wait at most this long before they can request another archive.
const LEASE_MS = 15_000;
// If one renewal fails, the next renewal still comes before the lease ends.
const RENEW_MS = 5_000;

const holdArchive = new LuaScript<number>(import.meta.url, './lua/hold-archive.lua');

/**
 * The lease of an athlete's archive: a key in Redis, renewed until `end`. An athlete has at most one over all replicas.
 *
 * While Redis is away, `take` returns a lease without the key. The next renewal then takes the key if no other archive has it. So two
 * archives of an athlete may be made at the same time. That costs only needless work.
 */
export class ArchiveLease {
  private readonly key: string;
  private readonly token = randomUUID();
  private renewal: NodeJS.Timeout | undefined;

  private constructor(
    athleteId: string,
    private readonly redis: RedisClient,
    private readonly logger: Logger,
  ) {
    this.key = `archive:${athleteId}`;
  }

  /** Undefined if another archive holds the lease. */
  static async take(
    athleteId: string,
    redis: RedisClient,
    logger: Logger,
  ): Promise<ArchiveLease | undefined> {
    const lease = new ArchiveLease(athleteId, redis, logger);
    if (!(await lease.hold())) return undefined;
    lease.renewal = setInterval(() => void lease.hold(), RENEW_MS);
    lease.renewal.unref();
    return lease;
  }

  end(): void {
    clearInterval(this.renewal);
    releaseLock(this.redis, this.key, this.token).catch((err: unknown) => {
      this.logger.info({ err }, 'lease of an archive not released: it expires within 15 s');
    });
  }

  private async hold(): Promise<boolean> {
    try {
      return (await holdArchive.run(this.redis, [this.key], [this.token, LEASE_MS])) === 1;
    } catch (err) {
      this.logger.info(
        { err },
        'lease of an archive neither taken nor renewed: the archive is made without it',
      );
      return true;
    }
  }
}
