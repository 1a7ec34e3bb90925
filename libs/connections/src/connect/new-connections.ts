import { type ConnectionStore } from '../connection-store.js';
import { type ConnectionListeners } from '../listeners.js';
import { type Tokens } from '../oauth/token-answer.js';
import { type Grant, type Revocations } from '../revocation/revocations.js';
import { type ConfirmEnd } from './connect-outcome.js';

/** Stores a new grant as a connection. Revokes a grant that cannot be stored. Exception: another athlete here uses the account. */
export class NewConnections {
  constructor(
    private readonly store: ConnectionStore,
    private readonly revocations: Revocations,
    private readonly listeners: ConnectionListeners,
  ) {}

  async connect(athleteId: string, scopes: readonly string[], grant: Grant & Tokens): Promise<ConfirmEnd> {
    const { provider, vendorAthleteId } = grant;
    const connection = { athleteId, provider, vendorAthleteId, scopes, tokens: grant };
    const outcome = await this.store.storeGranted(connection, (sql) =>
      this.revocations.withdraw(provider, vendorAthleteId, sql),
    );
    switch (outcome) {
      case 'stored':
        await this.listeners.connected(athleteId, provider);
        return { kind: 'connected', athleteId };
      case 'taken':
        // The grant is not revoked: vendors end all grants of an account at once, and another athlete here uses this account.
        return { kind: 'taken' };
      case 'other_account':
        await this.revoke(grant);
        return { kind: 'other_account' };
      case 'no_athlete':
        await this.revoke(grant);
        return { kind: 'refused' };
    }
  }

  /** A worker revokes the grant, within a minute: the route has used its time for the exchange. */
  async revoke(grant: Grant): Promise<void> {
    await this.revocations.add(grant);
  }
}
