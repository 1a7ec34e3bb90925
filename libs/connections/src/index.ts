export { AthleteDirectory } from './athlete-directory.js';
export { AthleteSearch, type FoundAthlete } from './athlete-search.js';
export { Athletes } from './athletes.js';
export { type CallbackQuery, ConnectFlow } from './connect/connect-flow.js';
export {
  type CallbackEnd,
  type CallbackOutcome,
  type ConfirmEnd,
  type ConfirmOutcome,
  type MissingScope,
} from './connect/connect-outcome.js';
export { ConsentConfirmation } from './connect/consent-confirmation.js';
export { consentError } from './connect/consent.errors.js';
export { newSecret, OAuthFlows } from './connect/oauth-flows.js';
export { withAnswer } from './connect/return-url.js';
export { type ConnectionView } from './connection-store.js';
export { ConnectionRecords, Connections } from './connections.js';
export { ConnectionsModule } from './connections.module.js';
export { createConnections } from './create-connections.js';
export { DeletedAthletes } from './deleted-athletes.js';
export {
  Athlete,
  Connection,
  OAuthFlow,
  Revocation,
  ServiceKeyRow,
  SessionRow,
  SignInCodeRow,
  VendorRow,
} from './entities.js';
export { ConnectionCut, NotConnected, VendorUnreachable } from './errors.js';
export { KEY_SCOPES, ServiceKeys } from './keys/service-keys.js';
export { type ConnectionListener, ConnectionListeners } from './listeners.js';
export { isProvider, type Provider, PROVIDERS } from './oauth/provider.js';
export { endpointPlace, subscriptionPlace, Vault } from './crypto/vault.js';
export { Revocations } from './revocation/revocations.js';
export { SessionCookie } from './sessions/session-cookie.js';
export { SessionRecords } from './sessions/session-records.js';
export { type BegunSession, Sessions } from './sessions/sessions.js';
export { SignInCodes } from './sessions/sign-in-codes.js';
