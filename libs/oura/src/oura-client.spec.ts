import { describe, expect, it } from '@jest/globals';
import { type AthleteCalls } from '#connections';
import { OuraClient } from './oura-client.js';

const somebody = { athleteId: 'somebody', class: 'live' } as const;
const day = '2026-11-10';
const at = (minute: number) => new Date(Date.UTC(2026, 10, 10, 8, minute)).toISOString();

/** A vendor where the night becomes another just before the nth question: its document and its score at once. */
function changingBefore(nth: number) {
  let asked = 0;
  const calls: Pick<AthleteCalls, 'get' | 'list'> = {
    get: (_asker, endpoint) => Promise.resolve(documentOf(endpoint)),
    list: (_asker, endpoint) => Promise.resolve([documentOf(endpoint)]),
  };
  const documentOf = (endpoint: string) => {
    asked += 1;
    const version = asked < nth ? 1 : 2;
    const meta = { version, updated_at: at(version) };
    return endpoint === 'sleep'
      ? { id: 'night', meta, day, type: 'long_sleep', total_sleep_duration: version * 3_600 }
      : { id: 'score', meta, day, score: version * 10 };
  };
  return { client: new OuraClient('https://oura.example', calls as AthleteCalls), asked: () => asked };
}

describe('a night of Oura that changes while it is asked for', () => {
  const old = { durationMinutes: 60, qualityScore: 10 };
  const next = { durationMinutes: 120, qualityScore: 20 };

  it.each(['sleep', 'score'])(
    'never has its new document with its old score, asked about the %s',
    async (about) => {
      for (let nth = 1; ; nth += 1) {
        const { client, asked } = changingBefore(nth);
        const night =
          about === 'sleep'
            ? await client.sleep(somebody, 'night')
            : (await client.sleepsScoredBy(somebody, 'score'))[0];
        expect(night).not.toMatchObject({ revision: 2, qualityScore: 10 });
        if (nth === 1) expect(night).toMatchObject(next);
        if (asked() >= nth) continue;
        expect(night).toMatchObject(old);
        return;
      }
    },
  );
});
