import { describe, expect, it } from '@jest/globals';
import { type CallOutcome, ok } from '../call/call-outcome.js';
import { type VendorCalls, type VendorRequest } from '../call/vendor-calls.js';
import { OuraSleeps } from './sleep.js';

const context = { athleteId: 'athlete', class: 'live' } as const;
const day = '2026-11-10';
const at = (minute: number) => new Date(Date.UTC(2026, 10, 10, 8, minute)).toISOString();

/** A double of Oura. Its sleep and its score change right before the nth request. */
function changingBefore(nth: number) {
  let requests = 0;
  const call = <T>(
    _: unknown,
    request: VendorRequest,
    parse: (json: unknown) => T,
  ): Promise<CallOutcome<T>> => {
    const document = documentOf(request.endpoint);
    return Promise.resolve(ok(parse(request.path.includes('?') ? { data: [document] } : document)));
  };
  const documentOf = (endpoint: string) => {
    requests += 1;
    const version = requests < nth ? 1 : 2;
    const meta = { version, updated_at: at(version) };
    return endpoint === 'sleep'
      ? { id: 'night', meta, day, type: 'long_sleep', total_sleep_duration: version * 3_600 }
      : { id: 'score', meta, day, score: version * 10 };
  };
  return { sleeps: new OuraSleeps({ call } as unknown as VendorCalls), requests: () => requests };
}

describe('OuraSleeps during a change of the sleep and its score', () => {
  const old = { durationMinutes: 60, qualityScore: 10 };
  const next = { durationMinutes: 120, qualityScore: 20 };

  it.each(['sleep', 'score'] as const)(
    'OuraSleeps never combines a new sleep with the old score when it fetches by the id of the %s',
    async (about) => {
      for (let nth = 1; ; nth += 1) {
        const { sleeps, requests } = changingBefore(nth);
        const records = await sleeps.recordsOf(context, { about, id: 'any' });
        const night = records.kind === 'ok' ? records.value[0] : undefined;
        expect(night).not.toMatchObject({ revision: 2, qualityScore: 10 });
        if (nth === 1) expect(night).toMatchObject(next);
        if (requests() >= nth) continue;
        expect(night).toMatchObject(old);
        return;
      }
    },
  );
});
