import { type Database, type Logger, type TimeScale, type Workers } from '#platform';
import { type ProductConfig } from '#vendors';
import { ConsentConfirmation } from './connect/consent-confirmation.js';
import { ConnectFlow } from './connect/connect-flow.js';
import { NewConnections } from './connect/new-connections.js';
import { OAuthFlows } from './connect/oauth-flows.js';
import { ConnectionStore } from './connection-store.js';
import { Connections } from './connections.js';
import { Vault } from './crypto/vault.js';
import { ConnectionListeners } from './listeners.js';
import { type Http } from './oauth/http.js';
import { Providers } from './oauth/providers.js';
import { type CallBudgets, TokenEndpoint } from './oauth/token-endpoint.js';
import { AccessTokens } from './refresh/access-tokens.js';
import { Renewal, type RenewalTimes, renewalTimes } from './refresh/renewal.js';
import { Revocations } from './revocation/revocations.js';

interface ConnectionsDependencies {
  readonly config: Pick<ProductConfig, 'encryptionKeys' | 'http' | 'vendors'>;
  readonly database: Database;
  readonly http: Http;
  readonly budgets?: CallBudgets;
  readonly workers: Workers;
  readonly timeScale: TimeScale;
  readonly logger: Logger;
  readonly times?: Partial<RenewalTimes>;
}

export interface ConnectionsParts {
  readonly connections: Connections;
  readonly tokens: AccessTokens;
  readonly connectFlow: ConnectFlow;
  readonly consentConfirmation: ConsentConfirmation;
  readonly flows: OAuthFlows;
  readonly revocations: Revocations;
  readonly listeners: ConnectionListeners;
}

/** Builds the classes of this lib, for the Nest module and for tests without Nest. */
export function createConnections(dependencies: ConnectionsDependencies): ConnectionsParts {
  const { config, database, http, budgets, workers, timeScale, logger, times } = dependencies;
  const vault = new Vault(config.encryptionKeys);
  const providers = new Providers(config.vendors);
  const endpoint = new TokenEndpoint(http, budgets);
  const store = new ConnectionStore(database, vault);
  const listeners = new ConnectionListeners(logger);
  const revocations = new Revocations(database, vault, providers, endpoint, timeScale, workers, logger);
  const renewal = new Renewal(
    store,
    endpoint,
    providers,
    revocations,
    { ...renewalTimes(timeScale), ...times },
    logger,
  );
  const flows = new OAuthFlows(database, vault);
  const newConnections = new NewConnections(store, revocations, listeners);
  return {
    connections: new Connections(database, store, revocations, listeners),
    tokens: new AccessTokens(store, renewal, timeScale),
    connectFlow: new ConnectFlow(config.http, flows, providers),
    consentConfirmation: new ConsentConfirmation(
      config.http,
      flows,
      providers,
      endpoint,
      newConnections,
      logger,
    ),
    flows,
    revocations,
    listeners,
  };
}
