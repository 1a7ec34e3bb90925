import { type DynamicModule, Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type DataSourceOptions, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { dataSourceOptions, type DatabaseLimits } from './data-source-options.js';
import { Database } from './database.js';

export type Entity = EntityTarget<ObjectLiteral> & (new () => ObjectLiteral);

@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  static with(limits: DatabaseLimits, entities: readonly Entity[]): DynamicModule {
    const connected = (config: Config, logger: Logger) => {
      const onLost = (err: Error) => logger.warn({ err }, 'postgres connection lost');
      const options = dataSourceOptions(config.database.url, limits, onLost);
      return initialized({ ...options, entities: [...entities] });
    };
    return {
      module: DatabaseModule,
      providers: [
        { provide: DataSource, inject: [CONFIG, LOGGER], useFactory: connected },
        { provide: Database, inject: [DataSource, HealthRegistry], useFactory: probedDatabase },
      ],
      exports: [DataSource, Database],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dataSource.destroy();
  }
}

// A process that starts is busy itself: on a busy machine, two seconds may not be enough for its first connection.
const TRIES = 3;

async function initialized(options: DataSourceOptions): Promise<DataSource> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await new DataSource(options).initialize();
    } catch (error) {
      if (attempt === TRIES) throw error;
    }
  }
}

function probedDatabase(dataSource: DataSource, health: HealthRegistry): Database {
  const database = new Database(dataSource);
  health.register('postgres', async () => {
    await database.query('select 1');
  });
  return database;
}
