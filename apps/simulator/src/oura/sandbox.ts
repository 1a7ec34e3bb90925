import { type Core } from '../core/index.js';
import { sandboxNights } from '../wearables/sleepers.js';
import { SYNCED_AFTER_WAKING_MS } from './oura-facts.js';
import { OuraJournal } from './oura-journal.js';

export const SANDBOX_ATHLETE = 'sandbox';

const NIGHTS = 90;
const DAY_MS = 86_400_000;

/** The example user's journal, written at first sight and again once a new day has begun. */
export function sandboxJournal(core: Core): () => OuraJournal {
  const now = () => core.clock.nowMs();
  let journal = new OuraJournal(now);
  let writtenOn: number | undefined;
  return () => {
    const today = Math.floor(now() / DAY_MS);
    if (writtenOn !== today) {
      journal = new OuraJournal(now);
      journal.fill(SANDBOX_ATHLETE, sandboxNights(NIGHTS, now()), SYNCED_AFTER_WAKING_MS);
      writtenOn = today;
    }
    return journal;
  };
}
