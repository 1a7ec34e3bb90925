import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import {
  CONFIG,
  Database,
  KEY_VERIFIER,
  type Logger,
  LOGGER,
  OperatorActions,
  SESSION_VERIFIER,
  TIME_SCALE,
  type TimeScale,
  type VendorConfig,
  WorkModule,
  Workers,
} from '#platform';
import { Budgets } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { BudgetsModule, type ProductConfig, TOKENS } from '#vendors';
import { AthleteDirectory } from './athlete-directory.js';
import { AthleteSearch } from './athlete-search.js';
import { Athletes } from './athletes.js';
import { ConsentConfirmation } from './connect/consent-confirmation.js';
import { ConnectFlow } from './connect/connect-flow.js';
import { OAuthFlows } from './connect/oauth-flows.js';
import { ConnectionGauges } from './connection-gauges.js';
import { ConnectionRecords, Connections } from './connections.js';
import { DeletedAthletes } from './deleted-athletes.js';
import { type ConnectionsParts, createConnections } from './create-connections.js';
import { ServiceKeys } from './keys/service-keys.js';
import { ConnectionListeners } from './listeners.js';
import { type Http, VENDOR_HTTP } from './oauth/http.js';
import { Revocations } from './revocation/revocations.js';
import { SessionRecords } from './sessions/session-records.js';
import { Sessions } from './sessions/sessions.js';
import { SignInCodes } from './sessions/sign-in-codes.js';

const PARTS = Symbol('parts of the connections');

// The limits of one call to a token endpoint. TIME_SCALE does not shorten them.
const BOUNDS = { attemptMs: 5_000, totalMs: 8_000 };

/** Provides the connections to every module of an app. */
@Global()
@Module({
  imports: [BudgetsModule, WorkModule],
  providers: [
    AthleteDirectory,
    AthleteSearch,
    Athletes,
    DeletedAthletes,
    OperatorActions,
    ServiceKeys,
    { provide: KEY_VERIFIER, useExisting: ServiceKeys },
    Sessions,
    { provide: SESSION_VERIFIER, useExisting: Sessions },
    SignInCodes,
    SessionRecords,
    ConnectionRecords,
    ConnectionGauges,
    { provide: VENDOR_HTTP, inject: [CONFIG, LOGGER], useFactory: vendorHttp },
    {
      provide: PARTS,
      inject: [CONFIG, Database, VENDOR_HTTP, Budgets, Workers, TIME_SCALE, LOGGER],
      useFactory: parts,
    },
    part(Connections, ({ connections }) => connections),
    { provide: TOKENS, inject: [PARTS], useFactory: ({ tokens }: ConnectionsParts) => tokens },
    part(ConnectFlow, ({ connectFlow }) => connectFlow),
    part(ConsentConfirmation, ({ consentConfirmation }) => consentConfirmation),
    part(OAuthFlows, ({ flows }) => flows),
    part(Revocations, ({ revocations }) => revocations),
    part(ConnectionListeners, ({ listeners }) => listeners),
  ],
  exports: [
    AthleteDirectory,
    AthleteSearch,
    Athletes,
    DeletedAthletes,
    ServiceKeys,
    KEY_VERIFIER,
    Sessions,
    SESSION_VERIFIER,
    SignInCodes,
    SessionRecords,
    ConnectionRecords,
    Connections,
    TOKENS,
    ConnectionListeners,
    ConnectFlow,
    ConsentConfirmation,
    OAuthFlows,
    Revocations,
  ],
})
export class ConnectionsModule implements OnApplicationShutdown {
  constructor(@Inject(VENDOR_HTTP) private readonly http: OutboundCaller) {}

  onApplicationShutdown(): Promise<void> {
    return this.http.close();
  }
}

function vendorHttp({ vendors }: ProductConfig, logger: Logger): OutboundCaller {
  const hosts = Object.values<VendorConfig>(vendors).flatMap(({ apiUrl, oauthUrl, tokenUrl = oauthUrl }) => [
    apiUrl,
    oauthUrl,
    tokenUrl,
  ]);
  return new OutboundCaller(BOUNDS, { name: 'oauth', hosts, logger });
}

function parts(
  config: ProductConfig,
  database: Database,
  http: Http,
  budgets: Budgets,
  workers: Workers,
  timeScale: TimeScale,
  logger: Logger,
): ConnectionsParts {
  return createConnections({ config, database, http, budgets, workers, timeScale, logger });
}

function part<T>(provide: abstract new (...args: never[]) => T, pick: (all: ConnectionsParts) => T) {
  return { provide, inject: [PARTS], useFactory: pick };
}
