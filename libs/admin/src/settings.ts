import { Inject, Injectable } from '@nestjs/common';
import { type NatsConnection } from '@nats-io/transport-node';
import {
  buildInfo,
  type Config,
  CONFIG,
  Database,
  isRedisAway,
  NATS,
  redactConfig,
  REDIS,
  type RedisClient,
} from '#platform';

interface AppliedMigration {
  readonly name: string;
  /** Null: applied before the time was recorded. */
  readonly applied_at: Date | null;
}

interface SettingsView {
  /** Without secrets; URLs have no user, password or query. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly versions: {
    readonly pacekeeper: string;
    readonly commit: string;
    readonly node: string;
    readonly postgres: string;
    /** Null while Redis does not answer. */
    readonly redis: string | null;
    /** Null until NATS was connected once. */
    readonly nats: string | null;
  };
  /** Newest first. */
  readonly migrations: readonly AppliedMigration[];
  readonly time_scale: number;
}

/** Shows operators how this process of the api is configured, and which versions run. Other processes may be configured differently. */
@Injectable()
export class Settings {
  constructor(
    private readonly database: Database,
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(CONFIG) private readonly config: Config<unknown>,
  ) {}

  async read(): Promise<SettingsView> {
    const [{ rows: servers }, { rows: migrations }, redis] = await Promise.all([
      this.database.query<{ version: string }>(`select current_setting('server_version') as version`),
      this.database.query<AppliedMigration>('select name, applied_at from schema_migration order by id desc'),
      this.redisVersion(),
    ]);
    return {
      config: redactConfig(this.config) as Record<string, unknown>,
      versions: {
        pacekeeper: buildInfo.version,
        commit: buildInfo.commit,
        node: process.versions.node,
        postgres: servers[0]?.version ?? '',
        redis,
        nats: this.nats.info?.version ?? null,
      },
      migrations,
      time_scale: this.config.timeScale,
    };
  }

  private async redisVersion(): Promise<string | null> {
    try {
      return /^redis_version:(\S+)/m.exec(await this.redis.info('server'))?.[1] ?? null;
    } catch (error) {
      if (isRedisAway(error)) return null;
      throw error;
    }
  }
}
