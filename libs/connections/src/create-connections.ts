import { type Config, type Database, type Logger, type TimeScale } from '#platform';
import { Connecting } from './connect/connecting.js';
import { ConnectionStore } from './connection-store.js';
import { Connections } from './connections.js';
import { Vault } from './crypto/vault.js';
import { Announcements, type ConnectionListener } from './listeners.js';
import { type Http } from './oauth/http.js';
import { Providers } from './oauth/providers.js';
import { type Budgets, TokenEndpoint } from './oauth/token-endpoint.js';
import { Renewal, type RenewalTimes, renewalTimes } from './refresh/renewal.js';
import { Revocations } from './revocation/revocations.js';

export interface ConnectionsSurroundings {
  readonly config: Pick<Config, 'encryptionKeys' | 'http' | 'strava' | 'oura' | 'whoop'>;
  readonly database: Database;
  readonly http: Http;
  readonly budgets?: Budgets;
  readonly timeScale: TimeScale;
  readonly logger: Logger;
  readonly listeners?: () => readonly ConnectionListener[];
  readonly times?: Partial<RenewalTimes>;
}

export interface ConnectionsParts {
  readonly connections: Connections;
  readonly connecting: Connecting;
  readonly revocations: Revocations;
}

/** Who needs whom in this lib. */
export function createConnections(surroundings: ConnectionsSurroundings): ConnectionsParts {
  const { config, database, http, budgets, timeScale, logger, listeners = () => [], times } = surroundings;
  const vault = new Vault(config.encryptionKeys);
  const providers = new Providers(config);
  const endpoint = new TokenEndpoint(http, budgets);
  const store = new ConnectionStore(database, vault);
  const announcements = new Announcements(listeners, logger);
  const revocations = new Revocations(database, vault, providers, endpoint, timeScale, logger);
  const renewal = new Renewal(
    store,
    endpoint,
    providers,
    revocations,
    { ...renewalTimes(timeScale), ...times },
    logger,
  );
  return {
    connections: new Connections(database, store, renewal, revocations, announcements, timeScale),
    connecting: new Connecting(
      config.http,
      database,
      vault,
      providers,
      endpoint,
      store,
      revocations,
      announcements,
      logger,
    ),
    revocations,
  };
}
