import { LRUCache } from 'lru-cache';
import { CAUSE_ANSWERS, type Cause } from '#reliability';
import { clipName } from '../clips/clips.js';
import { streamObject } from '../streams/stream-objects.js';
import { ADDON_PATH, type ResourceAddress } from './address.js';
import { type Answer, passing } from './answer.js';

// One is what a deployment has. Where PUBLIC_URL is not set, anybody may come by any name.
const MOST_BASES = 16;

/** What is answered in place of what was asked for. The same cause has the same bytes: they are made once for each of our addresses. */
export class Refusals {
  private readonly streams = new LRUCache<string, Answer>({
    max: MOST_BASES * Object.keys(CAUSE_ANSWERS).length,
  });

  of(address: ResourceAddress, cause: Cause, base: string): Answer {
    switch (address.kind) {
      case 'stream':
        return this.streamsOf(cause, base);
      case 'catalog':
        return passing({ metas: [], ...reasonOf(cause) });
      case 'meta':
        return metaInstead(address, cause);
    }
  }

  private streamsOf(cause: Cause, base: string): Answer {
    const key = `${cause} ${base}`;
    const known = this.streams.get(key);
    if (known) return known;
    const made = passing({ streams: instead(cause, base), ...reasonOf(cause) });
    this.streams.set(key, made);
    return made;
  }
}

function instead(cause: Cause, base: string): object[] {
  const { kind, message } = CAUSE_ANSWERS[cause];
  if (kind === 'empty') return [];
  const url = `${base}${ADDON_PATH}/clips/${clipName(cause)}`;
  return [streamObject({ url, name: 'Not available', description: message, filename: clipName(cause) })];
}

/** A page has to have something on it: what is gone is 404, and of what may be there it says why it is not shown. */
function metaInstead({ type, id }: ResourceAddress, cause: Cause): Answer {
  const reason = reasonOf(cause);
  if (CAUSE_ANSWERS[cause].kind === 'empty') return passing({ meta: null, ...reason }, 404);
  return passing({ meta: { id, type, name: 'Not available', description: reason.message }, ...reason });
}

function reasonOf(reason: Cause): { readonly reason: Cause; readonly message: string } {
  return { reason, message: CAUSE_ANSWERS[reason].message };
}
