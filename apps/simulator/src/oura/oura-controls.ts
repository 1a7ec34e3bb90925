import { type VendorControls } from '../core/index.js';
import { SleepOrder } from '../wearables/plan-night.js';
import { SCOPES } from './oura-facts.js';
import { asleepMinutes } from '../wearables/reshape-night.js';
import { scoreOfDay } from './daily-sleep-document.js';
import { dayOf, type OuraSleep, typeOf } from './oura-sleep.js';
import { type Oura } from './oura.js';
import { sleepDocument } from './sleep-document.js';

export function ouraControls(oura: Oura): VendorControls {
  return {
    scopes: SCOPES,

    createAthlete({ count, athleteId, seed, scopes = SCOPES }) {
      const { id } = oura.addAthlete({ nights: count, id: athleteId, seed });
      return { id, code: oura.tokens.issueCode({ athleteId: id, scopes }) };
    },

    // Oura sends no event when a grant ends. The next call of the app gets 401.
    deauthorize(athleteId) {
      if (!oura.athletes.find(athleteId)) return false;
      oura.tokens.revokeAthlete(athleteId);
      return true;
    },

    expireTokens: (athleteId) => oura.tokens.expire(athleteId) > 0,

    describe: (athleteId) => ({
      connected: oura.tokens.isConnected(athleteId),
      records: oura.journal.count(athleteId),
    }),

    recordsOf(athleteId) {
      if (!oura.athletes.find(athleteId)) return undefined;
      const days = oura.journal.dailySleepsOf(athleteId).map((day) => [day.day, scoreOfDay(day)] as const);
      const scores = new Map(days);
      const nights = oura.journal.sleepsOf(athleteId).map((sleep) => ({
        ...{ id: sleep.id, date: dayOf(sleep), duration_minutes: asleepMinutes(sleep.night) },
        ...{ score: scores.get(dayOf(sleep)) ?? null, counts: typeOf(sleep) === 'long_sleep' },
      }));
      return { activities: [], nights };
    },

    createSleep(athleteId, body) {
      const athlete = oura.athletes.find(athleteId);
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
