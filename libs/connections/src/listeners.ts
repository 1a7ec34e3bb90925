import { Listeners, type Logger } from '#platform';
import { type Provider } from './oauth/provider.js';

/** Called after the commit. `connected` is also called when the athlete connects the same account again. */
export interface ConnectionListener {
  connected(athleteId: string, provider: Provider): Promise<void>;
  disconnected(athleteId: string, provider: Provider): Promise<void>;
}

/** Modules of an app that act when an athlete connects or disconnects. A process may have none. */
export class ConnectionListeners extends Listeners<ConnectionListener> {
  constructor(logger: Logger) {
    super('connection listener', logger);
  }

  connected(athleteId: string, provider: Provider): Promise<void> {
    return this.callAll((listener) => listener.connected(athleteId, provider));
  }

  disconnected(athleteId: string, provider: Provider): Promise<void> {
    return this.callAll((listener) => listener.disconnected(athleteId, provider));
  }
}
