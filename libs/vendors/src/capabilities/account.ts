import { type CallOutcome } from '../call/call-outcome.js';
import { type CallContext } from '../call/vendor-calls.js';

/** The athlete's account at a vendor. */
export interface AccountSource {
  /** Returns the vendor's id of the token's athlete: the cheapest call that shows whether the athlete is still connected. */
  athlete(context: CallContext): Promise<CallOutcome<{ readonly id: string }>>;
}
