import { type VendorControls } from '../core/index.js';
import { SleepOrder } from '../wearables/sleep-order.js';
import { SCOPES } from './oura-facts.js';
import { type OuraSleep } from './oura-sleep.js';
import { type Oura } from './oura.js';
import { sleepDocument } from './sleep-document.js';

export function ouraControls(oura: Oura): VendorControls {
  return {
    scopes: SCOPES,

    createAthlete({ count, athleteId, seed, scopes = SCOPES }) {
      const { id } = oura.addAthlete({ nights: count, id: athleteId, seed });
      return { id, code: oura.tokens.issueCode({ athleteId: id, scopes }) };
    },

    // Oura sends nothing when consent ends; the next call's 401 tells.
    deauthorize(athleteId) {
      if (!oura.sleepers.find(athleteId)) return false;
      oura.tokens.revokeAthlete(athleteId);
      return true;
    },

    describe: (athleteId) => ({
      connected: oura.tokens.isConnected(athleteId),
      records: oura.journal.count(athleteId),
    }),

    createSleep(athleteId, body) {
      const athlete = oura.sleepers.find(athleteId);
      return athlete && answer(oura.sync(athlete, SleepOrder.parse(body)));
    },

    updateSleep(id, body) {
      const sleep = oura.journal.sleep(id);
      return sleep && answer(oura.revise(sleep, SleepOrder.parse(body)));
    },

    deleteSleep(id) {
      const sleep = oura.journal.sleep(id);
      if (sleep) oura.remove(sleep);
      return sleep !== undefined;
    },

    setWebhookUrl(url) {
      oura.events.fallbackUrl = url;
    },
  };
}

function answer(sleep: OuraSleep) {
  const document = sleepDocument(sleep);
  return { id: sleep.id, provider: 'oura', athlete_id: sleep.athleteId, date: document.day, document };
}
