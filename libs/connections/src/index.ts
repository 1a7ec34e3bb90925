export { type Asker, AthleteCalls, BudgetSpent, CallLater, CallRefused } from './calls/athlete-calls.js';
export { BudgetMeter, type CallBudget, type RateWord, retryAfterOf } from './calls/budget-meter.js';
export { Athlete } from './athlete.entity.js';
export { Athletes } from './athletes.js';
export { type ConnectEnd, type ConnectOutcome } from './connect/connect-outcome.js';
export { type CallbackQuery, Connecting } from './connect/connecting.js';
export { OAuthFlow } from './connect/oauth-flow.entity.js';
export { withAnswer } from './connect/return-url.js';
export { Connection } from './connection.entity.js';
export { type ConnectionView } from './connection-store.js';
export { type Access, Connections } from './connections.js';
export { ConnectionsModule } from './connections.module.js';
export {
  type ConnectionsParts,
  type ConnectionsSurroundings,
  createConnections,
} from './create-connections.js';
export { ConnectionCut } from './connection-cut.js';
export { ConnectionRecords } from './personal-records.js';
export { NeedsReauth, NotConnected, VendorUnreachable } from './errors.js';
export { CONNECTION_LISTENERS, type ConnectionListener } from './listeners.js';
export { isProvider, type Provider, PROVIDERS } from './oauth/provider.js';
export { Revocation } from './revocation/revocation.entity.js';
export { Revocations } from './revocation/revocations.js';
export { webhookEvents } from './webhook-metrics.js';
