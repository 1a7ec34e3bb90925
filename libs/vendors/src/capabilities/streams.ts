import { type CallOutcome } from '../call/call-outcome.js';
import { type CallContext } from '../call/vendor-calls.js';

/** A stream's samples by its name, as the vendor sent them: the caller checks that they form a recording. */
export type RawStreams = Readonly<Record<string, unknown>>;

/** A vendor's streams of an activity. */
export interface StreamSource {
  /** All streams of an activity in one call. `gone`: the activity has no streams. */
  streams(context: CallContext, externalActivityId: string): Promise<CallOutcome<RawStreams>>;
}
