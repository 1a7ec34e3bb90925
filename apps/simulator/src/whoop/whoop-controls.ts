import { z } from 'zod';
import { type VendorControls } from '../core/index.js';
import { SleepOrder } from '../wearables/plan-night.js';
import { asleepMinutes } from '../wearables/reshape-night.js';
import { sleepDocument } from './sleep-document.js';
import { SCOPES } from './whoop-facts.js';
import { type WhoopSleep } from './whoop-journal.js';
import { type Whoop } from './whoop.js';

/** A user id is a JSON number, so it must be small enough to be exact as a double. */
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
      if (!whoop.athletes.find(athleteId)) return false;
      whoop.tokens.revokeAthlete(athleteId);
      return true;
    },

    expireTokens: (athleteId) => whoop.tokens.expire(athleteId) > 0,

    describe: (athleteId) => ({
      connected: whoop.tokens.isConnected(athleteId),
      records: whoop.journal.count(athleteId),
    }),

    recordsOf: (athleteId) =>
      whoop.athletes.find(athleteId) && {
        activities: [],
        nights: whoop.journal.sleepsOf(athleteId).map(({ id, night, scoreState }) => ({
          ...{ id, date: night.day, duration_minutes: asleepMinutes(night), score: night.score },
          counts: scoreState === 'SCORED' && !night.nap,
        })),
      },

    createSleep(athleteId, body) {
      const athlete = whoop.athletes.find(athleteId);
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
