import { LRUCache } from 'lru-cache';
import { CAUSE_ANSWERS, type Cause } from '#reliability';
import { clipName } from '../clips/clips.js';
import { streamObject } from '../streams/stream-objects.js';
import { ADDON_PATH, type ResourceAddress } from './address.js';
import { type AddonAnswer, uncached } from './answer.js';

// A deployment has one base URL. Without PUBLIC_URL the base is the Host header, which a client chooses.
const MOST_BASES = 16;

/** Makes the answer for a cause: a clip, an empty list or a page with the reason. Stream answers are cached by cause and base. */
export class Refusals {
  private readonly streams = new LRUCache<string, AddonAnswer>({
    max: MOST_BASES * Object.keys(CAUSE_ANSWERS).length,
  });

  of(address: ResourceAddress, cause: Cause, base: string): AddonAnswer {
    switch (address.kind) {
      case 'stream':
        return this.streamsOf(cause, base);
      case 'catalog':
        return uncached({ metas: [], ...reasonOf(cause) });
      case 'meta':
        return replacementMeta(address, cause);
    }
  }

  private streamsOf(cause: Cause, base: string): AddonAnswer {
    const key = `${cause} ${base}`;
    const cached = this.streams.get(key);
    if (cached) return cached;
    const answer = uncached({ streams: replacementStreams(cause, base), ...reasonOf(cause) });
    this.streams.set(key, answer);
    return answer;
  }
}

function replacementStreams(cause: Cause, base: string): object[] {
  const { kind, message } = CAUSE_ANSWERS[cause];
  if (kind === 'empty') return [];
  const url = `${base}${ADDON_PATH}/clips/${clipName(cause)}`;
  return [streamObject({ url, name: 'Not available', description: message, filename: clipName(cause) })];
}

/** 404 if there is no such item; otherwise a page that says why the item is not shown. */
function replacementMeta({ type, id }: ResourceAddress, cause: Cause): AddonAnswer {
  const reason = reasonOf(cause);
  if (CAUSE_ANSWERS[cause].kind === 'empty') return uncached({ meta: null, ...reason }, 404);
  return uncached({ meta: { id, type, name: 'Not available', description: reason.message }, ...reason });
}

function reasonOf(reason: Cause): { readonly reason: Cause; readonly message: string } {
  return { reason, message: CAUSE_ANSWERS[reason].message };
}
