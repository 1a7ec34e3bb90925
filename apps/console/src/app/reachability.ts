import { storeOf } from './store.js';

/** True if the last request or event stream reached the server. The shell shows a banner while it is false. */
export const reachability = storeOf(true);

/** The server of Pacekeeper's own that does not answer, while the event stream of operators says so. */
export const unavailableServer = storeOf<'postgres' | 'redis' | 'nats' | undefined>(undefined);
