import { z } from 'zod';
import { type VendorControls } from '../core/index.js';
import { SleepOrder } from '../wearables/sleep-order.js';
import { sleepDocument } from './sleep-document.js';
import { SCOPES } from './whoop-facts.js';
import { type WhoopSleep } from './whoop-sleep.js';
import { type Whoop } from './whoop.js';

/** User ids are JSON numbers on the wire, so they must survive as doubles. */
const UserId = z.object({ athlete_id: z.string().regex(/^[1-9]\d{0,14}$/, 'expected up to 15 digits') });

export function whoopControls(whoop: Whoop): VendorControls {
  return {
    scopes: SCOPES,

    createAthlete({ count, athleteId, seed, scopes = SCOPES }) {
      if (athleteId !== undefined) UserId.parse({ athlete_id: athleteId });
      const { id } = whoop.addAthlete({ nights: count, id: athleteId, seed });
      return { id, code: whoop.tokens.issueCode({ athleteId: id, scopes }) };
    },

    deauthorize(athleteId) {
      if (!whoop.sleepers.find(athleteId)) return false;
      whoop.tokens.revokeAthlete(athleteId);
      return true;
    },

    describe: (athleteId) => ({
      connected: whoop.tokens.isConnected(athleteId),
      records: whoop.journal.count(athleteId),
    }),

    createSleep(athleteId, body) {
      const athlete = whoop.sleepers.find(athleteId);
      return athlete && answer(whoop.record(athlete, SleepOrder.parse(body)));
    },

    updateSleep(id, body) {
      const sleep = whoop.journal.sleep(id);
      return sleep && answer(whoop.revise(sleep, SleepOrder.parse(body)));
    },

    deleteSleep(id) {
      const sleep = whoop.journal.sleep(id);
      if (sleep) whoop.remove(sleep);
      return sleep !== undefined;
    },

    setWebhookUrl(url) {
      whoop.events.url = url;
    },
  };
}

function answer(sleep: WhoopSleep) {
  const { id, athleteId, night } = sleep;
  return { id, provider: 'whoop', athlete_id: athleteId, date: night.day, document: sleepDocument(sleep) };
}
