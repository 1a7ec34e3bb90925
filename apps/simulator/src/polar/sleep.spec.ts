import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { openSimulator } from '../wearables/wearable.harness.js';
import { authorized, connect, register, setHabits } from './polar.harness.js';

interface Night extends Record<string, unknown> {
  date: string;
  sleep_start_time: string;
  sleep_end_time: string;
  light_sleep: number;
  deep_sleep: number;
  rem_sleep: number;
  unrecognized_sleep_stage: number;
  total_interruption_duration: number;
  short_interruption_duration: number;
  long_interruption_duration: number;
  hypnogram: Record<string, number>;
  heart_rate_samples: Record<string, number>;
}

let sim: Harness;
let athlete: { id: string; token: string };

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim);
});
afterEach(() => sim.close());

const get = (below = '', token = athlete.token) => sim.get(`/polar/v3/users/sleep${below}`, token);

async function sleep(order: Record<string, unknown> = {}) {
  return (await sim.sim('/sleep', { athlete_id: athlete.id, ...order })) as { id: string; date: string };
}

const night = async (date: string) => (await get(`/${date}`)).body as Night;

describe('Polar sleep', () => {
  it('a night of Polar has local times with offset, and its date is the local day of waking', async () => {
    const { date } = await sleep({ date: '2026-11-17' });
    const found = await night(date);
    expect(found.date).toBe('2026-11-17');
    expect(found.sleep_end_time).toMatch(/^2026-11-17T\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
    expect(Date.parse(found.sleep_start_time)).toBeLessThan(Date.parse(found.sleep_end_time));
  });

  it('the stages and interruptions of a Polar night add up to its length, and short and long interruptions to all of them', async () => {
    for (const day of ['2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13', '2026-11-14']) {
      await sleep({ date: day });
      const found = await night(day);
      const asleep = found.light_sleep + found.deep_sleep + found.rem_sleep + found.unrecognized_sleep_stage;
      const length = (Date.parse(found.sleep_end_time) - Date.parse(found.sleep_start_time)) / 1000;
      expect(length - found.total_interruption_duration).toBe(asleep);
      expect(found.short_interruption_duration + found.long_interruption_duration).toBe(
        found.total_interruption_duration,
      );
    }
  });

  it('hypnogram and heart rate of a Polar night are keyed by the local minute, from the first sleep on', async () => {
    const { date } = await sleep({ date: '2026-11-17', duration_minutes: 480 });
    const found = await night(date);
    const minutes = Object.keys(found.hypnogram);
    expect(minutes[0]).toBe(found.sleep_start_time.slice(11, 16));
    for (const minute of minutes) expect(minute).toMatch(/^\d\d:\d\d$/);
    for (const state of Object.values(found.hypnogram)) expect([0, 1, 2, 3, 4, 5]).toContain(state);
    expect(Object.keys(found.heart_rate_samples).length).toBeGreaterThan(80);
  });

  it('GET /v3/users/sleep answers the nights of the last 28 days that are newer than the registration', async () => {
    const late = await authorized(sim, { nights: 40 });
    await register(sim, late.token);
    expect((await get('', late.token)).body).toEqual({ nights: [] });
    await sleep({ date: '2026-10-20' });
    await sleep({ date: '2026-10-21' });
    await sleep({ date: '2026-11-18' });
    const { body } = await get();
    expect((body.nights as Night[]).map(({ date }) => date)).toEqual(['2026-10-21', '2026-11-18']);
    expect((await get('/2026-10-20')).status).toBe(404);
  });

  it('GET /v3/users/sleep/available answers date, start and end of the same nights', async () => {
    await sleep({ date: '2026-11-17' });
    const found = await night('2026-11-17');
    expect((await get('/available')).body).toEqual({
      available: [{ date: found.date, start_time: found.sleep_start_time, end_time: found.sleep_end_time }],
    });
  });

  it('GET /v3/users/sleep/{date} answers 404 without a night and 400 to something that is no date', async () => {
    expect((await get('/2026-11-17')).status).toBe(404);
    for (const date of ['17.11.2026', '2026-02-30', 'yesterday'])
      expect((await get(`/${date}`)).status).toBe(400);
    expect((await sim.get('/polar/v3/users/sleep')).status).toBe(401);
  });

  it('the date of a Polar night is the day of falling asleep when the habit sleep_date says so', async () => {
    await setHabits(sim, { sleep_date: 'falling_asleep' });
    const order = { ends_at: '2026-11-17T12:00:00Z', duration_minutes: 840 };
    const { date } = await sleep(order);
    const found = await night(date);
    expect(found.date).toBe(found.sleep_start_time.slice(0, 10));
    expect(found.date).not.toBe(found.sleep_end_time.slice(0, 10));
    expect((await get(`/${found.sleep_end_time.slice(0, 10)}`)).status).toBe(404);
  });

  it('a Polar night without a score has sentinels: charge -1, continuity 0, class 0 and score 0 or none by habit', async () => {
    const { date } = await sleep({ date: '2026-11-17', score: null });
    expect(await night(date)).toMatchObject({
      sleep_score: 0,
      sleep_charge: -1,
      continuity: 0,
      continuity_class: 0,
      sleep_rating: 0,
    });
    await setHabits(sim, { missing_sleep_score: 'absent' });
    expect(await night(date)).not.toHaveProperty('sleep_score');
  });

  it('a scored Polar night has the score of the order and ratings within their ranges', async () => {
    const { date } = await sleep({ date: '2026-11-17', score: 83 });
    const found = await night(date);
    expect(found.sleep_score).toBe(83);
    for (const field of ['sleep_charge', 'continuity', 'continuity_class', 'sleep_rating']) {
      expect(found[field]).toBeGreaterThanOrEqual(1);
      expect(found[field]).toBeLessThanOrEqual(5);
    }
  });

  it('a sparse Polar night has times and stages alone', async () => {
    const { date } = await sleep({ date: '2026-11-17', sparse: true });
    expect(Object.keys(await night(date))).toEqual([
      'polar_user',
      'date',
      'sleep_start_time',
      'sleep_end_time',
      'device_id',
      'light_sleep',
      'deep_sleep',
      'rem_sleep',
      'unrecognized_sleep_stage',
      'total_interruption_duration',
    ]);
  });

  it('a correction changes a Polar night in place, and a deleted night answers 404', async () => {
    const { id, date } = await sleep({ date: '2026-11-17', duration_minutes: 400, score: 70 });
    await sim.json('PATCH', `/__sim/sleep/${id}`, { duration_minutes: 420 });
    const found = await night(date);
    expect(found.light_sleep + found.deep_sleep + found.rem_sleep + found.unrecognized_sleep_stage).toBe(
      420 * 60,
    );
    await sim.call('DELETE', `/__sim/sleep/${id}`);
    expect((await get(`/${date}`)).status).toBe(404);
  });

  it('a second Polar night of one date replaces the first, and POST /__sim/sleep refuses a nap at Polar', async () => {
    await sleep({ date: '2026-11-17', score: 60 });
    await sleep({ date: '2026-11-17', score: 90 });
    expect((await get()).body.nights).toMatchObject([{ date: '2026-11-17', sleep_score: 90 }]);
    const { status, body } = await sim.json('POST', '/__sim/sleep', { athlete_id: athlete.id, nap: true });
    expect([status, body.details]).toEqual([400, ['nap: Polar has no naps']]);
  });

  it('a second fetch of an unchanged Polar night counts as a duplicate, but the first fetch after a correction does not', async () => {
    const { id, date } = await sleep({ date: '2026-11-17' });
    await night(date);
    await night(date);
    await sim.json('PATCH', `/__sim/sleep/${id}`, { score: 50 });
    await night(date);
    expect((await sim.stats()).polar.duplicate_requests).toBe(1);
  });
});
