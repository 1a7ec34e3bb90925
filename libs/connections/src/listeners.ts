import { type Logger } from '#platform';
import { type Provider } from './oauth/provider.js';

/** Told after the fact. What a listener throws is logged and hinders nobody; it may be told twice. */
export interface ConnectionListener {
  connected(athleteId: string, provider: Provider): Promise<void>;
  disconnected(athleteId: string, provider: Provider): Promise<void>;
}

/** A list of listeners, provided by whichever module of an app; without one, nobody listens. */
export const CONNECTION_LISTENERS = Symbol('connection listeners');

export class Announcements {
  constructor(
    // Asked for at the first event: listeners may themselves depend on the connections.
    private readonly listeners: () => readonly ConnectionListener[],
    private readonly logger: Logger,
  ) {}

  connected(athleteId: string, provider: Provider): Promise<void> {
    return this.tellAll((listener) => listener.connected(athleteId, provider));
  }

  disconnected(athleteId: string, provider: Provider): Promise<void> {
    return this.tellAll((listener) => listener.disconnected(athleteId, provider));
  }

  private async tellAll(tell: (listener: ConnectionListener) => Promise<void>): Promise<void> {
    const told = await Promise.allSettled(this.listeners().map(async (listener) => tell(listener)));
    for (const result of told)
      if (result.status === 'rejected')
        this.logger.error({ err: result.reason as unknown }, 'a connection listener failed');
  }
}
