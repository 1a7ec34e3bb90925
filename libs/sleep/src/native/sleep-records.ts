import { type OuraSleep } from '#oura';
import { type WhoopSleep } from '#whoop';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { type VendorEvent } from '../contract/vendor-event.js';

type Payload = SleepRawReceived['payload'];

// A record that is gone stays so, whatever revision of it is still on its way.
const LAST_REVISION = Number.MAX_SAFE_INTEGER;

export function fromOura(userId: string, sleep: OuraSleep): Payload {
  return {
    userId,
    date: sleep.date,
    durationMinutes: sleep.durationMinutes,
    capturedAt: sleep.updatedAt.toISOString(),
    raw: { ...sleep.document, source: 'oura', ...scoreOf(sleep) },
    record: {
      vendor: 'oura',
      id: sleep.id,
      revision: sleep.revision,
      nap: sleep.nap,
      state: sleep.state,
    },
  };
}

/** WHOOP numbers no versions: `updated_at` decides. */
export function fromWhoop(userId: string, sleep: WhoopSleep): Payload {
  return {
    userId,
    date: sleep.date,
    durationMinutes: sleep.durationMinutes,
    capturedAt: sleep.updatedAt.toISOString(),
    raw: { ...sleep.document, source: 'whoop', ...scoreOf(sleep) },
    record: { vendor: 'whoop', id: sleep.id, revision: 0, nap: sleep.nap, state: sleep.state },
  };
}

/** On what date it was need not be known: a record that is there keeps its own. */
export function gone(userId: string, { vendor, objectId, at }: VendorEvent): Payload {
  return {
    userId,
    date: at.slice(0, 10),
    durationMinutes: 0,
    capturedAt: at,
    raw: { source: vendor },
    record: { vendor, id: objectId, revision: LAST_REVISION, nap: false, state: 'deleted' },
  };
}

const scoreOf = ({ qualityScore }: { readonly qualityScore: number | null }) =>
  qualityScore === null ? {} : { qualityScore };
