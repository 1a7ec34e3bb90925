import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type Config, CONFIG, Database, type Logger, LOGGER, TIME_SCALE, type TimeScale } from '#platform';
import { OURA_BUDGET, RateLimitModule, type VendorBudget, WHOOP_BUDGET } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { Athletes } from './athletes.js';
import { Connecting } from './connect/connecting.js';
import { Connections } from './connections.js';
import { type ConnectionsParts, createConnections } from './create-connections.js';
import { CONNECTION_LISTENERS, type ConnectionListener } from './listeners.js';
import { ConnectionRecords } from './personal-records.js';
import { type Http, VENDOR_HTTP } from './oauth/http.js';
import { Revocations } from './revocation/revocations.js';

const PARTS = Symbol('parts of the connections');

// Real time, as a network takes it.
const BOUNDS = { attemptMs: 5_000, totalMs: 8_000 };

/** For every module of an app. */
@Global()
@Module({
  imports: [RateLimitModule],
  providers: [
    Athletes,
    ConnectionRecords,
    { provide: VENDOR_HTTP, inject: [CONFIG, LOGGER], useFactory: vendorHttp },
    {
      provide: PARTS,
      inject: [CONFIG, Database, VENDOR_HTTP, OURA_BUDGET, WHOOP_BUDGET, TIME_SCALE, LOGGER, ModuleRef],
      useFactory: parts,
    },
    part(Connections, ({ connections }) => connections),
    part(Connecting, ({ connecting }) => connecting),
    part(Revocations, ({ revocations }) => revocations),
  ],
  exports: [Athletes, ConnectionRecords, Connections, Connecting, Revocations],
})
export class ConnectionsModule implements OnApplicationShutdown {
  constructor(@Inject(VENDOR_HTTP) private readonly http: OutboundCaller) {}

  onApplicationShutdown(): Promise<void> {
    return this.http.close();
  }
}

function vendorHttp({ strava, oura, whoop }: Config, logger: Logger): OutboundCaller {
  const hosts = [strava, oura, whoop].flatMap(({ apiUrl, oauthUrl }) => [apiUrl, oauthUrl]);
  return new OutboundCaller(BOUNDS, { name: 'oauth', hosts, logger });
}

function parts(
  config: Config,
  database: Database,
  http: Http,
  oura: VendorBudget,
  whoop: VendorBudget,
  timeScale: TimeScale,
  logger: Logger,
  modules: ModuleRef,
): ConnectionsParts {
  const listeners = () => {
    try {
      return modules.get<readonly ConnectionListener[]>(CONNECTION_LISTENERS, { strict: false });
    } catch {
      return [];
    }
  };
  return createConnections({
    config,
    database,
    http,
    budgets: { oura, whoop },
    timeScale,
    logger,
    listeners,
  });
}

function part<T>(provide: abstract new (...args: never[]) => T, pick: (all: ConnectionsParts) => T) {
  return { provide, inject: [PARTS], useFactory: pick };
}
