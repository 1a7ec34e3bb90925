import { type DynamicModule, Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { Changes } from '../changes/changes.js';
import { ClockDifferences } from '../clock/clock-differences.js';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { waitForServer } from '../process/wait-for-server.js';
import { dataSourceOptions, type DatabaseLimits } from './data-source-options.js';
import { Database, poolOf } from './database.js';
import {
  asPoolerFailure,
  probePostgres,
  requireLimits,
  requireOwnSession,
  timeOfPostgres,
} from './postgres-fitness.js';
import { observePool } from './pool-gauges.js';
import { hostsOf } from './postgres-url.js';
import { Primary } from './primary.js';
import { StandbyReads } from './standby-reads.js';
import { Standby } from './standby.js';

export type Entity = EntityTarget<ObjectLiteral> & (new () => ObjectLiteral);

@Global()
@Module({})
/** Connects to Postgres at the start, and waits up to START_WAIT_SECONDS for it. Provides `Database` and registers the readiness probe. */
export class DatabaseModule implements OnApplicationShutdown {
  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  static with(limits: DatabaseLimits, entities: readonly Entity[]): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [
        {
          provide: Primary,
          inject: [CONFIG],
          useFactory: ({ database }: Config) => new Primary(database.url),
        },
        {
          provide: DataSource,
          inject: [CONFIG, LOGGER, Primary],
          useFactory: (config: Config, logger: Logger, primary: Primary) =>
            connected(config, logger, { primary, limits, entities }),
        },
        {
          provide: Database,
          inject: [CONFIG, DataSource, Primary, HealthRegistry, ClockDifferences],
          useFactory: (
            config: Config,
            dataSource: DataSource,
            primary: Primary,
            health: HealthRegistry,
            clocks: ClockDifferences,
          ) => {
            const isPooled = isBehindPooler(config);
            observePool(limits.applicationName, limits.poolSize, dataSource);
            const database = new Database(poolOf(dataSource), { primary, isPooled });
            health.register('postgres', () =>
              probePostgres(
                database,
                isPooled ? requireLimits : (facts) => requireOwnSession(facts, limits.statementTimeoutMs),
              ),
            );
            clocks.watchServer('postgres', () => timeOfPostgres(database));
            return database;
          },
        },
        {
          provide: StandbyReads,
          inject: [CONFIG, Database, LOGGER],
          useFactory: (config: Config, database: Database, logger: Logger) => {
            const { readUrl } = config.database;
            const options = { isPooled: isBehindPooler(config) };
            const standby = readUrl ? new Standby(readUrl, limits, database, logger, options) : undefined;
            return new StandbyReads(database, standby);
          },
        },
        Changes,
      ],
      exports: [DataSource, Database, StandbyReads, Changes],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dataSource.destroy();
  }
}

interface Wanted {
  readonly primary: Primary;
  readonly limits: DatabaseLimits;
  readonly entities: readonly Entity[];
}

/** If a second URL leads to Postgres itself, the first URL may lead to a pooler. */
const isBehindPooler = ({ database }: Config) => database.directUrl !== undefined;

function connected(
  config: Config,
  logger: Logger,
  { primary, limits, entities }: Wanted,
): Promise<DataSource> {
  const { url } = config.database;
  const onLost = (err: Error) => logger.warn({ err }, 'postgres connection lost');
  const options = dataSourceOptions(url, limits, onLost, { primary, isPooled: isBehindPooler(config) });
  // Retries: on a busy machine, a starting process may need more than the connect timeout of two seconds.
  const wait = { server: 'Postgres', at: hostsOf(url), logger, waitMs: config.startWaitMs };
  return waitForServer(wait, async () => {
    try {
      return await new DataSource({ ...options, entities: [...entities] }).initialize();
    } catch (error) {
      // A server that the last attempt found may have gone since.
      primary.doubt(primary.epoch);
      throw asPoolerFailure(error);
    }
  });
}
